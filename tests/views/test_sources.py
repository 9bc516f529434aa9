"""Sources: what was read, the deployed reader, reading again, and the switch that opens a store to writes."""

import html
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from inspector.actions import watching
from inspector.actions.import_source import import_targets
from inspector.actions.planning import web_may_write
from inspector.actions.problems import Refused
from inspector.actions.set_deployed_reader import set_deployed_reader
from inspector.actions.set_write_back import set_write_back
from inspector.demo.creation import write_dispatch_store
from inspector.demo.dispatch_incident import CONVERSATION
from inspector.environment import os_user
from inspector.models import AuditEntry, Conversation, Source, TraceRecord, Watch
from inspector.models.watch import take_watch
from inspector.sources.processes import this_process
from tests.kept import Kept
from tests.operators import OperatorClient
from tests.views.imported import HEALTHY, INCIDENT, MERGED, example, rows, store, torn_journal

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parent.parent.parent
MaxQueries = Callable[[int], AbstractContextManager[object]]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return store(tmp_path / "a.db", rows("one", MERGED, "One"))


def said(client: Client, address: str, **fields: str) -> str:
    """The page after a POST."""
    answer = client.post(address, fields, follow=True)
    assert answer.status_code == 200
    return answer.content.decode().replace("&#x27;", "'")


def test_without_sources_the_list_says_how_to_load_one(client: Client) -> None:
    page = client.get("/sources/")
    assert page.status_code == 200 and "import_source" in page.content.decode()
    assert client.get("/sources.json").json() == {"sources": []}


def test_the_list_says_what_each_source_holds(
    client: Client, kept: Kept, tmp_path: Path, django_assert_max_num_queries: MaxQueries
) -> None:
    kept("example", example)
    for number in range(5):
        store(tmp_path / f"{number}.db", rows("one", MERGED))
    with django_assert_max_num_queries(10):
        text = client.get("/sources/").content.decode()
    assert "6 conversations" in text and 'state=damaged">5</a>' in text and "55 trace records" in text and "never: a trace" in text


def test_the_list_says_when_each_source_was_active_and_what_is_new_in_it(client: Client, tmp_path: Path) -> None:
    at, day = 1_782_000_000_000, 86_400_000
    store(tmp_path / "new.db", rows("one", MERGED, at=at) + rows("two", MERGED, at=at - 2 * day))
    store(tmp_path / "old.db", rows("one", MERGED, at=at - 100 * day))
    store(tmp_path / "well.db", rows("one", HEALTHY, at=at - day))
    listed = {Path(row["path"]).name: (row["last_active"], row["new"]) for row in client.get("/sources.json").json()["sources"]}
    assert listed == {"new.db": (at, 2), "old.db": (at - 100 * day, 0), "well.db": (at - day, 0)}
    page = client.get("/sources/?sort=-active").content.decode()
    names = re.findall(r"row-link[^>]*>[^<]*?(\w+\.db)</a>", page)
    cells = re.findall(r'<td class="days" data-label="new problems">(.*?)</td>', page)
    assert names == ["new.db", "well.db", "old.db"]
    assert "2 new in the 30 days to 2026-06-21" in cells[0] and ">–<" in cells[1] and ">none in 30 days<" in cells[2]


def test_whether_what_is_seen_is_current_is_in_the_list_and_in_the_first_lines_of_a_source(client: Client, source: Source) -> None:
    def cell_and_facts() -> tuple[str, str]:
        cell = re.search(r'<td class="read" data-label="last read">(.*?)</td>', client.get("/sources/").content.decode())
        facts = re.search(r'<div class="facts">(.*?)</div>', client.get(f"/sources/{source.oid}/").content.decode())
        assert cell and facts
        return cell[1], facts[1]

    watching.set_watching(source, "tester", on=False)
    cell, facts = cell_and_facts()
    assert (
        "watched" not in cell
        and "None is watched" in client.get("/sources/").content.decode()
        and ">not watched</a>: later writes do not show" in facts
    )
    watching.set_watching(source, "tester", on=True, every=600)
    cell, facts = cell_and_facts()
    assert ">nobody looks now</a>" in cell and ">watched, but nobody looks now</a>" in facts
    assert take_watch(this_process())
    cell, facts = cell_and_facts()
    assert cell.endswith("<div>watched every 10 minutes</div>") and "None is watched" not in client.get("/sources/").content.decode()
    assert ", watched</span>" in facts and re.search(r'judged as <a class="link" href="#reader"[^>]*>dispatch-legacy</a>', facts)
    watching.record_problem(source.pk, "It is <gone>.")
    cell, facts = cell_and_facts()
    assert "cannot be read now" in cell and "It is &lt;gone&gt;." in cell and "cannot be read now" in facts


def test_a_row_is_imported_and_watched_from_the_list_and_its_tabs_say_which_need_a_look(client: Client, kept: Kept, tmp_path: Path) -> None:
    kept("example", example)
    healthy = store(tmp_path / "healthy.db", rows("one", HEALTHY))
    watching.set_watching(healthy, "tester", on=False)

    def names(state: str) -> list[str]:
        return re.findall(
            r'row-link" href="[^"]*" title="[^"]*">[^<]*?([\w.]+)</a>', client.get(f"/sources/?state={state}").content.decode()
        )

    text = client.get("/sources/").content.decode()
    assert (
        '<span class="fine">none</span> of 1' in text and re.search(r'state=damaged">5</a>\s+of 6', text) and "not judged by itself" in text
    )
    assert names("damaged") == ["dispatch.db"] and "healthy.db" in names("unwatched") and names("nonsense") == names("")
    assert ">Cannot be read" not in text
    assert 'name="back" value="?state=unwatched&amp;q=db"' in client.get("/sources/?state=unwatched&q=db").content.decode()
    for back, leads in {
        "?": "/sources/",
        "?state=unwatched&q=db": "/sources/?state=unwatched&q=db",
        "?q=%0d%0aX: y": "/sources/?q=%0D%0AX%3A+y",
        "//other.example/": f"/sources/{healthy.oid}/",
    }.items():
        assert client.post(f"/sources/{healthy.oid}/import/", {"back": back}).headers["Location"] == leads
    answer = client.post(f"/sources/{healthy.oid}/watch/", {"back": "?state=unwatched", "on": "1"})
    assert answer.headers["Location"] == "/sources/?state=unwatched"
    text = client.get("/sources/").content.decode()
    assert "healthy.db is watched now." in text and f'aria-label="Stop watching {healthy.name}"' in text
    assert "healthy.db" not in names("unwatched")
    watching.record_problem(healthy.pk, "It is gone.")
    assert names("unreadable") == ["healthy.db"]


def test_all_sources_that_are_not_watched_are_watched_at_once(client: Client, tmp_path: Path) -> None:
    first, second, sealed = (store(tmp_path / f"{name}.db", rows("one", HEALTHY)) for name in ("first", "second", "sealed"))
    watching.set_watching(first, "tester", on=False, every=600)
    watching.set_watching(second, "tester", on=False)
    Source.objects.filter(pk=sealed.pk).update(format="dispatch-bundle")
    assert ">Watch all 2</button>" in client.get("/sources/").content.decode()
    text = client.post("/sources/watch/", follow=True).content.decode()
    assert "2 more sources are watched now." in text and "Watch all" not in text
    assert dict(Watch.objects.filter(is_on=True).values_list("source", "every")) == {first.pk: 600, second.pk: 0}


def test_a_source_shows_what_is_wrong_in_it_and_leads_to_each_problem(client: Client, kept: Kept, tmp_path: Path) -> None:
    found = kept("example", example)
    worst = found.rule_problems.get(code="MSG101")
    text = client.get(f"/sources/{found.oid}/").content.decode()
    assert f'href="/problems/{worst.oid}/">{worst.rule}</a>' in text and f"{worst.conversations} conversations" in text
    assert text.count("30 days to ") == 8, "of each problem, of all together, and above the column"
    total = found.rule_problems.filter(conversations__gt=0).count()
    assert text.count('href="/problems/') == 6 and f'href="/?source={found.oid}">All {total} problems of this source</a>' in text
    healthy = store(tmp_path / "healthy.db", rows("one", HEALTHY))
    watching.set_watching(healthy, "tester", on=False)
    text = client.get(f"/sources/{healthy.oid}/").content.decode()
    assert "What is wrong in it" not in text and text.count(">Watch</button>") == 1
    watching.set_watching(healthy, "tester", on=True)
    assert ">Watch</button>" not in client.get(f"/sources/{healthy.oid}/").content.decode()


def test_the_conversations_of_a_source_are_the_worst_first_whenever_they_were_active(client: Client, kept: Kept) -> None:
    kept("example", example)
    oid = Conversation.objects.get(native_id=INCIDENT).source.oid
    text = client.get(f"/sources/{oid}/").content.decode()
    shown = re.sub(r"<[^>]+>", " ", text[text.index("Conversations, worst first") :])
    words = [shown.index(title) for title in ("hello", "Why is the settings", "Run the migration", "Summarise the open", "Which port")]
    assert words == sorted(words), "rejected twice, wrong silently, damaged and passes, nothing found: of each kind the newest first"


def test_the_problems_of_a_source_have_their_next_request_below_its_head_in_the_words_of_the_inbox(client: Client, kept: Kept) -> None:
    source = kept("example", example)
    table = client.get(f"/sources/{source.oid}/").content.decode().partition('id="rules"')[2].partition("</table>")[0]
    row = table[table.index(">merged-messages<") :].partition("</tr>")[0]
    inbox = client.get(f"/?source={source.oid}").content.decode()
    of_inbox = inbox[inbox.index(">merged-messages<") :].partition("</tr>")[0]
    cell = row.partition('<td class="next"')[2].partition("</td>")[0]
    codes = [re.findall(r'<span class="badge (?:error|warning|note)">(\w+)</span>', page) for page in (table, inbox)]
    assert codes[0] == codes[1][:5] and "TOOL102" in codes[0], "the same five are first"
    assert ">next request</th>" in table and ">2 of 3 rejected</span>" in cell and cell in of_inbox
    assert re.findall(r">(unreported|rejected|reported)<", row.partition("</td>")[0]) == ["unreported"], (
        "next to its name only that nothing reports it"
    )


def test_the_damage_of_a_rejected_conversation_begins_with_what_causes_that(client: Client, kept: Kept) -> None:
    kept("example", example)
    conversation = Conversation.objects.get(native_id=INCIDENT)
    for address in (f"/sources/{conversation.source.oid}/", "/conversations/"):
        page = client.get(address).content.decode()
        row = page[page.index(f'href="/conversations/{conversation.oid}/">hello') :].partition("</tr>")[0]
        assert "<b>rejected</b> at messages.1" in row, address
        assert ">Messages of different roles are read as one user message; the last turn ended in a tool call" in row, address


def test_where_nothing_is_wrong_the_conversations_last_active_are_first(client: Client, tmp_path: Path) -> None:
    healthy = store(tmp_path / "a.db", [*rows("one", HEALTHY, "Older"), *rows("two", HEALTHY, "Newer", 1782000001000)])
    text = client.get(f"/sources/{healthy.oid}/").content.decode()
    assert text.index("Conversations, last active first") < text.index("Newer") < text.index("Older")


def test_the_list_is_sorted_by_what_its_address_says(client: Client, tmp_path: Path) -> None:
    example(tmp_path)
    store(tmp_path / "a.db", rows("one", HEALTHY))
    store(tmp_path / "z.db", rows("two", HEALTHY))

    def names(query: str) -> list[str]:
        return re.findall(r'row-link" href="[^"]*" title="[^"]*">[^<]*?([\w.]+)</a>', client.get(f"/sources/{query}").content.decode())

    assert names("")[0] == names("?sort=source")[0] == "a.db" and names("?sort=-source")[0] == "z.db"
    assert names("?sort=-damaged")[0] == "dispatch.db" and names("?sort=-contains")[0] == "traces.db"
    assert names("?sort=nonsense") == names("")
    assert names("?q=TRACES") == ["traces.db"] and names("?q=nothing-like-it") == []
    assert "No source has this" in client.get("/sources/?q=nothing-like-it").content.decode()
    assert 'aria-sort="descending"' in client.get("/sources/?sort=-read").content.decode()


def test_keys_that_nobody_knows_are_said_and_the_file_is_not_called_damaged(client: Client, tmp_path: Path) -> None:
    found = store(tmp_path / "a.db", [*rows("one", MERGED, "One"), ("conversation-store", "conv:one:novel", "{}")])
    text = client.get(f"/sources/{found.oid}/").content.decode()
    assert "Problems found when it was read" in text and "1 key of this namespace has a name that Inspector does not know" in text
    assert "1 problem when read" in client.get("/sources/").content.decode()
    conversation = Conversation.objects.get(native_id="one")
    assert "The file itself is damaged" not in client.get(f"/conversations/{conversation.oid}/").content.decode()
    found.problems = [*found.problems, {"where": "the file", "reason": "row 3 missing from index"}]
    found.save()
    assert "The file itself is damaged (row 3 missing" in client.get(f"/conversations/{conversation.oid}/").content.decode()


def test_a_store_and_its_trace_name_each_other(client: Client, kept: Kept) -> None:
    found = kept("example", example)
    trace = Source.objects.get(is_trace=True)
    text = client.get(f"/sources/{found.oid}/").content.decode()
    assert f'href="/sources/{trace.oid}/"' in text and "dispatch-legacy" in text and '.backup copy.db"' in text
    text = client.get(f"/sources/{trace.oid}/").content.decode()
    assert f'href="/sources/{found.oid}/"' in text and "Nothing is ever written to a trace." in text and "write-back/" not in text
    assert client.get(f"/sources/{found.oid}.json").json()["traces"] == [trace.oid]


def test_a_trace_lists_the_conversations_that_it_has_records_of(client: Client, kept: Kept) -> None:
    kept("example", example)
    trace = Source.objects.get(is_trace=True)

    def listed() -> str:
        text = client.get(f"/sources/{trace.oid}/").content.decode().partition('id="traced"')[2].partition("</section>")[0]
        return text.partition(">")[2]

    def words(text: str) -> str:
        return " ".join(re.sub(r"<[^>]+>", " ", text).split())

    (traced,) = Conversation.objects.filter(native_id=CONVERSATION)
    assert f'href="/conversations/{traced.oid}/trace/"' in listed() and "hello" in listed()
    assert words(listed()).endswith("3 55") and " of " not in words(listed()), "turns and records"
    assert f'href="/sources/{trace.oid}/#traced">55 trace records' in client.get("/sources/").content.decode()
    first = TraceRecord.objects.filter(source=trace).order_by("timestamp")[0]
    for number in range(12):
        first.pk, first.record_id, first.conversation_id, first.timestamp = None, f"other {number}", f"another-{number:02}", 1 + number
        first.save(force_insert=True)
    assert "(10 of 13: a trace is also opened from its conversation)" in words(listed())
    assert listed().index("hello") < listed().index("another-11") and "another-00" not in listed(), "the newest first"
    assert words(listed()).count("not imported") == 9 and listed().count("/trace/") == 1
    TraceRecord.objects.filter(source=trace).update(conversation_id="")
    assert not listed(), "records of no conversation"


def test_a_copy_says_where_it_was_taken_and_how_old_it_was(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    found = store(path, rows("one", MERGED, "One"))
    assert "copied from" not in client.get(f"/sources/{found.oid}/").content.decode()
    three_hours_ago = time.time() - 3 * 3600
    os.utime(path, (three_hours_ago, three_hours_ago))
    import_targets([str(path)], "tester", came_from=" arch1:/var/lib\n\u202e<b>")
    said = "copied from arch1:/var/lib \\u202e&lt;b&gt;, last written 3 hours before it was read"
    conversation = Conversation.objects.get()
    assert said in client.get(f"/conversations/{conversation.oid}/").content.decode()
    facts = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", client.get(f"/sources/{found.oid}/").content.decode()))
    assert re.search(r"copied from arch1:/var/lib \\u202e&lt;b&gt; last written [^,]+, 3 hours before it was read", facts)
    assert "came_from" in client.get(f"/sources/{found.oid}.json").json()


def test_reading_again_keeps_where_a_copy_came_from(client: Client, source: Source) -> None:
    import_targets([source.path], "tester", came_from="arch1")
    client.post(f"/sources/{source.oid}/import/")
    source.refresh_from_db()
    assert source.came_from == "arch1" and source.written_at is not None
    import_targets([source.path], "tester", came_from="")
    source.refresh_from_db()
    assert source.came_from == ""


def test_the_line_that_copies_a_live_store_from_another_host_works(client: Client, source: Source, tmp_path: Path) -> None:
    """Run as the page gives it, with a program `ssh` that gives its argument to a shell, as the far end does."""
    text = html.unescape(client.get("/sources/").content.decode())
    lines = re.findall(r'<pre class="type">(ssh HOST .*?)</pre>', text)
    assert len(lines) == 2 and all(line in (ROOT / "docs" / "how-to" / "copy-a-live-store.md").read_text() for line in lines)
    (tmp_path / "ssh").write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    (tmp_path / "scp").write_text('#!/bin/sh\ncp "${1#HOST:}" "$2"\n')
    for name in ("ssh", "scp"):
        (tmp_path / name).chmod(0o755)
    usable = lines if shutil.which("sqlite3") else lines[1:]
    for number, line in enumerate(usable):
        folder = tmp_path / f"here{number}"
        folder.mkdir()
        far = tmp_path / f"far{number}.db"
        typed = line.replace("/path/dispatch.db", source.path).replace("/tmp/copy.db", str(far))
        path = f"{tmp_path}:{os.environ['PATH']}"
        assert subprocess.run(["sh", "-c", typed], cwd=folder, env={**os.environ, "PATH": path}, timeout=60).returncode == 0
        assert import_targets([str(folder / far.name)], "tester")[0].conversations == 1


def test_problems_of_a_trace_are_shown_and_not_run(client: Client, tmp_path: Path) -> None:
    found = torn_journal(tmp_path / "journal.ndjson")
    assert found.problems
    text = client.get(f"/sources/{found.oid}/").content.decode()
    assert "Problems found when it was read" in text and "line at byte" in text and "<script>\n" not in text


def test_each_content_is_counted_once(client: Client, tmp_path: Path) -> None:
    same = store(tmp_path / "a.db", rows("a", HEALTHY, "x") + rows("b", HEALTHY, "x"))
    one = store(tmp_path / "b.db", rows("a", HEALTHY, "x"))
    kept = [client.get(f"/sources/{found.oid}.json").json()["bytes_kept"] for found in (same, one)]
    assert kept[0] == kept[1] > 100


def test_reading_again_brings_what_is_new(client: Client, source: Source) -> None:
    path = Path(source.path)
    path.unlink()
    write_dispatch_store(path, rows("one", MERGED, "One") + rows("two", HEALTHY, "Two"))
    assert "Read again: 2 conversations, 1 of them new or changed." in said(client, f"/sources/{source.oid}/import/")
    assert Conversation.objects.filter(title="Two").exists()
    assert AuditEntry.objects.order_by("-id")[0].who == os_user()


def test_reading_a_source_that_is_away_says_so_in_one_sentence(client: Client, source: Source) -> None:
    Path(source.path).unlink()
    assert "does not exist; check the path and try again." in said(client, f"/sources/{source.oid}/import/")
    assert Conversation.objects.filter(is_gone=False).count() == 1, "nothing is lost"


def test_the_switch_needs_the_word_of_a_person(client: Client, source: Source) -> None:
    address = f"/sources/{source.oid}/write-back/"
    assert "Tick “I answer for writes to this store” first" in said(client, address, on="1")
    source.refresh_from_db()
    assert not source.write_enabled and not web_may_write(source)
    assert not AuditEntry.objects.exclude(verb="import").exists()


def test_the_switch_opens_and_closes_and_both_are_recorded(client: Client, source: Source) -> None:
    address = f"/sources/{source.oid}/write-back/"
    assert "this source's switch is on" in said(client, address, on="1", answers="1")
    assert web_may_write(Source.objects.get())
    assert "the switch is off" in said(client, address, on="0")
    assert not web_may_write(Source.objects.get())
    trail = AuditEntry.objects.exclude(verb="import").order_by("id").values_list("who", "verb", "source_path")
    assert list(trail) == [(os_user(), "open for writes", source.path), (os_user(), "close for writes", source.path)]


def test_the_page_says_which_switch_decides(client: Client, source: Source, settings: Settings) -> None:
    def why() -> str:
        return str(client.get(f"/sources/{source.oid}.json").json()["why_writable"])

    assert "the switch is off" in why()
    settings.INSPECTOR_WRITE_BACK = True
    assert "opens every store" in why()
    settings.INSPECTOR_WRITE_BACK = False
    Source.objects.update(is_demo=True)
    assert "the demo's own store" in why()


@pytest.mark.parametrize(("master", "own"), [(False, False), (False, True), (True, False), (True, True)])
def test_off_loopback_both_switches_are_needed(source: Source, settings: Settings, master: bool, own: bool) -> None:
    from inspector.views.sources import why_writable

    settings.INSPECTOR_LOCAL, settings.INSPECTOR_WRITE_BACK = False, master
    source.write_enabled, source.is_demo = own, True
    assert why_writable(source).startswith("An approved repair may be written") == web_may_write(source) == (master and own)


def test_a_trace_has_neither_switch_nor_reader(kept: Kept) -> None:
    kept("example", example)
    trace = Source.objects.get(is_trace=True)
    with pytest.raises(Refused, match="Nothing is ever written to a trace"):
        set_write_back(trace, "tester", True, True)
    with pytest.raises(Refused, match="read by no client"):
        set_deployed_reader(trace, "tester", "exact")


def test_another_deployed_reader_judges_every_conversation_anew(client: Client, kept: Kept) -> None:
    found = kept("example", example)
    incident = Conversation.objects.get(native_id=INCIDENT)
    assert (incident.read_count, incident.findings.filter(code="MSG101").count()) == (3, 1)
    assert "exact is the deployed reader now; 6 conversations judged again" in said(client, f"/sources/{found.oid}/", reader="exact")
    incident.refresh_from_db()
    # The thinking-only answer at the end is a message of its own, whatever the reader does with it afterwards.
    assert (incident.read_count, incident.message_count, incident.findings.filter(code="MSG101", is_open=True).count()) == (8, 9, 0)
    last = AuditEntry.objects.order_by("-id")[0]
    assert (last.verb, last.detail) == ("set reader", {"before": "dispatch-legacy", "after": "exact", "conversations": 6})


def test_an_unknown_reader_is_refused_and_nothing_changes(client: Client, source: Source) -> None:
    assert "There is no reader 'no<such>'" in said(client, f"/sources/{source.oid}/", reader="no<such>").replace("&lt;", "<").replace(
        "&gt;", ">"
    )
    assert Source.objects.get().reader == "dispatch-legacy"


def test_a_reader_that_is_not_known_any_more_does_not_close_the_page(client: Client, source: Source) -> None:
    Source.objects.update(reader="older-reader")
    page = client.get(f"/sources/{source.oid}/")
    assert page.status_code == 200 and "older-reader" in page.content.decode()


@pytest.mark.parametrize("place", ["import/", "write-back/"])
def test_acts_are_posts_only(client: Client, source: Source, place: str) -> None:
    assert client.get(f"/sources/{source.oid}/{place}").status_code == 405
    assert client.post(f"/sources/nosuch/{place}").status_code == 404


@pytest.mark.parametrize("place", ["", "import/", "write-back/"])
def test_acts_need_a_csrf_token(source: Source, place: str) -> None:
    strict = OperatorClient(enforce_csrf_checks=True)
    answer = strict.post(f"/sources/{source.oid}/{place}", {"on": "1", "answers": "1", "reader": "exact"})
    assert answer.status_code == 403
    source.refresh_from_db()
    assert not source.write_enabled and source.reader == "dispatch-legacy"


def test_another_store_where_the_demo_stood_is_no_demo(tmp_path: Path) -> None:
    path = store(tmp_path / "a.db", rows("one", MERGED)).path
    Source.objects.update(is_demo=True)
    import_targets([path], "tester")
    assert Source.objects.get().is_demo
    Path(path).unlink()
    store(Path(path), rows("mine", MERGED))
    assert not Source.objects.get().is_demo
