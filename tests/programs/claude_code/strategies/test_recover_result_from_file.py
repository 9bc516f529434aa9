"""Where `recover-result-from-file` puts what another file of the session holds, and which outcomes it leaves (files themselves: test_outcomes_in_files.py)."""

import pytest

from tests.programs.claude_code.session_lines import a, call, r, text, u
from tests.programs.claude_code.strategies.outcomes_in_files import ANSWERED, CALLED, repaired, with_outcomes

NAME = "recover-result-from-file"
PLACEHOLDER = "[Tool result missing due to internal error]"


def test_the_result_comes_after_its_call() -> None:
    assert repaired(with_outcomes(("t1", "one", True)), NAME) == ["user:go", "assistant:t1", "tool:one", "user:and?", "assistant:Well."]


def test_a_placeholder_gives_way() -> None:
    values = (*CALLED, r("r1", "a1", "t1", PLACEHOLDER, 2), u("u2", "r1", "and?", 3))
    assert repaired(with_outcomes(("t1", "one", True), values=values), NAME) == ["user:go", "assistant:t1", "tool:one", "user:and?"]


def test_one_of_two_parallel_calls() -> None:
    values = (
        *CALLED,
        a("a2", "a1", "m1", call("t2"), 1),
        r("r2", "a2", "t2", "two", 2),
        u("u2", "r2", "and?", 3),
        a("b1", "u2", "m2", text("Well."), 4),
    )
    later = repaired(with_outcomes(("t1", "one", True), values=values), NAME)
    assert sorted(later[1:5]) == ["assistant:t1", "assistant:t2", "tool:one", "tool:two"] and later[5:] == ["user:and?", "assistant:Well."]


@pytest.mark.parametrize(
    "outcomes",
    [
        pytest.param((), id="none"),
        pytest.param((("t9", "nine", True),), id="of another call"),
        pytest.param((("t1", "one", True), ("t1", "two", True)), id="two of one call"),
        pytest.param((("t1", "one", False),), id="of an agent that may have gone on"),
    ],
)
def test_what_is_left(outcomes: tuple[tuple[str, str, bool], ...]) -> None:
    assert repaired(with_outcomes(*outcomes), NAME) == []


def test_what_the_session_itself_keeps_comes_first() -> None:
    kept = u("r1", "a1", [], 2, toolUseResult="kept", sourceToolAssistantUUID="a1")
    values = (*ANSWERED[:2], kept, u("u2", "r1", "and?", 3))
    assert repaired(with_outcomes(("t1", "one", True), values=values), NAME) == []


def test_a_real_result_stays() -> None:
    values = (*CALLED, r("r1", "a1", "t1", "real", 2), u("u2", "r1", "and?", 3))
    assert repaired(with_outcomes(("t1", "one", True), values=values), NAME) == []
