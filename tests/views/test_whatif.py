"""Compare readers: counts a reader, rows a conversation, and the facts of the incident on the page."""

import html
import re
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.demo import gbrain_incident
from inspector.demo.creation import write_dispatch_store
from inspector.models import Conversation, Source, comparing
from inspector.views import whatif
from tests.commands.test_not_read_whole import DEEP
from tests.kept import Kept
from tests.programs.claude_code import session_lines as cc
from tests.views.imported import HEALTHY, INCIDENT, MERGED, example, many, of_programs, rows, store

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[object]]
EXACT = "reader=dispatch-legacy&reader=exact"


def test_without_conversations_it_says_how_to_load_some(client: Client) -> None:
    text = client.get("/whatif/").content.decode()
    assert "Nothing is loaded" in text and "import_source" in text
    assert client.get("/whatif.json").json()["conversations"] == 0


def test_each_reader_has_its_counts(client: Client, kept: Kept) -> None:
    kept("example", example)
    found = client.get(f"/whatif.json?{EXACT}").json()
    counts = {each["reader_b"]: (each["better"]["count"], each["worse"]["count"], each["merged"]["count"]) for each in found["readers"]}
    assert len(counts) == 24
    assert {name: counts[name] for name in counts if "+" not in name} == {
        "dispatch-legacy": (0, 0, 3),
        "dispatch-role-split": (3, 1, 0),
        "dispatch-global-index": (0, 0, 3),
        "exact": (3, 1, 0),
    }
    assert counts["dispatch-legacy+keep-thinking"] == (0, 1, 3) and counts["exact+keep-thinking+wrapped"] == (3, 1, 0)
    assert (found["reader_b"], found["become_sendable"]["count"], found["counted"], found["total"]) == ("exact", 2, 6, 6)


def test_each_conversation_is_counted_in_one_kind(client: Client, kept: Kept) -> None:
    """Three get better and one gets worse, which is one of the three: the numbers of the page add up."""
    kept("example", example)
    for line in client.get(f"/whatif.json?{EXACT}").json()["readers"]:
        counts = {kind: tally["count"] for kind, tally in line["kinds"].items()}
        assert sum(counts.values()) == line["conversations"] == 6, line
        assert line["better"]["count"] == counts["only_better"] + counts["mixed"]
        assert line["worse"]["count"] == counts["only_worse"] + counts["mixed"]


def test_a_row_says_where_the_readers_part_and_what_changes(client: Client, kept: Kept) -> None:
    kept("example", example)
    incident = Conversation.objects.get(native_id=INCIDENT)
    text = client.get(f"/whatif/?{EXACT}").content.decode()
    assert "exact instead of dispatch-legacy: pass 2 → 3, wrong silently 2 → 2, rejected 2 → 1</h1>" in text
    caption = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text[text.index("<figcaption>") : text.index("</figcaption>")])).split())
    assert (
        caption == "fails differently 1 is rejected instead of wrong silently 1 is wrong silently instead of rejected"
        " better than now 1 newly passes the same 1 stays wrong silently 2 stay the same"
    )
    facts = " ".join(re.sub(r"<[^>]+>", " ", text[text.index("</figure>") :]).split())
    assert facts.startswith(
        "Next: read the 3 that are not right then . Readers with which most next requests pass, and those that are compared: 5 of 24 "
    )
    lines = [
        " ".join(re.sub(r"<[^>]+>", " ", line).split()) for line in text[text.index("<tbody>", text.index("differences")) :].split("<tr>")
    ]
    migration = next(line for line in lines if line.startswith("Run the migration"))
    rejected = "then OC-1 rejected at messages.1 message An assistant message with &#x27;tool_calls&#x27; must be followed by tool messages"
    assert f"4 → 1 → 5 1 message inserted now wrong silently , but passes all known rules {rejected}" in migration
    quote = "seq 2 user → assistant: run_shell {&quot;command&quot;:&quot;bun run migrate --env staging&quot;}"
    assert f"Repair it for exact first difference: user, seq 1-4 → user, seq 1 side by side {quote}" in migration
    assert (
        "otherwise: the next request is rejected at messages.1 (OC-1) , for seq 2, and no longer goes wrong silently better:" in migration
        and "better: seq 2 in the request again" in migration
        and "now · then gone: MSG101 stays: TOOL102 4 → 1" in migration
    )
    hello = next(line for line in lines if line.startswith("hello"))
    assert (
        "otherwise: the next request is no longer rejected by a known rule, but goes wrong silently (without seq 14) better: seq 2,"
        in hello
    )
    assert ">exact</a> a new message where seq - chunkIdx differs. " in text and "Gives back the messages as they were appended" in text
    assert f'href="/conversations/{incident.oid}/?reader=exact"' in text and 'href="/whatif.json?reader=dispatch-legacy' in text
    first = next(each for each in client.get(f"/whatif.json?{EXACT}").json()["differences"])
    assert first["worse"], "what a fix would break comes first"
    assert first["violation"]["a"] is None and (first["violation"]["b"]["id"], first["violation"]["b"]["path"]) == ("OC-1", "messages.1")


def test_the_best_readers_are_shown_with_the_two_that_are_compared(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = html.unescape(client.get(f"/whatif/?{EXACT}").content.decode())
    [best] = re.findall(r'<table class="list best">.*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    assert _cells(best, "<tr[^>]*>(.*?)</tr>") == [
        "dispatch-role-split+keep-thinking+wrapped might ship 2 1 0 0 4 (1 call not run) 1 1",
        "dispatch-role-split+keep-thinking+omitted might ship 2 1 0 0 4 (1 call not run) 1 1",
        "exact+keep-thinking+wrapped 2 1 0 0 4 (1 call not run) 1 1",
        "exact compared 1 1 1 0 3 2 1",
        "dispatch-legacy runs now 2 2 2",
    ], "newly pass, newly rejected, newly wrong silently, something worse; pass, wrong silently, rejected"
    (first, *_) = re.findall(r'href="(\?reader=[^"]+)"', best)
    assert (
        "dispatch-role-split+keep-thinking+wrapped instead of dispatch-legacy: pass 2 → 4"
        in client.get(f"/whatif/{first}").content.decode()
    )
    assert "a thinking-only message counts as content" in text


def test_both_tables_and_the_bar_count_the_same_conversations_by_the_same_words(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = html.unescape(client.get(f"/whatif/?{EXACT}").content.decode())
    best, every = (table.partition("</table>")[0] for table in text[text.index('<table class="list best">') :].split("<table")[1:3])
    headings = [_cells(table, "<th[^>]*>(.*?)</th>") for table in (best, every)]
    changes = ["newly pass", "newly rejected", "newly wrong silently", "are read worse"]
    assert headings[0][1:5] == [*changes[:3], "something worse"]
    rest = ["are read better and worse", "are read better", "are read differently", "are as now", "something worse", "stay merged"]
    assert headings[1][4:] == [*changes, *rest], "the words of the bar above it"
    rows = {name: numbers for name, *numbers in (row.split() for row in _cells(every, "<tr[^>]*>(.*?)</tr>")[1:])}
    counts = [int(number) for number in re.findall(r"<td[^>]*>\s*(?:<b>)?(?:<[^>]*>)*(\d+)", every[every.index(">exact<") :])[3:11]]
    assert sum(counts) == 6 and counts[:4] == [1, 1, 1, 0] and "exact" in rows, "each conversation once"


def test_readers_with_equal_numbers_say_in_which_conversations_they_differ(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = html.unescape(client.get("/whatif/").content.decode())
    clients = text.partition("Other readers with these numbers</summary>")[2].partition("</details>")[0]
    words = " ".join(re.sub("<[^>]*>", " ", clients).split())
    chosen = "dispatch-role-split+keep-thinking+wrapped"
    assert f"{chosen} is compared as the first of them." in words
    assert "the same exact+keep-thinking+wrapped : equal to it in every conversation here." in words
    other = "dispatch-role-split+keep-thinking+omitted"
    assert f"same numbers {other} , exact+keep-thinking+omitted differ from it in 1 conversation: hello ." in words
    (href,) = re.findall(r'href="(/conversations/\w+/diff/[^"]*)"', clients)
    assert client.get(href).status_code == 200 and f"reader={other.replace('+', '%2B')}" in href
    assert "is compared as the first" not in client.get(f"/whatif/?{EXACT}").content.decode(), "a person chose it"


def test_the_page_begins_with_the_best_reader_that_was_proposed(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = client.get("/whatif/").content.decode()
    assert "dispatch-role-split+keep-thinking+wrapped instead of dispatch-legacy: pass 2 → 4" in text
    assert "no released client reads like this" not in text, "exact can be chosen, and nobody can ship it"
    assert client.get("/whatif.json").json()["reader_b"] == "dispatch-role-split+keep-thinking+wrapped"
    assert client.get(f"/whatif.json?{EXACT}").json()["reader_b"] == "exact"


def test_what_was_not_read_whole_is_no_failure_and_is_repaired_by_nobody(client: Client, tmp_path: Path) -> None:
    import_targets([str(cc.write(tmp_path, {f"{cc.PROJECT}/{cc.ID}.jsonl": DEEP}))], "tester")
    text = client.get("/whatif/?reader=claude-code&reader=claude-code-1").content.decode()
    assert "claude-code-1 instead of claude-code: not known 1 → 1</h1>" in text and "Repair it for" not in text
    assert _cells(text, '<tr class="chosen">(.*?)</tr>')[0] == "claude-code-1 older 0 0 0 0 0 0 0 1"
    shown = client.get("/whatif.json?reader=claude-code&reader=claude-code-1&show=not_known").json()
    assert [row["next_request"]["a"] for row in shown["differences"]] == ["not_known"]


def test_a_rejected_row_leads_to_its_place_in_the_request(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = html.unescape(client.get(f"/whatif/?{EXACT}&show=rejected_not_silent").content.decode())
    (place,) = re.findall(r'href="(/conversations/\w+/prompt/\?reader=exact[^"]*)#messages.1"', text)
    assert 'id="messages.1' in client.get(place).content.decode()
    (repair,) = re.findall(r'href="(/conversations/\w+/repairs/new/[^"]+)"', text)
    assert "exact" in repair and client.get(repair).status_code == 200


def test_a_row_leads_to_the_two_readings_side_by_side(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = html.unescape(client.get("/whatif/?reader=dispatch-legacy&reader=exact%2Bkeep-thinking").content.decode())
    places = re.findall(r'href="(/conversations/\w+/diff/[^"]*)">side by side', text)
    assert len(places) == 3
    assert "<h1> exact+keep-thinking instead of dispatch-legacy: " in " ".join(client.get(places[0]).content.decode().split())


def test_two_readings_side_by_side_have_both_verdicts_and_mark_what_is_rejected(client: Client, kept: Kept) -> None:
    kept("example", example)
    rows = html.unescape(client.get(f"/whatif/?{EXACT}&show=failing&profile=openai-chat").content.decode())
    hello, migration = sorted(
        (
            html.unescape(client.get(place).content.decode())
            for place in re.findall(r'href="(/conversations/\w+/diff/[^"]*)">side by side', rows)
        ),
        key=lambda text: "Run the migration" in text[: text.index("</title>")],
    )
    assert {"wrong silently, but passes all known rules", "OC-1 rejected at messages.1"} <= set(
        _cells(migration, '<div class="becomes">(.*?)</div>')
    )
    [rejected] = _cells(migration, '<td class="words-of rejected">(.*?)</td>')
    assert rejected.startswith("~ MSG 1 assistant tool-call run_shell") and "OC-1 An assistant message with 'tool_calls' must" in rejected
    assert "inserted by exact for the call at seq 2, not in the stored messages interrupted: tool execution did not complete" in " ".join(
        _cells(migration, "<tbody>(.*?)</tbody>")
    )
    assert [cell.removeprefix("~ ")[:70] for cell in _cells(migration, '<td class="words-of wrong">(.*?)</td>')] == [
        'MSG 0 user tool-call left out of the request run_shell {"command":"bun',
        "MSG 0 user read as part of the message before did it finish? the conne",
        "MSG 0 user sent under another role I cannot see a result of the migrat",
        "+ MSG 4 tool tool-result inserted by exact for the call at seq 2, not ",
    ], "an inserted result that does not help is no gain"
    why = "It does not help: it comes after seq 3-4, and OC-1 takes a result only right after its call, seq 2."
    assert f'<p class="caution">{why}</p>' in migration and "It helps" not in migration
    noted = set(_cells(migration, '<span class="caution">(.*?)</span>'))
    assert noted == {"wrong silently", "left out of the request", "read as part of the message before", "sent under another role"}, (
        "amber is what goes wrong"
    )
    facts = _cells(migration, '<div class="facts">(.*?)</div>')[0]
    assert facts.startswith("1 equal ~2 under another role +1 only right ~1 in another message goes wrong rejected Swap sides")
    assert _cells(migration, '<b class="differs">(.*?)</b>') == ["~2", "~1"], "the mark of what differs is next to its name"
    assert "the next request is rejected instead of wrong silently </h1>" in " ".join(migration.split())
    assert "load() as shipped: a new message where msgIdx differs" in migration
    assert '<a class="link" href="#by-neither">read by neither</a>' in hello and 'id="by-neither"' in hello
    assert "Read by neither: seq 14 dropped by reconcile" in " ".join(_cells(hello, "</table>(.*?)<footer"))
    assert 'href="/whatif/?reader=dispatch-legacy&reader=exact&profile=openai-chat&show=failing">What if' in migration


def _cells(text: str, pattern: str) -> list[str]:
    return [" ".join(re.sub(r"<[^>]+>", " ", cell).replace(" ,", ",").split()) for cell in re.findall(pattern, text, re.DOTALL)]


def test_what_does_not_pass_or_stays_merged_has_a_link_to_its_repair(client: Client, kept: Kept) -> None:
    kept("example", example)
    counts = {
        reader: client.get(f"/whatif/?reader=dispatch-legacy&reader={quote(reader)}").content.decode().count("Repair it for")
        for reader in ("exact", "exact+keep-thinking+wrapped", "dispatch-global-index")
    }
    assert counts == {"exact": 2, "exact+keep-thinking+wrapped": 2, "dispatch-global-index": 3}


def test_the_chosen_profile_is_that_of_the_pages_that_a_row_leads_to(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = html.unescape(client.get(f"/whatif/?{EXACT}&profile=gemini").content.decode())
    rows = text[text.index("differences") :]
    assert "/?reader=exact&profile=gemini" in rows and '/?reader=exact"' not in rows


@pytest.mark.parametrize(
    ("show", "count"),
    [
        ("worse", 1),
        ("only_better", 0),
        ("mixed", 0),
        ("only_worse", 0),
        ("neither", 0),
        ("rejected_not_silent", 1),
        ("newly_rejected", 0),
        ("newly_silent", 0),
        ("failing", 2),
        ("silent_not_rejected", 1),
        ("newly_passes", 1),
        ("sendable", 1),
        ("rejected", 0),
        ("merged", 0),
        ("same", 2),
        ("still_silent", 1),
        ("all", 3),
        ("nonsense", 3),
    ],
)
def test_the_rows_can_be_chosen(client: Client, kept: Kept, show: str, count: int) -> None:
    kept("example", example)
    assert len(client.get(f"/whatif.json?{EXACT}&show={show}").json()["differences"]) == count
    assert client.get(f"/whatif/?{EXACT}&show={show}").status_code == 200


def test_what_stays_merged_is_listed_though_it_reads_the_same(client: Client, kept: Kept) -> None:
    kept("example", example)
    found = client.get("/whatif.json?reader=dispatch-legacy&reader=dispatch-global-index").json()
    assert found["differ"]["count"] == 0 and len(found["differences"]) == 3
    assert all(each["still_merged"] for each in found["differences"])


def test_rows_come_in_pages_and_the_queries_do_not_grow(client: Client, tmp_path: Path, django_assert_max_num_queries: MaxQueries) -> None:
    many(tmp_path / "a.db", 70)
    page = client.get(f"/whatif/?{EXACT}").content.decode()
    assert "Of the 50 conversations last active, of 70." in page and '<option value="200">200 newest' in page
    address = f"/whatif.json?{EXACT}&of=200"
    first, second = client.get(address).json(), client.get(f"{address}&page=2").json()
    assert (first["pages"], len(first["differences"]), len(second["differences"])) == (2, 25, 10)
    assert not {each["id"] for each in first["differences"]} & {each["id"] for each in second["differences"]}
    assert "reader=dispatch-legacy&amp;reader=exact&amp;of=200&amp;page=2" in client.get(f"/whatif/?{EXACT}&of=200").content.decode()
    # What was compared is kept by content; only the rows of the page are read again.
    with django_assert_max_num_queries(9 * 25):
        client.get(address)


def test_a_store_that_changed_is_compared_anew(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    assert client.get(f"/whatif.json?{EXACT}").json()["differ"]["count"] == 1
    path.unlink()
    write_dispatch_store(path, rows("one", HEALTHY))
    import_targets([str(path)], "tester")
    assert client.get(f"/whatif.json?{EXACT}").json()["differ"]["count"] == 0


@pytest.fixture
def programs(db: None, kept: Kept) -> None:
    """Conversations of five programs, and two bodies of requests."""
    kept("programs", of_programs)


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("reader", "counts"),
    [
        ("dispatch-legacy", {"silent": 2, "rejected": 2}),
        ("openclaw-2026.9", {"silent": 1, "rejected": 0}),
        ("pi-1.5", {"silent": 2, "rejected": 0}),
    ],
)
def test_with_what_runs_now_as_many_next_requests_fail_as_conversations_say(client: Client, reader: str, counts: dict[str, int]) -> None:
    """A tree too: its request passes all known rules, and has a synthetic result for the real one on another branch."""
    states = client.get(f"/whatif.json?reader={reader}").json()["states"]
    own = Counter(row.next_request[0] for row in Conversation.objects.filter(source__reader=reader))
    assert {state: states[state]["a"] for state in counts} == counts == {state: own[state] for state in counts}


@pytest.mark.usefixtures("programs")
def test_a_call_that_was_not_run_is_said_of_what_passes(client: Client) -> None:
    """Its page says so, and the comparison called it better than now."""
    page = client.get("/whatif/", {"reader": ["dispatch-legacy", "dispatch-role-split+keep-thinking+wrapped"]}).content.decode()
    cells = [cell.split() for cell in _cells(page, r'<td class="request">(.*?)</td>')]
    assert (
        sum(" ".join(cell).endswith("then passes, but call not run better than now Repair it for what might ship") for cell in cells) == 1
    ), [" ".join(cell) for cell in cells]


@pytest.mark.usefixtures("programs")
def test_programs_of_the_demo_stay_after_ones_own_and_say_so(client: Client) -> None:
    def offered() -> list[str]:
        text = client.get("/whatif/").content.decode()
        return _cells(text[text.index('aria-label="Programs"') : text.index("<h1>")], r'<a class="chip[^>]*>(.*?)</a>')

    assert offered() == ["dispatch", "gbrain-export", "openclaw", "pi", "rollouts"]
    Source.objects.update(is_demo=True)
    assert offered() == ["dispatch", "gbrain-export", "openclaw", "pi", "rollouts"], "alone it is as any other"
    Source.objects.filter(format="rollouts").update(is_demo=False)
    assert offered() == ["rollouts", "dispatch demo", "gbrain-export demo", "openclaw demo", "pi demo"]
    assert client.get("/whatif.json").json()["reader_a"] == "rollouts", "one's own comes first"
    compared = client.get("/whatif.json?reader=dispatch-legacy&reader=exact").json()
    assert (compared["conversations"], compared["counted"], compared["total"]) == (6, 6, 6), "of the demo, which alone has them"


def test_ones_own_session_is_compared_with_a_release(client: Client, tmp_path: Path) -> None:
    session = cc.lines(cc.u("u1", None, "List the files"), cc.a("a1", "u1", "m1", cc.text("done")))
    import_targets([str(cc.write(tmp_path, {f"{cc.PROJECT}/{cc.ID}.jsonl": session}))], "tester")
    compared = client.get("/whatif.json").json()
    assert (compared["reader_a"], compared["reader_b"], compared["standing"]) == ("claude-code", "claude-code-2.1.126", "older")


def test_the_number_of_readers_says_of_what(client: Client, kept: Kept) -> None:
    kept("example", example)
    text = client.get(f"/whatif/?{EXACT}").content.decode()
    assert "24 combinations of a reader and proposed fixes, instead of dispatch-legacy" in " ".join(text.split())
    (menu,) = re.findall(r'id="choose-next">(.*?)</select>', text, re.DOTALL)
    counted, _, more = menu.partition('<optgroup label="more readers">')
    assert counted.count("<option") == 24 and ">dispatch-legacy+r1<" in more and ">exact<" not in more


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("name", "other", "counted"),
    [
        ("dispatch-legacy", "exact", 6),
        ("rollouts", "rollouts-before-cd8a0c9", 2),
        # Pi and OpenClaw share their readers: each has the sessions of its own sources.
        ("openclaw-2026.9", "openclaw-pr3565", 4),
        ("pi-1.5", "verbatim", 2),
        ("openclaw-2026.7", "openclaw-2026.9", 6),
        ("gbrain-head", "gbrain-pr1934", len(gbrain_incident.DEMO_JOBS)),
    ],
)
def test_readers_are_compared_on_the_conversations_of_their_own_program(client: Client, name: str, other: str, counted: int) -> None:
    found = client.get(f"/whatif.json?reader={name}&reader={other}").json()
    assert (found["conversations"], found["counted"], found["total"]) == (counted, counted, counted)
    offered = {each["reader_b"] for each in found["readers"]}
    assert {name, other} <= offered
    text = client.get(f"/whatif/?reader={name}&reader={other}").content.decode()
    assert f"{other} instead of {name}: " in text
    for each in offered:
        assert client.get("/whatif/", {"reader": [name, each]}).status_code == 200, each


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("now", "other"),
    [
        ("dispatch-legacy", "dispatch-role-split+keep-thinking+wrapped"),
        # What shipped after it is better than what was proposed.
        ("gbrain-naive", "gbrain-head"),
        ("openclaw-2026.7", "openclaw-2026.9"),
        # The one that was proposed for it was never merged.
        ("openclaw-2026.9", "openclaw-2026.7"),
        ("claude-code", "claude-code-2.1.126"),
    ],
)
def test_a_reader_is_compared_with_the_best_that_came_after_it_or_was_proposed(client: Client, now: str, other: str) -> None:
    assert client.get(f"/whatif.json?reader={now}").json()["reader_b"] == other


def _answer(client: Client, now: str, other: str) -> str:
    """The words from the heading to the list of conversations."""
    text = client.get("/whatif/", {"reader": [now, other]}).content.decode()
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text[text.index("<h1>") :])).split()).partition("Conversation by conversation")[0]


@pytest.mark.usefixtures("programs")
def test_each_conversation_is_compared_with_what_reads_its_own_source_now(client: Client) -> None:
    """Of two programs with the same readers, sessions of the one were counted as read by what runs for the other."""
    answer = _answer(client, "openclaw-2026.9", "openclaw-2026.7")
    assert "What runs now: openclaw-2026.9 (4), pi-1.5 (2). Each is compared on the conversations of its own sources." in answer
    supposed = _answer(client, "openclaw-2026.7", "openclaw-2026.9")
    assert "No source is read by openclaw-2026.7: here it is supposed to run. What runs now: openclaw-2026.9 (4), pi-1.5 (2)" in supposed
    assert "What runs now" not in _answer(client, "dispatch-legacy", "exact"), "all are read by it"
    Source.objects.filter(format="pi").update(reader="openclaw-2026.9")
    assert client.get("/whatif.json?reader=openclaw-2026.9").json()["conversations"] == 6
    assert "What runs now" not in _answer(client, "openclaw-2026.9", "openclaw-2026.7")


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("name", "now"), [("pi", "pi-1.5"), ("openclaw", "openclaw-2026.9"), ("rollouts", "rollouts"), ("", "dispatch-legacy")]
)
def test_a_program_can_be_named_in_the_address(client: Client, name: str, now: str) -> None:
    assert client.get("/whatif.json", {"program": name}).json()["reader_a"] == now
    unknown = client.get("/whatif/?program=fortran")
    assert unknown.status_code == 404 and "There is no format" in unknown.content.decode()


@pytest.mark.usefixtures("programs")
def test_what_gains_nothing_is_said_before_what_to_read(client: Client) -> None:
    nothing = "It gains nothing: no next request newly passes. Next: read the"
    assert nothing in _answer(client, "openclaw-2026.9", "verbatim")
    assert "It gains nothing" not in _answer(client, "rollouts-before-cd8a0c9", "rollouts")


@pytest.mark.usefixtures("programs")
def test_what_gets_worse_is_in_the_headline_in_a_column_and_first_in_the_list(client: Client) -> None:
    answer = _answer(client, "openclaw-2026.9", "openclaw-2026.7")
    losses = "1 newly goes wrong silently, 13 messages read become 3"
    assert answer.startswith(f"openclaw-2026.7 instead of openclaw-2026.9: {losses}; pass 3 → 2, wrong silently 1 → 2 What")
    assert "reader newly pass newly rejected newly wrong silently something worse pass" in answer
    assert "openclaw-2026.7 older 0 0 1 1 2 2 0" in answer
    compared = client.get("/whatif.json?reader=openclaw-2026.9&reader=openclaw-2026.7").json()
    assert compared["shrunk"] == {"a": 13, "b": 3}
    # No source is read by this one: it is supposed to run for both programs.
    compared = client.get("/whatif.json?reader=openclaw-2026.9%2Bsent&reader=openclaw-2026.7").json()
    rows = [row["messages_read"] for row in compared["differences"]]
    assert rows[:3] == [{"a": 13, "b": 3}, {"a": 5, "b": 2}, {"a": 8, "b": 5}], "what loses most is first"
    assert "1 newly goes wrong silently; pass 1 → 0" in _answer(client, "rollouts", "rollouts-before-cd8a0c9+filter")
    gains = _answer(client, "openclaw-2026.7", "openclaw-2026.9")
    assert gains.startswith("openclaw-2026.9 instead of openclaw-2026.7: pass 2 → 3"), "nothing gets worse"


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("now", "other", "standing", "sentence"),
    [
        (
            "openclaw-2026.9",
            "openclaw-2026.7",
            "older",
            "Older than what runs now: do not go back. Next: read the 1 that changes and does not pass .",
        ),
        (
            "gbrain-head",
            "gbrain-naive",
            "older",
            "Older than what runs now: do not go back. Next: read the 4 that change and do not pass .",
        ),
        ("rollouts", "rollouts-before-cd8a0c9", "older", "Older than what runs now: do not go back."),
        ("rollouts-before-cd8a0c9+filter", "rollouts-before-cd8a0c9", "older", "going back makes 1 fail differently."),
        ("pi-0.69", "pi-0.68", "older", "read the same"),
        ("claude-code-2.1.92", "claude-code", "newer", "claude-code"),
        ("gbrain-naive", "gbrain-head", "newer", "Nothing is worse than now, but a retry would run a tool first in 1"),
        ("gbrain-naive", "gbrain-pr1934", "proposed", "and repair them before it ships."),
        ("dispatch-legacy", "dispatch-legacy+keep-thinking", "proposed", "is read worse"),
        ("openclaw-2026.9", "openclaw-pr3565", "withdrawn", "never shipped"),
        ("openclaw-2026.9", "pi-1.5", "compared", "pi-1.5 compared"),
        ("dispatch-legacy", "exact", "compared", "exact compared"),
    ],
)
def test_only_what_was_proposed_might_ship_and_nobody_is_sent_back(
    client: Client, now: str, other: str, standing: str, sentence: str
) -> None:
    assert client.get("/whatif.json", {"reader": [now, other]}).json()["standing"] == standing
    answer = _answer(client, now, other)
    assert sentence in answer and (f"{other} might ship" in answer) == (standing == "proposed")
    text = client.get("/whatif/", {"reader": [now, other]}).content.decode()
    assert ("do not go back" in text) <= (standing == "older") and (standing != "older" or "Repair it for" not in text)


@pytest.mark.usefixtures("programs")
def test_what_a_reader_inserts_is_said_in_words(client: Client) -> None:
    def rows(now: str, other: str) -> str:
        return html.unescape(re.sub(r"<[^>]+>", "", client.get("/whatif/", {"reader": [now, other]}).content.decode()))

    healed = rows("gbrain-naive", "gbrain-head")
    assert "now no result here, then one is inserted: send_mail" in healed and healed.count("then one is inserted") == 4
    assert "now a result is inserted here, then none: [interrupted" in rows("rollouts", "rollouts-before-cd8a0c9")


@pytest.mark.slow
@pytest.mark.usefixtures("programs")
def test_every_link_of_the_page_shows_a_conversation_as_that_client_has_it(client: Client) -> None:
    text = html.unescape(client.get("/whatif/?reader=dispatch-legacy&reader=exact%2Bkeep-thinking%2Bwrapped").content.decode())
    links = set(re.findall(r'href="(/conversations/[^"]+)"', text))
    (then, *_) = sorted(link for link in links if "reader=exact%2Bkeep-thinking&as=dispatch-openai%2Bwrapped" in link)
    page = client.get(then).content.decode()
    assert "<option selected>exact+keep-thinking</option>" in page and "<option selected>dispatch-openai+wrapped</option>" in page
    assert all(client.get(link).status_code == 200 for link in links)
    chosen = set(re.findall(r'href="(\?reader=[^"]+)"', text))
    assert {"?reader=gbrain-naive", "?reader=rollouts"} <= chosen and all(
        client.get(f"/whatif/{link}").status_code == 200 for link in chosen
    )


@pytest.mark.usefixtures("programs")
def test_readers_of_two_programs_are_refused_with_a_sentence(client: Client) -> None:
    answer = client.get("/whatif/?reader=dispatch-legacy&reader=pi-1.5")
    assert answer.status_code == 404 and "dispatch-legacy and pi-1.5 are readers of different programs" in answer.content.decode()
    row = Conversation.objects.filter(source__format="rollouts").first()
    assert row is not None
    for address in (f"/conversations/{row.oid}/", f"/conversations/{row.oid}.json", f"/conversations/{row.oid}/prompt/"):
        answer = client.get(address, {"reader": "gbrain-naive"})
        assert (
            answer.status_code == 404 and "The reader gbrain-naive does not read rollouts: name one of rollouts," in answer.content.decode()
        )


@pytest.mark.parametrize("query", ["reader=nobody", "reader=exact&reader=no<b>", "profile=nobody"])
def test_an_unknown_name_is_a_page_that_says_so(client: Client, query: str) -> None:
    answer = client.get(f"/whatif/?{query}")
    assert answer.status_code == 404 and "There is no" in answer.content.decode() and "no<b>" not in answer.content.decode()


def test_a_hostile_title_is_shown_and_not_run(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows('<img src=x onerror="x">', MERGED, "<script>alert(1)</script>\u202e\ud800"))
    text = client.get(f"/whatif/?{EXACT}").content.decode()
    assert "<script>alert" not in text and "<img src=x" not in text and "\\u202e\\ud800" in text


def test_the_pages_of_diagnosis_lead_there(client: Client) -> None:
    for address in ("/diagnose/", "/explain/"):
        assert 'href="/whatif/"' in client.get(address).content.decode()


def test_equal_findings_are_counted_and_not_repeated(client: Client, tmp_path: Path) -> None:
    call = {"type": "tool-call", "toolCallId": "a", "toolName": "ls", "input": {}}
    turn = [
        {"chunk": {"type": "text", "text": "go"}, "role": "user", "msgIdx": 0, "chunkIdx": 0},
        {"chunk": call, "role": "assistant", "msgIdx": 0, "chunkIdx": 0},
        *(
            {"chunk": {**call, "type": "tool-result", "content": "x", "isError": False}, "role": "tool", "msgIdx": 1, "chunkIdx": 0},
            {"chunk": {"type": "text", "text": "done"}, "role": "assistant", "msgIdx": 0, "chunkIdx": 0},
        ),
    ]
    store(tmp_path / "a.db", rows("one", turn * 3, "One"))
    text = client.get(f"/whatif/?{EXACT}").content.decode()
    assert text.count("gone: MSG102") == 1 and "gone: MSG102 ×" in text


def test_the_navigation_leads_there(client: Client) -> None:
    assert '<a href="/whatif/" aria-current="page">What if</a>' in client.get("/whatif/").content.decode()


def _place(page: str) -> tuple[str, list[tuple[str, str]]]:
    """The words of the place in the list, and what the links there lead to."""
    [nav] = re.findall(r'<nav class="step" aria-label="Conversations of What if">(.*?)</nav>', page, re.DOTALL) or [""]
    return " ".join(re.sub(r"<[^>]+>", " ", nav).split()), re.findall(r'rel="(\w+)".*?href="([^"]+)"', html.unescape(nav), re.DOTALL)


def test_side_by_side_leads_through_the_list_of_what_if_in_its_order(client: Client, kept: Kept) -> None:
    kept("example", example)
    rows = html.unescape(client.get(f"/whatif/?{EXACT}").content.decode())
    first, second, third = re.findall(r'href="(/conversations/\w+/diff/[^"]*)">side by side', rows)
    assert _place(client.get(first).content.decode()) == ("1 of 3 next n", [("next", second)])
    assert _place(client.get(second).content.decode()) == ("previous p 2 of 3 next n", [("prev", first), ("next", third)])
    assert _place(client.get(third).content.decode()) == ("previous p 3 of 3", [("prev", second)])
    failing = f"{third}&show=failing"
    assert _place(client.get(failing).content.decode())[0] == "", "it is none of the chosen rows"
    assert _place(client.get(f"{second}&show=failing").content.decode()) == ("previous p 2 of 2", [("prev", f"{first}&show=failing")])
    same = Conversation.objects.get(native_id__startswith="7c0d3f5e")
    assert _place(client.get(f"/conversations/{same.oid}/diff/?{EXACT}").content.decode())[0] == "", "read the same by both"


def test_side_by_side_follows_a_list_that_changes(client: Client, kept: Kept) -> None:
    kept("example", example)
    rows = html.unescape(client.get(f"/whatif/?{EXACT}").content.decode())
    first, second, _ = re.findall(r'href="(/conversations/\w+/diff/[^"]*)">side by side', rows)
    answer = client.get(second)
    assert client.get(second, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    Conversation.objects.filter(oid=first.split("/")[2]).update(is_gone=True)
    again = client.get(second, headers={"If-None-Match": answer["ETag"]})
    assert again.status_code == 200 and _place(again.content.decode())[0] == "1 of 2 next n"


def test_side_by_side_reads_no_large_store_to_say_where_it_is(client: Client, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept("example", example)
    row = Conversation.objects.get(native_id=INCIDENT)
    monkeypatch.setattr(comparing, "_DIFFERENCES", {})
    monkeypatch.setattr(whatif, "MOST_READ", 40)
    assert _place(client.get(f"/conversations/{row.oid}/diff/?{EXACT}").content.decode())[0] == ""
    client.get(f"/whatif/?{EXACT}")
    assert _place(client.get(f"/conversations/{row.oid}/diff/?{EXACT}").content.decode())[0] == "previous p 2 of 3 next n", "kept since"
