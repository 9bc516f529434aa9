"""The tree on the page of a session: choosing a leaf by its address, what is lost, and ids and texts that are hostile."""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.models import Conversation
from tests.commands.running import run
from tests.programs.pi_openclaw.session_files import a, call, entry, header, lines, r, text, u

pytestmark = pytest.mark.django_db
Get = Callable[..., str]
BRANCH = (
    header(),
    u("u1", None, "fix the deploy"),
    a("a1", "u1", call("c1")),
    r("r1", "a1", "c1", "refused"),
    u("u2", "a1", "still there?"),
)


@pytest.fixture
def get(client: Client) -> Get:
    def page(conversation: Conversation, query: str = "", ending: str = "/", status: int = 200, **data: str) -> str:
        answer = client.get(f"/conversations/{conversation.oid}{ending}{query}", data or None)
        assert answer.status_code == status
        return answer.content.decode()

    return page


def session(tmp_path: Path, *values: Any) -> Conversation:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(*values))
    (imported,) = import_targets([str(path)], "tester")
    return imported.source.conversations.get()


def rows(page: str) -> list[tuple[str, str]]:
    """State and id of each row of the tree."""
    found = re.findall(r'<tr id="tree-\d+".*?<td class="state">(.*?)</td>.*?class="id"[^>]*>(.*?)</', page, re.DOTALL)
    return [(state, id_) for state, id_ in found]


def seqs(page: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'<tr id="seq-(\d+)"', page)]


def test_the_page_shows_the_path_the_branch_and_where_the_result_is(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, *BRANCH))
    assert "3 of 4 entries, 75 %, on the path of pi-1.5" in page
    assert rows(page) == [("live", "u1"), ("live", "a1"), ("other branch", "r1"), ("live", "u2")]
    assert "it is on another branch, line 4" in page


def offshoots(page: str) -> list[tuple[str, str, str]]:
    """(seq of the row before it, first address, words) of each row that is no chunk of the path."""
    rows, seq = [], ""
    for number, row in re.findall(r'<tr id="seq-(\d+)"|<tr class="offshoot(.*?)</tr>', page, re.DOTALL):
        address = re.search(r'href="([^"]*)"', row)
        cells = re.findall(r'<td class="(?:seq|idx|who|stored|read|sent)">(.*?)</td>', row, re.DOTALL)
        words = re.sub(r"<[^>]*>", " ", " ".join(cells))
        rows += [] if number else [(seq, unescape(address[1]) if address else "", " ".join(unescape(words).split()))]
        seq = number or seq
    return rows


def test_the_row_where_a_branch_leaves_the_path_names_it_and_leads_to_it(get: Get, tmp_path: Path) -> None:
    conversation = session(tmp_path, *BRANCH, u("u3", "r1", "<b>retry</b>"), u("u4", "u2", "hello?"))
    page = get(conversation, "?reader=pi-0.68&at=1")
    assert offshoots(page) == [
        ("2", "?reader=pi-0.68&leaf=u3&at=3#seq-3", "3 4 result other branch, 2 entries bash: refused ← call 2 not read not sent"),
        ("2", "?reader=pi-0.68&leaf=u3&at=5#seq-5", "5 6 user <b>retry</b> leaf read this branch not read not sent"),
    ]
    assert "<summary>Tree: 2/6 entries off path</summary>" in page
    assert re.findall(r'href="([^"]*)"[^>]*>read this branch<', page) == ["?reader=pi-0.68&amp;leaf=u3"]
    other = get(conversation, "?leaf=u3")
    assert 'id="seq-3"' in other and 'id="seq-5"' in other, "the rows that the numbers lead to"
    assert [words for _, _, words in offshoots(other)] == [
        "4 5 user other branch, 2 entries still there? not read not sent",
        "6 7 user hello? leaf read this branch not read not sent",
    ]
    assert offshoots(get(session(tmp_path, header(), u("u1", None, "alone"), a("a1", "u1", text("yes"))))) == []


def test_the_repair_of_a_branch_lists_what_is_found_on_that_branch(client: Client, tmp_path: Path) -> None:
    conversation = session(tmp_path, *BRANCH)
    live, branch = (client.get(f"/conversations/{conversation.oid}/repairs/new/{query}").content.decode() for query in ("", "?leaf=r1"))
    assert ", and what repairs it</legend>" in live and ">TREE106</a>" in live
    assert "TREE106</a>" not in branch


def test_branches_that_leave_the_path_at_one_entry_have_three_rows_and_a_link_to_the_tree(get: Get, tmp_path: Path) -> None:
    retries = (u(f"u{number}", "u1", f"retry {number}") for number in range(2, 7))
    page = get(session(tmp_path, header(), u("u1", None, "go"), *retries, a("a1", "u1", text("done"))))
    assert [(seq, words) for seq, _, words in offshoots(page)] == [
        *(("1", f"{number} {number + 1} user other branch retry {number} leaf read this branch not read not sent") for number in (2, 3, 4)),
        ("1", "+2 other branches not read not sent"),
    ]


def test_branches_of_a_leaf_that_was_chosen_come_after_it(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, *BRANCH), leaf="a1")
    assert [(seq, words) for seq, _, words in offshoots(page)] == [
        ("2", "3 4 result other branch bash: refused leaf ← call 2 read this branch not read not sent"),
        ("2", "4 5 user other branch still there? leaf read this branch not read not sent"),
    ]
    assert "chosen leaf" in page


def test_a_message_of_several_entries_spans_the_branch_between_them(get: Get, tmp_path: Path) -> None:
    values = (header(), u("u1", None, "one"), u("u2", "u1", "left"), u("u3", "u1", "two"), a("a1", "u3", text("yes")))
    page = get(session(tmp_path, *values), "?as=anthropic")
    ((seq, _, words),) = offshoots(page)
    assert (seq, words) == ("1", "2 3 user other branch left leaf read this branch not read"), "what is sent goes on"
    assert re.search(r'<tr id="seq-1".*?<td class="sent" rowspan="3">', page, re.DOTALL)


def test_a_synthetic_result_and_the_words_after_it_are_one_message_of_the_request(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, *BRANCH), "?as=anthropic")
    assert re.findall(r"<b>(messages\.\d+)[^<]*</b>( <span class=\"quiet\">continued</span>)?", page)[-2:] == [
        ("messages.2", ""),
        ("messages.2", ' <span class="quiet">continued</span>'),
    ]


def test_a_tree_names_its_damage_where_others_count_what_is_read(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, *BRANCH))
    (sentence,) = re.findall(r'<p class="verdict">(.*?)</p>', page, re.DOTALL)
    assert "has no result on the path; its real one is at" in sentence and "are read" not in sentence
    assert sentence.endswith("at seq 3, on another branch. The model gets a synthetic one instead."), "without the ids of entries"
    assert 'href="#tree-2"' in page
    assert re.search(r"3 messages in 3/4\s+chunks on this path", page)
    assert seqs(page) == [1, 2, 4]
    assert "no result stored" not in page


def test_a_call_its_result_on_another_branch_and_what_was_read_instead_lead_to_each_other(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, *BRANCH))
    call_row, result_row, synthetic_row = re.findall(r'<tr (?:id="seq-2"|class="(?:offshoot|synthetic)).*?</tr>', page, re.DOTALL)
    (address,) = re.findall(r'href="#(branch-\d+)"[^>]*>→ 3</a> <span class="badge severity error">other branch<', call_row)
    assert f'id="{address}"' in result_row
    assert all('href="#seq-2">← call 2</a>' in row for row in (result_row, synthetic_row))


def test_a_request_that_passes_without_the_real_result_is_no_good_request(get: Get, tmp_path: Path) -> None:
    """Neither on its page nor in the list: the model is given an error that did not happen."""
    conversation = session(tmp_path, *BRANCH[:2], a("meant", "u1", text("an answer that was tried again")), *BRANCH[2:])
    page = get(conversation)
    assert re.findall(r'class="chip severity warning" href="([^"]*)"(?: title="[^"]*")?><b>Sent</b> (.*?)</a>', page) == [
        ("?at=3#seq-3", "wrong silently: without seq 4")
    ]
    assert conversation.next_request == ["silent", "wrong silently", "without seq 4"]
    assert "<b>Sent</b> passes all known rules" in get(conversation, "?leaf=meant")


def test_a_leaf_is_chosen_by_its_address_and_the_timeline_follows(get: Get, tmp_path: Path) -> None:
    found = session(tmp_path, *BRANCH)
    (address,) = re.findall(r'class="id" href="(\?leaf=r1[^"]*)"', get(found))
    page = get(found, unescape(address))
    assert seqs(page) == [1, 2, 3]
    assert re.search(r'Path to your leaf <b class="mono">r1</b>', page)
    assert rows(page)[0] == ("chosen", "u1") and ("chosen", "r1") in rows(page), "and not the live one"
    # Other choices on the page keep it, and there is a way back.
    assert '<input type="hidden" name="leaf" value="r1">' in page
    assert re.search(r'href="\?[^"]*">Back to that of pi-1.5</a>', page)
    assert seqs(get(found)) == [1, 2, 4]


def test_an_unknown_leaf_says_so_and_shows_the_readers_path(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, *BRANCH), leaf="gone")
    assert "No entry of this content is called" in page
    assert seqs(page) == [1, 2, 4]


def test_the_row_of_a_chunk_is_that_of_the_file_and_not_of_the_path(get: Get, tmp_path: Path) -> None:
    found = session(tmp_path, *BRANCH)
    (address,) = re.findall(r'<tr id="seq-4".*?href="/conversations/\w+(/chunks/\d+/)', get(found), re.DOTALL)
    assert "still there?" in get(found, ending=address)


def test_lost_turns_are_named_and_can_be_read(get: Get, tmp_path: Path) -> None:
    torn = json.dumps(u("u2", "a1")).encode()[:80]
    page = get(session(tmp_path, header(), u("u1", None), a("a1", "u1", text("ok")), torn, u("u3", "u2")))
    assert rows(page) == [("lost", "u1"), ("lost", "a1"), ("not read", "line 4"), ("live", "u3")]
    assert offshoots(page) == [
        ("", "#tree", "2 entries lost above this cut"),
        ("", "", "1 2 user lost go not read not sent"),
        ("", "?leaf=a1&at=2#seq-2", "2 3 assistant lost ok read the path to it not read not sent"),
        ("", "", f"3 4 torn no program reads it {torn.decode()} not read not sent"),
    ], "down to the line that cuts them off"
    assert "<b>Stored</b> 1 on the path, damaged" in page and re.search(r'href="[^"]*#seq-3"><b>Stored', page) and 'id="seq-3"' in page
    assert re.search(r'href="\?leaf=a1">Read the path to the last of them</a>', page)
    assert "The readers differ" in page


def test_a_chosen_path_lacks_nothing_of_what_comes_after_it(get: Get, tmp_path: Path) -> None:
    """The torn line and what hangs below it are no loss of the path above it: "without seq 4" was said of a path that ends at 2."""
    torn = json.dumps(u("u2", "a1")).encode()[:80]
    control = {"type": "model_change", "id": "m1", "parentId": None, "timestamp": "2026-01-01T00:00:00Z", "provider": "p", "modelId": "m"}
    found = session(tmp_path, header(), control, u("u1", "m1"), a("a1", "u1", text("ok")), torn, u("u3", "u2"))
    assert "<b>Sent</b> content lost" in get(found) and "wrong silently: content lost" in get(found, ending="/prompt/")
    chosen = get(found, "?leaf=a1")
    assert re.findall(r"<b>Sent</b> ([^<]*)", chosen)[0] == "passes all known rules" and "<b>Read</b> all 2" in chosen
    prompt = " ".join(get(found, ending="/prompt/", leaf="a1").split())
    assert "anthropic-2026-07: passes all known rules" in re.sub("<[^>]+>", "", prompt) and "nothing of it is sent" not in prompt, (
        "a change of the model is no message"
    )
    assert "Nothing of this path" in prompt and "every chunk is in the prompt" not in prompt


def test_a_chosen_path_folds_the_tree_and_says_what_is_found_elsewhere(get: Get, tmp_path: Path) -> None:
    torn = json.dumps(u("u2", "a1")).encode()[:80]
    found = session(tmp_path, header(), u("u1", None), a("a1", "u1", text("ok")), torn, u("u3", "u2"), u("u4", "u3"), u("u5", "u4"))
    chosen, below = get(found, "?leaf=a1"), get(found, "?leaf=u5")
    assert '<details class="fold"><summary>Tree: 3/5 entries off path</summary>' in chosen
    assert '<details class="fold"><summary>Tree: 2/5 entries off path</summary>' in below
    assert "not on this path" not in get(found) and "not on this path" not in below, "the torn line cuts this path"
    findings = chosen.replace("The damage of this file is not on this path; 2 of 5 message chunks are read, 3 are not on this path", "")
    assert findings != chosen and findings.count("not on this path") == 3, "the selected finding, and both in the list of all"
    assert 'whose next request is: <b class="caution">content lost</b>' in chosen and "whose next request is" not in get(found)
    assert "<b>Stored</b> 2</span>" in chosen, "nothing of it is damaged"


def test_the_prompt_of_a_cut_path_names_the_cause_the_effect_and_what_is_lost(get: Get, tmp_path: Path) -> None:
    control = {"type": "model_change", "id": "m1", "parentId": None, "timestamp": "2026-01-01T00:00:00Z", "provider": "p", "modelId": "m"}
    torn = json.dumps(u("u2", "a1")).encode()[:80]
    found = session(tmp_path, header(), control, u("u1", "m1"), a("a1", "u1", text("ok")), torn, u("u3", "u2"))
    page = get(found, ending="/prompt/")
    chain = shown(page.partition('<dl class="pairs chain">')[2].partition("</dl>")[0])
    assert re.match(
        r"Cause STORE501 The line at seq 4 is torn.* Effect TREE101 The entry 'u3' \(seq 5\).* Repair reparent-orphan-entry", chain
    )
    assert "Reader As it is, read by openclaw-2026.9" in chain
    whole = shown(get(found, "?reader=openclaw-2026.9", ending="/prompt/"))
    assert "Cause STORE501" in whole and "TREE101" not in whole, "this reader goes on: it lacks only the torn line"
    assert lost(page) == [
        ("1", "model change modelId m", "setting, not sent by design"),
        ("2", "user go", "above the cut at line 5"),
        ("3", "assistant ok", "above the cut at line 5"),
        ("4", f"torn {torn.decode()}", "no program reads it"),
    ]
    assert "Lost above: seq 2-4" in page, "a setting is no loss"
    (address, place) = re.findall(r'<a class="link" href="/conversations/\w+/(\?at=5)#(branch-\d+)">3<', page)[0]
    assert f'id="{place}"' in get(found, address)
    repaired = get(found, "?strategy=reparent-orphan-entry", ending="/prompt/")
    assert "back on the path" in repaired and "inserted" not in repaired.partition('<table class="prompt')[2]
    assert [seq for seq, _, _ in lost(repaired)] == ["4"] and "before: wrong silently: content lost" in shown(repaired)


def torn(name: str, parent: str) -> bytes:
    """A line that is cut off after its id and its parent."""
    return json.dumps(u(name, parent)).encode()[:80]


def cause_and_effect(page: str) -> list[tuple[str, ...]]:
    """Of the chain: word, rule and first seq of each."""
    chain = shown(page.partition('<dl class="pairs chain">')[2].partition("</dl>")[0])
    return re.findall(r"(Cause|Effect) (\w+) .*?seq (\d+)", chain)


def test_of_several_torn_lines_the_cause_is_the_one_directly_above_the_path(get: Get, tmp_path: Path) -> None:
    branches = (torn("x1", "u1"), u("x2", "x1"), u("b1", "u1"), torn("t1", "b1"), u("u2", "t1"), torn("t2", "u2"), u("u3", "t2"))
    page = get(session(tmp_path, header(), u("u1", None), *branches), ending="/prompt/")
    assert cause_and_effect(page) == [("Cause", "STORE501", "7"), ("Effect", "TREE101", "8")]
    assert [(seq, why) for seq, _, why in lost(page)] == [
        ("1", "above the cut at line 8"),
        ("2", "no program reads it"),
        ("4", "above the cut at line 8"),
        ("5", "no program reads it"),
        ("6", "above the cut at line 8"),
        ("7", "no program reads it"),
    ], "each torn line of the file, and nothing of the other branch that can be read"
    assert "Lost above: seq 1, 4-7" in page, "the line of the other branch is not above"


def test_a_line_of_nul_bytes_in_the_place_of_the_parent_is_the_cause(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, header(), u("u1", None), b"\0" * 80, u("u3", "u2")), ending="/prompt/")
    assert cause_and_effect(page) == [("Cause", "STORE503", "2"), ("Effect", "TREE101", "3")]
    assert lost(page) == [("1", "user go", "above the cut at line 3"), ("2", "nul", "no program reads it")]


def test_the_prompt_names_many_torn_lines_and_counts_the_others(get: Get, tmp_path: Path) -> None:
    def session_with(count: int) -> Conversation:
        between = [line for at in range(count) for line in (torn(f"t{at}", f"u{at}"), u(f"u{at + 1}", f"t{at}"))]
        return session(tmp_path, header(), u("u0", None), *between)

    nine = get(session_with(9), ending="/prompt/")
    assert [seq for seq, _, why in lost(nine) if why == "no program reads it"] == [str(seq) for seq in range(2, 20, 2)]
    assert "4 more above these, in the tree" in shown(nine), "of the entries that can be read the last five are shown"
    many = get(session_with(23), ending="/prompt/")
    assert "18 more above these, and 3 more lines that no program reads, in the tree" in shown(many)
    repaired = get(session_with(9), "?strategy=reparent-orphan-entry", ending="/prompt/")
    assert [why for _, _, why in lost(repaired)] == ["no program reads it"] * 9


@pytest.mark.parametrize(
    ("after", "query"),
    [
        ((torn("u2", "a1"),), ""),
        ((torn("u2", "a1"), u("u3", "u2"), u("b1", "a1")), ""),
        ((torn("u2", "a1"), u("u3", "u2")), "?reader=openclaw-2026.9"),
    ],
    ids=["the last line", "on another branch", "the reader goes on"],
)
def test_a_torn_line_that_cuts_nothing_off_is_lost_on_the_way(get: Get, tmp_path: Path, after: tuple[Any, ...], query: str) -> None:
    page = get(session(tmp_path, header(), u("u1", None), a("a1", "u1", text("ok")), *after), query, ending="/prompt/")
    assert "wrong silently: content lost" in shown(page) and cause_and_effect(page) == [("Cause", "STORE501", "3")]
    assert [(seq, why) for seq, _, why in lost(page)] == [("3", "no program reads it")]
    assert "Nothing of this path" not in page and "Lost above" not in page


def test_the_live_leaf_chosen_is_the_live_path(get: Get, tmp_path: Path) -> None:
    found = session(tmp_path, header(), u("u1", None), torn("u2", "u1"), u("u3", "u2"), u("u4", "u3"))
    for ending, sent in (("/", r"<b>Sent</b> ([^<]*)"), ("/prompt/", r"wrong silently: ([\w ]*)")):
        live, chosen = get(found, ending=ending), get(found, "?leaf=u4", ending=ending)
        assert re.findall(sent, live)[0].strip().startswith("content lost")
        assert re.findall(sent, chosen) == re.findall(sent, live) and "No entry of this content" not in chosen
    assert cause_and_effect(get(found, "?leaf=u4", ending="/prompt/")) == [("Cause", "STORE501", "2"), ("Effect", "TREE101", "3")]
    repair = shown(get(found, "?strategy=reparent-orphan-entry&leaf=u4", ending="/repairs/new/"))
    assert "Still wrong silently (content lost)" in repair, "what the torn line said is not there after it either"


def compacted_above_a_cut(tmp_path: Path) -> Conversation:
    compaction = entry("compaction", "k1", "a1", summary="said before", firstKeptEntryId="a1", tokensBefore=9)
    values = (u("u1", None), a("a1", "u1", text("ok")), compaction, torn("u2", "k1"), a("a2", "u2", text("so")), u("u3", "a2"))
    return session(tmp_path, header(), *values)


def test_a_compaction_above_a_cut_is_lost(get: Get, tmp_path: Path) -> None:
    page = get(compacted_above_a_cut(tmp_path), ending="/prompt/")
    assert lost(page)[2] == ("3", "compaction said before", "above the cut at line 5")
    assert "Lost above: seq 1-4" in page


def test_what_a_repair_writes_again_is_not_missing_after_it(get: Get, tmp_path: Path) -> None:
    page = shown(get(compacted_above_a_cut(tmp_path), "?options=open", ending="/repairs/new/"))
    assert page.count("still wrong silently (content lost)") >= 2 and "without seq" not in page


def test_each_reader_is_tried_on_its_own_path(get: Get, tmp_path: Path) -> None:
    torn = json.dumps(u("u2", "a1")).encode()[:80]
    found = session(tmp_path, header(), u("u1", None), a("a1", "u1", text("ok")), torn, u("u3", "u2"))
    page = shown(get(found, ending="/prompt/").partition("Under each reader")[2])
    assert "pi-1.5 shown 1 1 of 3 wrong silently" in page and "openclaw-2026.9 3 3 of 3 wrong silently" in page


def test_the_prompt_of_a_chosen_leaf_names_it_and_leads_back(get: Get, tmp_path: Path) -> None:
    control = {"type": "model_change", "id": "m1", "parentId": None, "timestamp": "2026-01-01T00:00:00Z", "provider": "p", "modelId": "m"}
    found = session(tmp_path, header(), control, u("u1", "m1"), a("a1", "u1", text("ok")), u("u2", "a1"))
    page = get(found, "?leaf=a1", ending="/prompt/")
    title = page.partition("<h1>")[2].partition("</h1>")[0]
    assert shown(title) == "anthropic-2026-07: passes all known rules 2 messages from leaf a1"
    below = page.partition("</h1>")[2].partition("</p>")[0]
    assert shown(below) == "What would be sent if pi-1.5 went on from there. Back to its live path , whose next request is: passes"
    assert 'href="?">Back to its live path' in below and f'href="/conversations/{found.oid}/?leaf=a1"' in page
    assert '<input type="hidden" name="leaf" value="a1">' in page, "another reader or profile is asked about the same path"
    row = re.findall(r'<tr class="c" id="seq-1">.*?</tr>', page, re.DOTALL)[0]
    assert "setting, not sent by design" in row and "no role" not in row and "cut" not in row, "no loss"
    assert "went on from there" not in get(found, ending="/prompt/")
    assert "No entry of this content is called" in get(found, "?leaf=gone", ending="/prompt/")


def shown(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def lost(page: str) -> list[tuple[str, str, str]]:
    """Seqs, words and why of each entry that is lost above a cut, and of each line that no program reads."""
    table = page.partition('<table class="above-cut">')[2].partition("</table>")[0]
    rows = [[shown(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)] for row in table.split("<tr")[2:]]
    return [(row[0], row[1], row[2]) for row in rows if len(row) == 3]


def test_a_chosen_path_has_what_is_found_on_it_wherever_it_is_in_the_file(get: Get, tmp_path: Path) -> None:
    """A branch that was written after the damage has nothing of it; one that hangs below a cut has lost what is above."""
    torn = json.dumps(u("u2", "a1")).encode()[:80]
    found = session(
        tmp_path,
        header(),
        u("u1", None),
        a("a1", "u1", text("ok")),
        torn,
        u("u3", "u2"),
        u("b1", "a1"),
        a("b2", "b1", text("so")),
        u("u4", "u3"),
    )
    sent = [re.findall(r"<b>Sent</b> ([^<]*)", get(found, f"?leaf={leaf}"))[0] for leaf in ("b2", "u3", "a1")]
    assert sent == ["passes all known rules", "history hidden, but passes all known rules", "passes all known rules"]


def test_below_two_cuts_the_request_lacks_more_than_what_hangs_below_the_other(get: Get, tmp_path: Path) -> None:
    """It was "without seq 3", of nine entries that are lost."""
    torn = [json.dumps(u(name, parent)).encode()[:80] for name, parent in (("t1", "u1"), ("t2", "u3"))]
    found = session(tmp_path, header(), u("u1", None), torn[0], u("u3", "t1"), torn[1], u("u5", "t2"))
    assert re.findall(r"<b>Sent</b> ([^<]*)", get(found))[0] == "content lost, but passes all known rules"
    assert found.next_request[0] == "silent" and "without" not in found.next_request[2]


def test_above_many_lines_that_no_program_reads_the_last_lost_entries_are_shown(get: Get, tmp_path: Path) -> None:
    torn = [json.dumps(u(f"t{number}", "a1" if number == 0 else f"t{number - 1}")).encode()[:80] for number in range(9)]
    page = get(session(tmp_path, header(), u("u1", None), a("a1", "u1", text("ok")), *torn, u("u3", "t8")))
    shown = [words for _, _, words in offshoots(page)]
    assert sum("no program reads it" in words for words in shown) == 5
    assert any(" lost ok read the path to it" in words for words in shown)


def test_the_json_twin_has_the_tree_of_the_chosen_leaf(get: Get, tmp_path: Path) -> None:
    found = session(tmp_path, *BRANCH)
    tree = json.loads(get(found, ending=".json", leaf="r1"))["tree"]
    assert (tree["path"], tree["reachable"], tree["entries"]) == (["u1", "a1", "r1"], 3, 4)
    assert [leaf["id"] for leaf in tree["leaves"]] == ["r1", "u2"]


def test_a_conversation_that_is_a_list_has_no_tree(get: Get, incident: Conversation) -> None:
    assert 'id="tree"' not in get(incident, leaf="u1")
    assert "tree" not in json.loads(get(incident, ending=".json"))


HOSTILE = '<script>alert(1)</script>"\u202e\ud800\n\x00'


def test_hostile_ids_and_texts_show_as_what_they_are(get: Get, tmp_path: Path) -> None:
    values = [
        header(),
        u(HOSTILE, None, HOSTILE),
        a("a1", HOSTILE, call(HOSTILE), text(HOSTILE)),
        r("r1", "a1", HOSTILE, HOSTILE),
        {**u("u2", "a1"), "type": HOSTILE, "customType": HOSTILE},
        u("u3", HOSTILE + "gone"),
        u("u3", "u2"),
    ]
    # As JSON escapes: a lone surrogate has no bytes of its own.
    found = session(tmp_path, *(json.dumps(value).encode() for value in values))
    page = get(found)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;\\u202e\\ud800" in page
    assert not re.search("[\u202e\x00]", page)


def test_an_id_that_no_address_can_carry_can_be_chosen(get: Get, tmp_path: Path) -> None:
    values = [header(), u("u\ud800", None, "first"), u("u2", "u\ud800", "second")]
    found = session(tmp_path, *(json.dumps(value).encode() for value in values))
    (address,) = re.findall(r'class="id" href="(\?leaf=u[^"2]*ud800[^"]*)"', get(found))
    assert seqs(get(found, unescape(address))) == [1]


def test_numbers_in_the_address_that_are_none_are_let_be(get: Get, tmp_path: Path) -> None:
    found = session(tmp_path, *BRANCH)
    for query in ("?tree=x&unfold=-1", "?tree=99999999999999999999", "?tree=500&unfold=77", "?leaf=" + "x" * 5000):
        assert rows(get(found, query))


def test_show_prints_the_tree_and_reads_at_a_leaf(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(*BRANCH))
    assert "  - r1 result: bash: refused" in run("show", path, "--as", "tree").out.splitlines()
    assert run("show", path, "--as", "tree", "--json", "--leaf", "r1").json["path"] == ["u1", "a1", "r1"]
    assert [message["seqs"] for message in run("show", path, "--as", "messages", "--json").json["messages"]][-1] == [4]
    refused = run("show", path, "--as", "tree", "--leaf", "gone")
    assert (refused.status, refused.err) == (2, "There is no entry 'gone' in this conversation: --as tree names them.\n")


COMPACTED = (
    header(),
    entry("model_change", "m1", None, provider="anthropic", modelId="claude-opus-4-6"),
    u("u1", "m1", "first"),
    a("a1", "u1", text("one")),
    u("u2", "a1", "second"),
    entry("compaction", "k1", "u2", summary="said twice", firstKeptEntryId="u2", tokensBefore=9),
    a("a2", "k1", text("two")),
)


def test_what_a_compaction_stands_for_is_no_fault(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, *COMPACTED))
    assert 'class="departs' not in page and "1 lost</span>" not in page
    assert "left out on purpose" in page and "<b>Read</b> 3 messages</th>" in " ".join(page.split())
    # Four are stored, two of these are read, and the summary.
    assert "<b>Read</b> 4 → 3: 2 left out, 1 added</span>" in page
    assert '<span class="why"><b>' not in page


def test_the_damage_is_in_the_line_of_its_finding_with_what_repairs_it(get: Get, tmp_path: Path) -> None:
    conversation = session(tmp_path, *BRANCH)
    page = get(conversation)
    finding, rows_ = page.index('id="finding"'), page.index('<tr id="seq-')
    places = [page.index(words, finding) for words in ("TREE106", "What repairs the data", "reparent-to-result")]
    assert places == sorted(places) and places[-1] < rows_
    assert "What it costs: No content changes" in page
    assert f'href="/conversations/{conversation.oid}/repairs/new/?strategy=reparent-to-result">Preview' in page


def test_the_preview_shows_the_result_that_the_reader_makes_up(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, *BRANCH), "?strategy=reparent-to-result", "/repairs/new/")
    before, after = page[page.index("Prompt before") :].split("Prompt after")
    assert "synthetic, inserted by the reader, in no store: No result provided" in before and "inserted by the reader" not in after
    assert "<td>synthetic results of the reader</td><td>1</td><td>0</td>" in page


def test_a_file_that_is_read_alone_says_what_is_not_known_of_it(get: Get, tmp_path: Path) -> None:
    page = get(session(tmp_path, header(cwd="/srv/.openclaw/x", parentSession="/srv/old.jsonl"), u("u1", None, "hello")))
    assert "this file was read alone" in page
    assert "<dt>forked from</dt><dd>/srv/old.jsonl</dd>" in page


def test_a_folder_names_the_copies_and_the_lock_of_a_session(get: Get, tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_bytes(lines(header(id="s1"), u("u1", None, "hello")))
    (folder / "s1.jsonl.bak-3").write_bytes(b"")
    (folder / "s1.jsonl.lock").write_bytes(b'{"pid": 4, "createdAt": "2026-02-03T00:00:00Z"}')
    (imported,) = import_targets([str(folder)], "tester")
    page = get(imported.source.conversations.get())
    assert "s1.jsonl.bak-3. Any of them can be looked at by its own path" in page
    assert "held by process 4" in page and "this file was read alone" not in page


def test_folders_of_files_that_are_named_by_their_ids_are_known_by_what_is_in_them(tmp_path: Path) -> None:
    for name, cwd in (("pi", "/srv/x"), ("openclaw", "/srv/.openclaw/x")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "0a3c2b1e-0000-4000-8000-000000000001.jsonl").write_bytes(lines(header(cwd=cwd), u("u1", None, "hello")))
        (folder / "notes.txt").write_bytes(b"x")
        (imported,) = import_targets([str(folder)], "tester")
        assert imported.source.format == name
        (problem,) = imported.source.problems
        assert (
            problem["where"] == "files next to the sessions"
            and "1 file is not read" in problem["reason"]
            and "notes.txt" in problem["reason"]
        )


def test_folders_of_other_programs_are_not_taken_for_sessions(tmp_path: Path) -> None:
    (tmp_path / "0a3c2b1e-0000-4000-8000-000000000001.jsonl").write_bytes(b'{"type":"user","session":"x","parent":null}\n')
    assert run("scan", str(tmp_path)).status == 2


def test_the_twin_for_an_issue_draws_the_tree(get: Get, tmp_path: Path) -> None:
    text = get(session(tmp_path, *BRANCH), ending=".md")
    assert "* a1 assistant: → " in text and "  - r1 result: " in text and "<- leaf" in text
    assert "usage" not in text and "No trace was imported" not in text


def long_before_its_compaction(*values: Any) -> tuple[Any, ...]:
    """Ten messages, a compaction that keeps the last of them, and what follows it."""
    said = [
        u(f"u{turn}", f"a{turn - 1}" if turn else None, "go on") if part == 0 else a(f"a{turn}", f"u{turn}", text("I do"))
        for turn in range(5)
        for part in (0, 1)
    ]
    return (
        header(),
        *said,
        entry("compaction", "k", "a4", summary="said", firstKeptEntryId="a4", tokensBefore=9),
        u("u5", "k", "next"),
        *values,
    )


def test_a_conversation_is_shown_from_where_its_reader_begins_unless_something_is_found_before_it(get: Get, tmp_path: Path) -> None:
    conversation = session(tmp_path, *long_before_its_compaction(a("a5", "u5", text("done"))))
    page = get(conversation)
    assert seqs(page) == [7, 8, 9, 10, 11, 12, 13], "three rows before the first that is read"
    assert ">6 earlier</a>" in page and "No message of them is read" in page
    earlier = re.search(r'href="([^"]+)"[^>]*>6 earlier', page)
    assert earlier is not None and seqs(get(conversation, earlier[1]))[0] == 1
    assert seqs(get(conversation, "?at=2"))[0] == 1 and seqs(get(conversation, "?role=user"))[0] == 1


def test_a_conversation_whose_finding_is_long_after_its_compaction_is_shown_from_a_little_before_it(get: Get, tmp_path: Path) -> None:
    turns = [a("a5", "u5", text("I do")), *(u(f"u{turn}", f"{'a5' if turn == 6 else f'u{turn - 1}'}", "go on") for turn in range(6, 12))]
    values = long_before_its_compaction(*turns, a("a12", "u11", call("c1")), r("r12", "a12", "c1", "real"), u("u13", "a12", "still there?"))
    page = get(session(tmp_path, *values))
    (named,) = [seq for seq, _, words in offshoots(page) if "bash: real" in words]
    assert int(named) in seqs(page)[3:6] and len(seqs(page)) == 7, "as many as a first screen has"
    assert "No message of them is read" not in page, "some of them are read"


def test_a_conversation_with_a_finding_before_its_compaction_is_shown_from_its_beginning(get: Get, tmp_path: Path) -> None:
    values = list(long_before_its_compaction(a("a5", "u5", text("done"))))
    values[2] = r("a0", "u0", "c9", "the result of no call")
    page = get(session(tmp_path, *values))
    assert seqs(page)[0] == 1 and " earlier</a>" not in page


def test_a_link_to_a_finding_opens_where_it_is_and_shows_the_missing_parent(get: Get, tmp_path: Path) -> None:
    """The page began with the first row, and the finding was below the first screen."""
    said = [
        u("u0", None, "go"),
        a("a0", "u0", text("yes")),
        *(u(f"u{turn}", "a0" if turn == 1 else f"u{turn - 1}", "go on") for turn in range(1, 20)),
    ]
    found = session(tmp_path, header(), *said, u("u20", "gone", "and this?"), a("a20", "u20", text("what?")))
    finding = found.findings.get(code="TREE101")
    (seq,) = finding.seqs
    chosen = "reader=openclaw-2026.9"
    named, opened = get(found, f"?{chosen}&finding={finding.oid}"), get(found, f"?{chosen}")
    assert seqs(named)[-1] == seq + 1 and len(seqs(named)) == 7 and seqs(opened)[0] == 1
    (row,) = re.findall(r'<tr id="seq-\d+"(?:(?!</tr>).)*parent missing', named, re.DOTALL)
    assert row.startswith(f'<tr id="seq-{seq}"') and "goes on from here" in row
    assert named.partition('id="rows"')[2].count('<line class="led"') == 2, "from the dot above to that of the entry"


def test_every_missing_parent_of_the_path_is_marked_at_the_first_row_of_its_entry(get: Get, tmp_path: Path) -> None:
    """Only the first five were, and a window that began inside an entry marked one of its other rows."""
    blocks = [{"type": "text", "text": f"part {number}"} for number in range(6)]
    said = [u("u0", None, "go"), *(u(f"u{turn}", f"gone{turn}", "go on") for turn in range(1, 9)), a("a9", "gone9", *blocks)]
    found = session(tmp_path, header(), *said)
    page = get(found, "?reader=openclaw-2026.9")
    marked = [int(row) for row in re.findall(r'<tr id="seq-(\d+)"(?:(?!</tr>).)*parent missing', page, re.DOTALL)]
    assert marked == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    inside = get(found, "?reader=openclaw-2026.9&from=11")
    assert seqs(inside)[0] == 12 and "parent missing" not in inside


def test_a_compaction_is_no_fault_in_lists_either(client: Client, tmp_path: Path) -> None:
    session(tmp_path, *COMPACTED)
    assert 'class="n why"' not in client.get("/conversations/").content.decode()
