"""What `relink-lost-line` leads where: below its call, its answer, or the line before it in its own compaction segment."""

import json

from inspector.planning.preview import compose
from inspector.rules.base import Case
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, boundary, call, case, lines, r, said, text, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "relink-lost-line"
LOST = (
    u("u1", None, "first"),
    a("a1", "u1", "m1", text("done"), 1),
    u("u2", "never-written", "and?", 2),
    a("a2", "u2", "m2", text("well"), 3),
)


def changed_parents(before: tuple[object, ...], data: bytes) -> dict[str, str]:
    """uuid -> parent of the lines whose bytes are others; all other lines are as they were."""
    pairs = zip(lines(*before).splitlines(), data.splitlines(), strict=True)
    return {json.loads(new)["uuid"]: json.loads(new)["parentUuid"] for old, new in pairs if old != new}


def sent(of: Case) -> list[str]:
    """What a resume sends: the path without what a compaction took out of it."""
    return [f"{chunk.role}:{chunk.text}" for message in of.reading.messages for chunk in message.chunks]


@each_mode
def test_the_history_before_a_lost_parent_is_back(mode: str) -> None:
    assert said(case(*LOST).conversation) == ["user:and?", "assistant:well"] and codes(case(*LOST)) == ["TREE201"]
    later, _ = written([NAME], mode, *LOST)
    assert said(later.conversation) == ["user:first", "assistant:done", "user:and?", "assistant:well"]
    assert codes(later) == []


def test_the_finding_says_how_much_is_reached_before_and_after() -> None:
    (finding,) = all_findings(case(*LOST))
    assert finding.message.endswith("a resume reaches 2 of 4 messages.")
    assert ("below that", "a resume reaches 4 of 4 messages") in finding.evidence


def test_where_a_resume_goes_on_by_itself_the_line_goes_below_the_one_that_it_goes_on_with() -> None:
    """The chain of that line goes up and down in the file. Below an earlier one, what a resume sends today was not sent any more."""
    at = (f"2026-08-01T10:00:0{second}.000Z" for second in range(9))
    values = (
        u("u1", None, "one", timestamp=next(at)),
        u("u2", "a1", "two", timestamp=next(at)),
        a("a1", "u1", "m1", text("ok"), timestamp=next(at)),
        a("a2", "u2", "m2", text("done"), timestamp=next(at)),
        a("a3", "never-written", "m3", text("well"), timestamp=next(at)),
    )
    before = case(*values)
    assert said(before.conversation) == ["user:one", "assistant:ok", "user:two", "assistant:done", "assistant:well"]
    assert "TREE201" in codes(before)
    later, data = written([NAME], SAME_FILE, *values)
    assert said(later.conversation) == said(before.conversation) and "TREE201" not in codes(later)
    assert changed_parents(values, data) == {"a3": "a2"}


def test_a_boundary_that_is_written_again_or_after_its_summary_begins_no_second_segment() -> None:
    """Its summary, which a resume sends, was taken for one from before the compaction, and the repair led the path past it."""
    compaction = boundary("b1", logicalParentUuid="a1")
    summary = u("s1", "b1", "what was said", isCompactSummary=True)
    values = (u("u1", None, "old"), a("a1", "u1", "m1", text("ok"), 1), compaction, summary, compaction, u("u2", "s1", "and?", 4))
    before = (*values[:2], summary, compaction, values[-1])
    for lines_of_file in (values, before):
        assert "TREE204" not in codes(case(*lines_of_file))
        assert list(strategy(NAME).edits(case(*lines_of_file))) == []


def test_one_parent_in_one_line_changes() -> None:
    assert changed_parents(LOST, written([NAME], SAME_FILE, *LOST)[1]) == {"u2": "a1"}


def test_odd_content_of_the_line_keeps_its_bytes() -> None:
    odd = b'{"parentUuid":"never", "type":"user","message":{"role":"user","content":[{"type":"odd","x":1e21}]},"uuid":"u2","n":1.0}'
    _, data = written([NAME], SAME_FILE, *LOST[:2], odd)
    assert data.splitlines()[2] == odd.replace(b'"never"', b'"a1"')


def test_a_result_goes_below_its_call_and_a_piece_below_its_answer() -> None:
    values = (
        u("u1", None),
        a("a1", "u1", "m1", call("t1"), 1),
        u("x1", "a1", "said meanwhile", 1),
        r("r1", "gone", "t1", "one", 2),
        a("a2", "r1", "m2", text("well"), 3),
    )
    assert changed_parents(values, written([NAME], SAME_FILE, *values)[1]) == {"r1": "a1"}
    pieces = (u("u1", None), a("a1", "u1", "m1", text("one"), 1), u("x1", "u1", "x", 1), a("a2", "gone", "m1", text("two"), 1))
    assert changed_parents(pieces, written([NAME], SAME_FILE, *pieces)[1]) == {"a2": "a1"}


@each_mode
def test_no_line_is_led_across_a_compaction(mode: str) -> None:
    values = (
        u("u1", None, "old"),
        boundary("b1", logicalParentUuid="u1"),
        u("s1", "b1", "Summary", 1, isCompactSummary=True),
        a("a1", "gone", "m1", text("on"), 2),
    )
    later, _ = written([NAME], mode, *values)
    assert sent(later) == ["user:Summary", "assistant:on"] and codes(later) == []


def test_a_line_right_after_the_boundary_gets_the_boundary() -> None:
    values = (
        u("u1", None, "old"),
        boundary("b1"),
        u("s1", "gone", "Summary", 1, isCompactSummary=True),
        a("a1", "s1", "m1", text("on"), 2),
    )
    assert changed_parents(values, written([NAME], SAME_FILE, *values)[1]) == {"s1": "b1"}


@each_mode
def test_a_stale_parent_of_an_older_segment(mode: str) -> None:
    """The old history stays in the file, as what was before the compaction."""
    values = (
        u("u1", None, "old"),
        a("a1", "u1", "m1", text("older"), 1),
        boundary("b1", logicalParentUuid="a1"),
        u("s1", "b1", "Summary", 2, isCompactSummary=True),
        a("a2", "s1", "m2", text("on"), 3),
        a("a3", "a1", "m3", text("stale"), 4),
    )
    assert codes(case(*values)) == ["TREE204"] and said(case(*values).conversation) == ["user:old", "assistant:older", "assistant:stale"]
    later, data = written([NAME], mode, *values)
    assert sent(later) == ["user:Summary", "assistant:on", "assistant:stale"] and codes(later) == []
    if mode == SAME_FILE:
        assert changed_parents(values, data) == {"a3": "a2"}


@each_mode
def test_a_line_that_is_its_own_parent_and_a_loop_of_two(mode: str) -> None:
    own = (*LOST[:2], u("u2", "u2", "and?", 2), LOST[3])
    two = (*LOST[:2], u("u2", "a2", "and?", 2), LOST[3])
    for values in (own, two):
        assert codes(case(*values)) == ["TREE202"]
        later, _ = written([NAME], mode, *values)
        assert said(later.conversation) == ["user:first", "assistant:done", "user:and?", "assistant:well"] and codes(later) == []


@each_mode
def test_gap_after_gap(mode: str) -> None:
    values = (*LOST, u("u3", "never", "third", 4), a("a3", "u3", "m3", text("end"), 5))
    later, _ = written([NAME], mode, *values)
    assert said(later.conversation) == ["user:first", "assistant:done", "user:and?", "assistant:well", "user:third", "assistant:end"]


def test_a_file_that_begins_in_the_middle_and_a_rewind_are_left_alone() -> None:
    slices = (r("r1", "elsewhere", "t1"), a("a1", "r1", "m1", text("on"), 1))
    rewound = (u("u1", None), a("a1", "u1", "m1", text("hi"), 1), u("u2", "a1", "no", 2), u("u3", "a1", "other", 9))
    for values in (slices, rewound):
        assert compose(case(*values), [strategy(NAME)]) == () and codes(case(*values)) == []
