"""Where `recover-stored-result` puts what a line keeps as `toolUseResult`, and where no single outcome can be proven."""

from typing import Any

import pytest

from inspector.planning.preview import compose
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, boundary, call, case, encoded, lines, r, said, text, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "recover-stored-result"
CALLED = (u("u1", None), a("a1", "u1", "m1", call("t1"), 1))
PLACEHOLDER = "[Tool result missing due to internal error]"


def lost(id_: str, parent: str, outcome: Any, **more: Any) -> dict[str, Any]:
    """A line whose result block is gone; what the tool said is next to its message."""
    return u(id_, parent, [], 2, toolUseResult=outcome, **{"sourceToolAssistantUUID": "a1", **more})


@each_mode
@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("plain", "plain"),
        ({"stdout": "out", "stderr": "err"}, "out\nerr"),
        ({"type": "text", "file": {"filePath": "/a", "content": "of a file"}}, "of a file"),
        ([{"type": "text", "text": "of blocks"}], "of blocks"),
    ],
)
def test_a_line_that_lost_its_block_has_it_again(outcome: Any, words: str, mode: str) -> None:
    values = (*CALLED, lost("r1", "a1", outcome), u("u2", "r1", "and?", 3))
    assert "TOOL212" in codes(case(*values))
    later, _ = written([NAME], mode, *values)
    assert said(later.conversation) == ["user:go", "assistant:t1", f"tool:{words}", "user:and?"] and codes(later) == []


def test_what_an_earlier_call_of_the_same_id_returned_is_of_that_one() -> None:
    """Before a compaction: the later call was given its outcome, and the session was called whole."""
    early = (
        u("u1", None),
        a("a1", "u1", "m1", call("t1", command="cat one"), 1),
        {**r("r1", "a1", "t1", "res1", 2), "toolUseResult": "res1"},
    )
    later = (boundary("b1"), u("u2", "b1", "and?", 4), a("a3", "u2", "m3", call("t1", command="rm five"), 5), u("u3", "a3", "well?", 6))
    assert "TOOL212" not in codes(case(*early, *later)) and "TOOL102" in codes(case(*early, *later))
    assert list(strategy(NAME).edits(case(*early, *later))) == []


def test_an_empty_message_goes_but_for_one_next_to_which_an_outcome_is_kept() -> None:
    """Dropped with its line, the only copy of what the tool said would leave the session."""
    kept = case(*CALLED, lost("r1", "a1", "plain"), u("u2", "r1", "and?", 3))
    assert list(strategy("drop-empty-blocks").edits(kept)) == []
    empty = case(*CALLED, r("r1", "a1", "t1", "plain", 2), u("u2", "r1", [], 3), a("a2", "u2", "m2", text("well"), 4))
    assert [edit.chunk.parent for edit in strategy("drop-empty-blocks").edits(empty)] == ["r1"]  # type: ignore[union-attr]


def test_a_placeholder_gives_way_and_an_error_stays_an_error() -> None:
    values = (*CALLED, {**r("r1", "a1", "t1", PLACEHOLDER, 2), "toolUseResult": "Error: no such file"}, u("u2", "r1", "and?", 3))
    later, data = written([NAME], SAME_FILE, *values)
    (result,) = (chunk for chunk in later.conversation.chunks if chunk.role == "tool")
    assert (result.text, result.is_error) == ("no such file", True)
    first, second, _, last = data.splitlines(keepends=True)
    assert (first, second, last) == (lines(values[0]), lines(values[1]), lines(values[3]))


@each_mode
def test_the_line_of_another_branch_stays_and_the_result_gets_one_of_its_own(mode: str) -> None:
    aside = lost("x1", "a1", "one")
    values = (*CALLED, aside, u("u2", "a1", "and?", 3), a("b1", "u2", "m2", text("well"), 4))
    later, data = written([NAME], mode, *values)
    assert said(later.conversation) == ["user:go", "assistant:t1", "tool:one", "user:and?", "assistant:well"] and codes(later) == []
    if mode == SAME_FILE:
        assert encoded(aside) in data.splitlines()


@pytest.mark.parametrize(
    "values",
    [
        pytest.param((lost("x1", "a1", "one"), lost("x2", "a1", "two")), id="two outcomes that differ"),
        pytest.param((lost("x1", "a1", "one", sourceToolAssistantUUID="other"),), id="the outcome of another line"),
        pytest.param((lost("x1", "a1", "one", sourceToolUseID="t9", sourceToolAssistantUUID="other"),), id="the outcome of another call"),
        pytest.param((lost("x1", "a1", PLACEHOLDER),), id="a placeholder there too"),
        pytest.param((lost("x1", "a1", {"stdout": "", "stderr": ""}),), id="nothing said"),
        pytest.param((lost("x1", "a1", {"agentId": "a7"}),), id="a shape without words"),
    ],
)
def test_what_proves_no_outcome_is_left(values: tuple[dict[str, Any], ...]) -> None:
    assert compose(case(*CALLED, *values, u("u2", "a1", "and?", 3)), [strategy(NAME)]) == ()


def test_a_call_with_a_result_is_left() -> None:
    shortened = {**r("r1", "a1", "t1", "the first lines", 2), "toolUseResult": {"stdout": "the first lines and all others"}}
    assert compose(case(*CALLED, shortened), [strategy(NAME)]) == ()
