"""What `return-call` puts before a result that is sent without its call, and where no one call can be proven."""

from typing import Any

import pytest

from inspector.planning.preview import compose
from inspector.rules.base import Case
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, boundary, call, case, encoded, r, text, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "return-call"
CALL = a("a1", "u1", "m1", call("t1", command="ls"), 1)
BEFORE = (u("u1", None), CALL, boundary("b1", logicalParentUuid="a1"))
SUMMARY = u("u2", "b1", "Summary", 2, isCompactSummary=True)
LATE, DONE = r("r1", "u2", "t1", "late", 2), a("a2", "r1", "m2", text("done"), 3)


def sent(of: Case) -> list[str]:
    return [f"{message.role}:{chunk.text or chunk.call_id}" for message in of.reading.messages for chunk in message.chunks]


@each_mode
def test_the_call_is_back_directly_before_its_result(mode: str) -> None:
    assert codes(case(*BEFORE, SUMMARY, LATE, DONE)) == ["TOOL211"]
    later, _ = written([NAME], mode, *BEFORE, SUMMARY, LATE, DONE)
    assert sent(later) == ["user:Summary", "assistant:t1", "tool:late", "assistant:done"] and codes(later) == []


def test_it_is_a_copy_of_the_stored_block_and_the_line_before_the_compaction_stays() -> None:
    _, data = written([NAME], SAME_FILE, *BEFORE, SUMMARY, LATE, DONE)
    assert data.splitlines()[1] == encoded(CALL)
    assert data.count(encoded(call("t1", command="ls"))) == 2


@pytest.mark.parametrize(
    "values",
    [
        pytest.param((u("u1", None), boundary("b1", logicalParentUuid="u1"), SUMMARY, LATE, DONE), id="the call is in no line"),
        pytest.param(
            (*BEFORE[:2], a("x1", "u1", "m9", call("t1"), 1), BEFORE[2], SUMMARY, LATE, DONE), id="two lines have a call of this id"
        ),
        pytest.param((u("u1", None), BEFORE[2], SUMMARY, LATE, CALL, DONE), id="the call was written after its result"),
        pytest.param(
            (*BEFORE, r("r1", "b1", "t1", "late", 2), DONE), id="the result is the first message: nothing of the user is before it"
        ),
    ],
)
def test_where_no_one_call_can_go_before_it_the_result_is_left(values: tuple[dict[str, Any], ...]) -> None:
    assert {"TOOL202", "TOOL211"} & set(codes(case(*values)))
    assert compose(case(*values), [strategy(NAME)]) == ()


def test_a_call_that_is_sent_is_left() -> None:
    """Its result follows it, with words said between them."""
    assert compose(case(BEFORE[0], CALL, u("u2", "a1", "wait", 2), r("r1", "u2", "t1", "late", 3)), [strategy(NAME)]) == ()
