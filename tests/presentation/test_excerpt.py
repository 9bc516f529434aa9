"""Chunks that a page quotes: what is not read as it is stored is marked, and what is kept of a large conversation says the same."""

import pytest

from inspector.presentation.conversation.columns import columns
from inspector.presentation.conversation.excerpt import excerpt_of_block, excerpts
from inspector.presentation.conversation.whole import blocks_of
from inspector.profiles.judging import judged
from inspector.rules.base import Case, findings
from inspector.rules.case_notation import load_case
from inspector.rules.catalogue import RULES
from tests.presentation.test_verdict import COMPACTED

MERGED = """1 user 0.0 text hello
2 assistant 0.0 thinking They greet.
3 assistant 0.1 text Hello!
4 assistant 0.2 tool-call c1 look {"at":"a"}
5 tool 1.0 tool-result c1 found
"""
HEALTHY = MERGED.replace("user 0.", "user 1.").replace("assistant 0.", "assistant 2.").replace("tool 1.", "tool 3.")
UNREAD = """1 user 1.0 text go
2 assistant 2.0 thinking only thoughts
"""


def reads(case: Case) -> dict[int, str]:
    one_by_one = excerpts(case, [[chunk.seq] for chunk in case.conversation.chunks])
    return {line.seq: line.read for excerpt in one_by_one for line in excerpt.lines if line.read}


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (MERGED, {2: "read as user", 3: "read as user", 4: "read as user"}),
        (HEALTHY, {}),
        # Left out on purpose, and an entry of no role: nothing is wrong with either.
        (COMPACTED, {}),
        (UNREAD, {2: "not read"}),
    ],
)
def test_only_what_is_not_read_as_it_is_stored_is_marked(history: str, expected: dict[int, str]) -> None:
    assert reads(load_case(history, "pi-1.5" if "@format pi" in history else "dispatch-legacy")) == expected


@pytest.mark.parametrize("history", [MERGED, HEALTHY, COMPACTED, UNREAD])
def test_a_block_that_was_kept_says_the_same(history: str) -> None:
    case = load_case(history, "pi-1.5" if "@format pi" in history else "dispatch-legacy")
    prompt, judgement = judged(case.reading, case.conversation, "openai-chat", "openai-chat")
    all_columns = columns(case, case.reading.messages, case.reading.dropped, prompt, judgement, findings(case, RULES))
    (block,) = blocks_of(case, all_columns, None)
    seqs = {chunk.seq for chunk in case.conversation.chunks}
    assert [excerpt_of_block(block, seqs)] == excerpts(case, [seqs])


LONG = """1 user 0.0 text hello
2 assistant 0.0 thinking They greet.
3 assistant 0.1 text Hello!
4 user 0.0 text Look.
5 assistant 0.0 text I look.
6 assistant 0.1 tool-call c1 look {"at":"a"}
7 assistant 0.2 tool-call c2 look {"at":"b"}
8 tool 1.0 tool-result c1 found
9 tool 1.1 tool-result c2 found
"""


@pytest.mark.parametrize(
    ("named", "expected", "left"),
    [
        # Of many those that are read under another role, and how many are between them.
        (range(1, 10), [(2, 0), (3, 0), (6, 2), (7, 0)], 2),
        # All of what is few, whether it is read otherwise or not.
        ([1, 2], [(1, 0), (2, 0)], 0),
        # A result comes with its call.
        ([8], [(6, 0), (8, 1)], 0),
        ([6], [(6, 0)], 0),
        ([77], [], 0),
    ],
)
def test_the_lines_are_those_where_the_harm_is(named: list[int], expected: list[tuple[int, int]], left: int) -> None:
    (excerpt,) = excerpts(load_case(LONG, "dispatch-legacy"), [named])
    assert ([(line.seq, line.left_out) for line in excerpt.lines], excerpt.left) == (expected, left)


CUT = """@format pi
1 user 1.0 text go
2 assistant 2.0 text done
3 - 3.- unreadable "{\\"type\\":\\"mess" damage=torn reason="not JSON"
4 user 4.0 text and? parent=lost
5 assistant 5.0 text what?
"""


@pytest.mark.parametrize(
    ("history", "named", "expected"),
    [
        # What the cut hides is next to the entry at which the path begins.
        (CUT, [4], [(2, "not read", False), (3, "not read", False), (4, "", True), (5, "", False)]),
        (CUT, [3], [(1, "not read", False), (2, "not read", False), (3, "not read", True), (4, "", False)]),
        # First what is between what is named.
        (LONG, [6, 8], [(5, "read as user", False), (6, "read as user", True), (7, "read as user", False), (8, "", True)]),
        (LONG, [9], [(6, "read as user", False), (7, "read as user", True), (8, "", False), (9, "", True)]),
        (LONG, [1], [(1, "", True), (2, "read as user", False), (3, "read as user", False), (4, "", False)]),
        # All four are named: there is no room.
        (LONG, range(1, 5), [(1, "", True), (2, "read as user", True), (3, "read as user", True), (4, "", True)]),
        (LONG, [77], []),
    ],
)
def test_what_is_around_fills_an_excerpt(history: str, named: list[int], expected: list[tuple[int, str, bool]]) -> None:
    (excerpt,) = excerpts(load_case(history, "pi-1.5" if "@format pi" in history else "dispatch-legacy"), [named], is_filled=True)
    assert [(line.seq, line.read, line.is_named) for line in excerpt.lines] == expected


def test_of_what_nobody_can_read_the_bytes_are_quoted() -> None:
    (excerpt,) = excerpts(load_case(CUT, "pi-1.5"), [[3]])
    assert [line.words for line in excerpt.lines] == ['{"type":"mess']


def test_where_all_is_read_as_it_is_stored_the_lines_are_the_first_and_the_last() -> None:
    (excerpt,) = excerpts(load_case(HEALTHY, "dispatch-legacy"), [range(1, 6)])
    assert [(line.seq, line.left_out, line.read) for line in excerpt.lines] == [(1, 0, ""), (2, 0, ""), (4, 1, ""), (5, 0, "")]
