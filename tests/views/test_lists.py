"""The list of conversations: filters in the address, pages, and numbers that are said aloud."""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from inspector.actions.import_source import import_targets
from inspector.demo.creation import write_dispatch_store
from inspector.models import Conversation, Repair, Source, Stream, counting
from inspector.models.transactions import one_writer
from inspector.views.conversation_list import rows_of
from tests.actions.building import imported, merged, proposed
from tests.kept import Kept
from tests.programs.pi_openclaw.session_files import a, header, lines, u
from tests.views.imported import HEALTHY, INCIDENT, MERGED, example, many, rows, store
from tests.views.test_explain import session

__all__ = ["session"]

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[object]]


def titles(client: Client, **query: str) -> list[str]:
    return [row["title"] for row in client.get(f"/conversations.json?{urlencode(query)}").json()["conversations"]]


def test_an_empty_list_says_how_to_fill_it(client: Client) -> None:
    page = client.get("/conversations/")
    assert page.status_code == 200 and "import_source" in page.content.decode()
    assert client.get("/conversations.json").json() == {
        "total": 0,
        "gone": 0,
        "page": 1,
        "pages": 1,
        "next": "",
        "conversations": [],
    }


def test_a_row_says_stored_and_read_and_the_verdict(client: Client, kept: Kept) -> None:
    kept("example", example)
    incident = Conversation.objects.get(native_id=INCIDENT)
    (row,) = client.get(f"/conversations.json?q={incident.oid}").json()["conversations"]
    assert (row["chunks"], row["messages_stored"], row["messages_read"], row["silent"], row["refused"]) == (14, 9, 3, True, True)
    assert {"code": "TOOL202", "rule": "orphaned-tool-result", "severity": "error", "count": 2} in row["findings"]
    text = client.get(f"/conversations/?q={incident.oid}").content.decode()
    words = "Messages of different roles are read as one user message; the last turn ended in a tool call written as text (seq 14)."
    assert "9 → 3" in text and "TOOL202 ×2" in text and f">{words}</span>" in text
    assert '<b>rejected</b> at messages.1</span><div class="quiet">OC-2 of openai-chat</div></td>' in text and row["waiting_repair"] == ""


def test_a_row_says_when_it_was_last_active_to_the_minute(client: Client, kept: Kept) -> None:
    kept("example", example)
    now = int(timezone.now().timestamp() * 1000)
    for active, words in ((1_577_887_680_000, "2020-01-01 14:08"), (now - 3 * 86_400_000, "3 d ago"), (None, "unknown")):
        Conversation.objects.update(last_activity=active)
        cell = re.search(r'data-label="last active">(.*?)</td>', client.get("/conversations/").content.decode())
        assert cell and re.sub("<[^>]+>", "", cell[1]) == words


def test_a_row_names_what_is_in_the_store_and_has_one_word_where_nothing_is(client: Client, kept: Kept) -> None:
    kept("example", example)
    healthy = client.get("/conversations/?state=healthy").content.decode()
    assert '<td class="badges"><span class="badge ok">nothing found</span></td>' in healthy and "Nothing is damaged" not in healthy
    damaged = client.get("/conversations/?rule=TOOL102").content.decode()
    # What makes the next request wrong comes before what the store lacks.
    words = "Messages of different roles are read as one user message, and 1 more problem."
    assert f'<span class="verdict" title="{words}">{words}</span>' in damaged


def test_a_row_names_the_repair_that_waits(client: Client, tmp_path: Path) -> None:
    repair = proposed(imported(tmp_path / "a.db", merged()), "renumber-messages")
    link = f'<a class="link" href="/repairs/{repair.oid}/">repair {repair.oid[:6]}</a>'
    assert f"{link} waits for review" in client.get("/conversations/").content.decode()
    Repair.objects.update(state=Repair.State.APPROVED)
    assert f"{link} is approved, not written" in client.get("/conversations/").content.decode()
    assert client.get("/conversations.json").json()["conversations"][0]["waiting_repair"] == repair.oid
    Repair.objects.update(state=Repair.State.REJECTED)
    assert repair.oid[:6] not in client.get("/conversations/").content.decode()


@pytest.mark.parametrize("q", ["settings page", "E4A91B72-6d3c", "undo the listKeys", "UNDO THE LISTKEYS"])
def test_the_search_finds_titles_ids_and_the_text_of_chunks(client: Client, kept: Kept, q: str) -> None:
    kept("example", example)
    assert titles(client, q=q) == ["Why is the settings page slow to open?"]


def test_the_search_counts_the_chunks_and_links_to_them(client: Client, tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", rows("one", MERGED, "One"))
    text = client.get("/conversations/?q=hello").content.decode()
    assert f'<a href="/conversations/{source.conversations.get().oid}/?q=hello">1 chunk with this text</a>' in text


def spoken(words: str) -> Mapping[str, object]:
    return {"chunk": {"type": "text", "text": words}, "role": "user", "msgIdx": 0, "chunkIdx": 0}


def test_a_long_text_is_searched_to_its_end(client: Client, tmp_path: Path) -> None:
    content = rows("long", [spoken("x" * 300_000 + " needle")], "Long") + rows("short", [spoken("x" * 1990)], "Short")
    store(tmp_path / "a.db", content)
    text = client.get("/conversations/?q=needle").content.decode()
    assert "1 conversation matches these filters" in text and "1 chunk with this text" in text
    assert titles(client, q="needle") == ["Long"]
    # Its own page finds the same.
    long = Conversation.objects.get(native_id="long")
    assert "1 of 1 chunks" in client.get(f"/conversations/{long.oid}/?q=needle").content.decode()


def test_a_session_file_is_searched_to_its_end(client: Client, tmp_path: Path) -> None:
    turns = [u(str(number), str(number - 1) if number else None, f"{'words ' * 300} call_{number:06d}") for number in range(400)]
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(lines(header(), *turns, u("400", "399", "needle")))
    import_targets([str(folder)], "tester")
    for q in ("needle", "call_000005", "call_000200", "call_000399"):
        assert "1 chunk with this text" in client.get(f"/conversations/?q={q}").content.decode(), q
    assert "Nothing here matches" in client.get("/conversations/?q=call_000400").content.decode()


def test_the_search_looks_at_the_newest_revision_only(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED, "One"))
    path.unlink()
    write_dispatch_store(path, rows("one", HEALTHY[:1], "One"))
    import_targets([str(path)], "tester")
    assert titles(client, q="hello") == [] and titles(client, q="hi") == ["One"]


def test_hidden_characters_can_be_searched_for(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", HEALTHY, "a\u202eb") + rows("two", HEALTHY, "ab"))
    assert titles(client, q="a\u202eb") == ["a\\u202eb"]
    assert titles(client, q="%") == [] and titles(client, q="\x00") == []


def test_states_part_the_conversations(client: Client, kept: Kept) -> None:
    kept("example", example)
    damaged, healthy = titles(client, state="damaged"), titles(client, state="healthy")
    assert len(damaged) == 5 and healthy == ["Which port does the dev server listen on, and can I change it?"]
    assert set(titles(client, state="silent")) < set(damaged) and set(titles(client, state="refused")) < set(damaged)
    assert len(titles(client, state="no such state")) == 6


def test_what_goes_wrong_silently_is_among_the_silent(client: Client, kept: Kept) -> None:
    """Though what was found in it is reported: its reader leaves out a row, and the call at its end is pending. What the program stored of a failure is none."""
    kept("example", example)
    silent, lacking = titles(client, state="silent"), "Rename the package to dispatch-web everywhere"
    assert lacking in silent and "Summarise the open pull requests" not in silent
    (row,) = rows_of([Conversation.objects.get(title=lacking)])
    assert row.next_request == ("silent", "wrong silently", "without seq 2") and not any(badge.silent for badge in row.badges)


def test_what_passes_although_something_is_lost_says_what_the_inbox_says(client: Client, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(lines(header(), u("e1", None), a("e2", "e1", {"type": "text", "text": "hi"}), u("e3", "gone")))
    import_targets([str(tmp_path / "s.jsonl")], "tester")
    (row,) = rows_of([Conversation.objects.get()])
    assert row.next_request == ("silent", "history hidden", "passes all known rules")
    assert client.get("/index.json").json()["problems"][0]["unnoticed"] == "history hidden"
    page = client.get("/conversations/").content.decode()
    assert '<b>history hidden</b></span><div class="quiet">but passes all known rules</div>' in page


def test_a_request_that_passes_is_not_fine_where_an_error_is_and_each_rule_says_whether_it_is_reported(
    client: Client, session: Conversation
) -> None:
    page = client.get("/conversations/").content.decode()
    row = next(part for part in page.split("<tr>") if f"/conversations/{session.oid}/" in part and "TOOL102" in part)
    assert '<span class=""><b>accepted</b></span><div class="quiet">despite the damage</div>' in row
    assert re.findall(r'title="[\w-]+: \w+, ([\w ]+), \d', row)[:2] == ["usually raises an error", "no program reports it"], (
        "TOOL102 and MSG401"
    )


def test_the_chips_of_a_conversation_say_what_is_lost_as_its_list_does(client: Client, tmp_path: Path) -> None:
    """The one case that nobody notices is not green."""
    (tmp_path / "s.jsonl").write_bytes(lines(header(), u("e1", None), a("e2", "e1", {"type": "text", "text": "hi"}), u("e3", "gone")))
    import_targets([str(tmp_path / "s.jsonl")], "tester")
    page = client.get(f"/conversations/{Conversation.objects.get().oid}/").content.decode()
    chips = re.findall(r'<(?:a|span) class="(chip[^"]*)"[^>]*><b>(\w+)</b> (.*?)</', page)
    assert chips[0][:2] == ("chip severity error", "Stored")
    assert chips[1] == ("chip severity warning", "Read", "1, history hidden: 2 entries")
    assert chips[2] == ("chip severity warning", "Sent", "history hidden, but passes all known rules")


def test_what_the_rows_do_not_say_of_the_overview_is_explained_next_to_it(client: Client, session: Conversation) -> None:
    page = client.get(f"/conversations/{session.oid}/").content.decode()
    legend = page.partition("<figcaption")[2].partition("</figcaption>")[0]
    assert re.findall(r">(\w+)</span>", legend) == ["thinking", "read"]


def test_each_state_is_a_tab_with_how_many_conversations_it_has(client: Client, kept: Kept) -> None:
    kept("example", example)

    def tabs(query: str) -> list[tuple[str, str]]:
        nav = re.findall(
            r'<nav class="tabs" aria-label="States">(.*?)</nav>', client.get(f"/conversations/{query}").content.decode(), re.DOTALL
        )
        return [" ".join(re.sub(r"<[^>]+>", "", tab).split()) for tab in re.findall(r"<a .*?</a>", nav[0], re.DOTALL)]

    assert tabs("") == ["All 6", "Damaged or rejected 5", "Rejected 2", "Unreported 4", "Nothing found 1"]
    assert "such a conversation is in Rejected too." in client.get("/conversations/?state=silent").content.decode()
    assert tabs("?state=forked") == [
        "All 6",
        "Damaged or rejected 5",
        "Rejected 2",
        "Unreported 4",
        "Repaired by a fork 0",
        "Nothing found 1",
    ]
    assert tabs("?rule=MSG101")[:2] == ["All", "Damaged or rejected"], "nothing is counted for a filter"
    for state, shown in (("damaged", 5), ("refused", 2), ("silent", 4), ("healthy", 1)):
        assert len(titles(client, state=state)) == shown


def test_rule_and_source_choose(client: Client, tmp_path: Path) -> None:
    many(tmp_path / "a.db", 4)
    store(tmp_path / "b.db", rows("other", MERGED, "Other"))
    other = Source.objects.get(path__endswith="b.db")
    assert titles(client, rule="MSG101") == ["Title 003", "Title 001", "Other"]
    assert titles(client, rule="msg101", source=other.oid) == ["Other"]
    assert titles(client, source=other.oid, state="healthy") == []
    assert titles(client, rule="NOSUCH9") == []
    assert "Nothing here matches" in client.get("/conversations/?rule=NOSUCH9").content.decode()


def test_the_columns_sort_the_list_and_its_pages(client: Client, tmp_path: Path) -> None:
    many(tmp_path / "many.db", 60)
    store(tmp_path / "long.db", rows("long", (*HEALTHY, {**HEALTHY[0], "msgIdx": 2}), "The longest"))
    in_turn = titles(client, sort="-chunks")
    assert in_turn[0] == "The longest" and titles(client, sort="chunks", page="2")[-1] == "The longest"
    assert titles(client, sort="active", page="2") == titles(client)[10::-1]
    following = client.get("/conversations.json?sort=-chunks").json()["next"]
    assert "sort=-chunks" in following
    rest = [row["title"] for row in client.get(f"/conversations.json?{following}").json()["conversations"]]
    assert len({*in_turn, *rest}) == 61
    text = client.get("/conversations/?sort=-chunks&state=healthy").content.decode()
    assert 'aria-sort="descending"><a class="sort" href="?sort=chunks&amp;state=healthy"' in text
    assert titles(client, sort="title") == titles(client), "what is no column sorts nothing"


DAYS = (
    ("before", 1_780_271_999_999),  # 2026-05-31, its last millisecond
    ("first", 1_780_272_000_000),
    ("last", 1_780_358_399_999),
    ("after", 1_780_358_400_000),  # 2026-06-02, its first millisecond
)


def dated(path: Path) -> Source:
    """A store with a conversation for each of DAYS, and one that nothing dates."""
    found = store(path, [row for title, at in DAYS for row in rows(title, HEALTHY, at=at)] + rows("undated", HEALTHY))
    with one_writer():
        Conversation.objects.filter(title="undated").update(last_activity=None)
        counting.renew(Conversation.objects.values_list("pk", flat=True))
    return found


@pytest.mark.parametrize("is_demo", [False, True])
@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ({"since": "2026-06-01", "until": "2026-06-01"}, {"first", "last"}),
        ({"since": "2026-06-01"}, {"first", "last", "after"}),
        ({"since": "2026-06-02"}, {"after"}),
        ({"until": "2026-06-01"}, {"before", "first", "last"}),
        ({"until": "2026-05-31"}, {"before"}),
        ({"since": "0001-01-01", "until": "9999-12-31"}, {"before", "first", "last", "after"}),
        ({"since": "2026-06-02", "until": "2026-06-01"}, set()),
        ({"since": "2026-06-01", "state": "damaged"}, set()),
        ({"since": "2026-02-30", "until": "<script>"}, {"before", "first", "last", "after", "undated"}),
        ({"since": "1780272000000"}, {"before", "first", "last", "after", "undated"}),
    ],
)
def test_a_list_is_of_the_days_that_the_address_names(
    client: Client, tmp_path: Path, query: dict[str, str], listed: set[str], is_demo: bool
) -> None:
    source = dated(tmp_path / "a.db")
    if is_demo:
        Source.objects.update(is_demo=True)
        with one_writer():
            counting.renew(source.conversations.values_list("pk", flat=True))
    answer = client.get(f"/conversations.json?{urlencode(query)}").json()
    assert {row["title"] for row in answer["conversations"]} == listed and answer["total"] == len(listed)
    page = client.get(f"/conversations/?{urlencode(query)}").content.decode()
    assert {title for title in ("undated", *dict(DAYS)) if f">{title}</a>" in page} == listed


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ({"by": "FLASH"}, {"first"}),
        ({"by": "2.1.9"}, {"last"}),
        ({"by": " umans/ "}, {"first"}),
        ({"by": "flash", "since": "2026-06-02"}, set()),
        ({"by": "2.1.9", "q": "hello", "until": "2026-06-01"}, {"last"}),
        ({"by": "last"}, set()),
        ({"by": "%"}, set()),
        ({"by": " "}, {"before", "first", "last", "after", "undated"}),
    ],
)
def test_a_list_is_of_a_model_or_a_version_of_the_client(client: Client, tmp_path: Path, query: dict[str, str], listed: set[str]) -> None:
    dated(tmp_path / "a.db")
    Conversation.objects.filter(title="first").update(model="umans/umans-flash")
    Conversation.objects.filter(title="last").update(client_version="2.1.9")
    answer = client.get(f"/conversations.json?{urlencode(query)}").json()
    assert {row["title"] for row in answer["conversations"]} == listed and answer["total"] == len(listed)
    page = client.get(f"/conversations/?{urlencode(query)}").content.decode()
    assert (" · umans/umans-flash</div>" in page, " · 2.1.9</div>" in page) == ("first" in listed, "last" in listed)


def test_the_days_and_the_rule_choose_together_and_stay_in_the_address(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("early", MERGED, at=DAYS[0][1]) + rows("late", MERGED, at=DAYS[3][1]) + rows("well", HEALTHY))
    assert titles(client, rule="MSG101") == ["late", "early"] and titles(client, rule="MSG101", until="2026-06-01") == ["early"]
    Conversation.objects.update(model="x1")
    page = client.get("/conversations/?until=2026-06-01&by=x").content.decode()
    assert 'name="until" value="2026-06-01"' in page and 'value="x"' in page and "1 conversation matches these filters" in page
    assert 'href="?until=2026-06-01&amp;by=x&amp;state=damaged"' in page


def test_each_state_says_how_many_there_are_of_the_days(client: Client, tmp_path: Path) -> None:
    found = [*rows("early", MERGED, at=DAYS[0][1]), *rows("late", MERGED, at=DAYS[3][1]), *rows("well", HEALTHY, at=DAYS[3][1])]
    store(tmp_path / "a.db", found)

    def tabs(query: str) -> list[tuple[str, str]]:
        tabs = client.get(f"/conversations/?{query}").content.decode().partition('aria-label="States">')[2].partition("</nav>")[0]
        return re.findall(r">([A-Z][\w ]*?)\s*(?:<span class=\"count\">(\d+)</span>)?</a>", tabs)

    assert tabs("since=2026-06-02") == [("All", "2"), ("Damaged or rejected", "1"), ("Unreported", "1"), ("Nothing found", "1")]
    assert tabs("until=2026-06-01&state=healthy") == [
        ("All", "1"),
        ("Damaged or rejected", "1"),
        ("Unreported", "1"),
        ("Nothing found", "0"),
    ]
    assert titles(client, since="2026-06-02", state="silent") == ["late"]
    Conversation.objects.filter(title="late").update(is_gone=True)
    assert client.get("/conversations.json?since=2026-06-02").json()["gone"] == 1
    assert tabs("since=2026-06-02&gone=1")[0] == ("All", "1")


def test_pages_of_fifty_with_the_count_said(client: Client, tmp_path: Path) -> None:
    many(tmp_path / "a.db", 63)
    first = client.get("/conversations/?state=healthy").content.decode()
    assert "32 conversations match these filters." in first and "Next" not in first
    text = client.get("/conversations/").content.decode()
    assert "63 conversations, 50 shown" in text and 'rel="next" href="?page=2&amp;after=' in text and "1 to 50 of 63, page 1 of 2" in text
    assert titles(client)[0] == "Title 062" and titles(client, page="2") == [f"Title {number:03d}" for number in range(12, -1, -1)]
    for page in ("0", "-1", "99999999999999999999", "x", "2<script>"):
        assert client.get("/conversations/", {"page": page}).status_code == 200


def test_those_gone_from_their_store_are_counted_and_can_be_listed(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("here", HEALTHY) + rows("leaves", MERGED))
    path.unlink()
    write_dispatch_store(path, rows("here", HEALTHY))
    import_targets([str(path)], "tester")
    assert titles(client) == ["here"] and titles(client, gone="1") == ["leaves"]
    assert "1 more is gone from its store" in client.get("/conversations/").content.decode()
    assert "gone from the store" in client.get("/conversations/?gone=1").content.decode()


def test_the_number_of_queries_does_not_grow_with_the_rows(
    client: Client, tmp_path: Path, django_assert_max_num_queries: MaxQueries
) -> None:
    many(tmp_path / "a.db", 50)
    with django_assert_max_num_queries(17):
        client.get("/conversations/?q=hello")


def test_htmx_gets_the_rows_alone(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", HEALTHY, "One"))
    part = client.get("/conversations/", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part and '<div id="rows">' in part and "One" in part


def test_a_hostile_native_id_survives_in_the_twin(client: Client, tmp_path: Path) -> None:
    native = 'a"<b>:\u202e'
    store(tmp_path / "a.db", rows(native, HEALTHY, "One"))
    answer = client.get("/conversations.json")
    assert answer.content.isascii() and answer.json()["conversations"][0]["native_id"] == 'a"<b>:\\u202e'


def test_large_numbers_are_grouped_and_damage_stands_next_to_the_next_request(client: Client, tmp_path: Path) -> None:
    found = store(tmp_path / "a.db", rows("one", HEALTHY, "One"))
    Conversation.objects.filter(source=found).update(
        chunk_count=20029,
        message_count=12613,
        read_count=11106,
        damage="The store is damaged.",
        next_request=["rejected", "rejected at x", "R-1"],
    )
    text = client.get("/conversations/").content.decode()
    assert (
        ">20,029</td>" in text and "12,613 → 11,106" in text and ">The store is damaged.</span>" in text and "<b>rejected</b> at x" in text
    )


def sorted_ids(client: Client, address: str, key: str) -> list[Any]:
    """Of two pages of a list, the second by where the first ended."""
    first = client.get(address).context["page"].here
    second = client.get(f"{address.partition('?')[0]}?{first.older.query(QueryDict(address.partition('?')[2]))}").context["page"].here
    return [getattr(row, key) for here in (first, second) for row in here.rows]


def test_streams_and_repairs_are_sorted_by_their_columns(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    now, conversation = timezone.now(), Conversation.objects.get()
    capture = Source.objects.create(oid="5" * 12, path="/captures/a", format="capture", is_trace=True, read_at=now, stream_count=70)
    Stream.objects.bulk_create(
        Stream(
            oid=f"{n:012d}", source=capture, native_id=f"{n}", position=n, sides="client", seen_at=now, file_time=(now - timedelta(hours=n * 7 % 70)).timestamp() * 1e9 // 1, digest="",
            rank=n % 3, events=n * 11 % 70,
        )
        for n in range(70)
    )  # fmt: skip
    Repair.objects.bulk_create(
        Repair(
            oid=f"{n:012d}", conversation=conversation, revision=1, strategies=["renumber-messages"], state="proposed",
            proposed_at=now, proposed_by=f"person {n * 7 % 10}",
        )
        for n in range(70)
    )  # fmt: skip
    by_events = sorted_ids(client, "/streams/?sort=events", "events")
    assert by_events == sorted(by_events) == sorted_ids(client, "/streams/?sort=-events", "events")[::-1] and len(by_events) == 70
    by_severity = sorted_ids(client, "/streams/", "oid")
    assert (
        sorted_ids(client, "/streams/?sort=-severity", "oid") == by_severity == sorted_ids(client, "/streams/?sort=severity", "oid")[::-1]
    )
    by_capture = sorted_ids(client, "/streams/?sort=-captured", "captured_at")
    assert by_capture == sorted(by_capture, reverse=True) and by_capture != sorted_ids(client, "/streams/", "captured_at")
    assert sorted_ids(client, "/streams/?sort=title", "oid") == by_severity, "what is no column sorts nothing"
    newest = sorted_ids(client, "/repairs/", "oid")
    assert sorted_ids(client, "/repairs/?sort=-when", "oid") == newest == sorted_ids(client, "/repairs/?sort=when", "oid")[::-1]
    by_person = sorted_ids(client, "/repairs/?sort=who", "proposed_by")
    assert by_person == sorted(by_person) and len(by_person) == 70
    page = client.get("/streams/?sort=-events&state=damaged").content.decode()
    assert 'aria-sort="descending"><a class="sort" href="?sort=events&amp;state=damaged"' in page and 'name="sort" value="-events"' in page
    assert client.get("/repairs.json?sort=-who").json()["repairs"][0]["proposed_by"] == "person 9"
