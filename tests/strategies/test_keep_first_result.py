"""What `keep-first-result` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from inspector.programs.rollouts.readers import INTERRUPTED as ROLLOUTS
from tests.strategies.before_and_after import OPENAI, SESSION, TURN, TWO_CALLS, Row, assert_strategy

ROWS = (
    Row(
        "keep-first-result",
        "two real results",
        OPENAI,
        TURN + "tool 2.0 tool-result a one\ntool 3.0 tool-result a two",
        TURN + "tool 2.0 tool-result a one",
    ),
    Row(
        "keep-first-result",
        "the real one of two, though it comes second",
        SESSION,
        TURN + f'tool 2.0 tool-result a "{ROLLOUTS}" error=true\ntool 3.0 tool-result a real',
        TURN + "tool 2.0 tool-result a real",
    ),
    Row("keep-first-result", "one result of each of two calls", OPENAI, TWO_CALLS + "tool 2.0 tool-result a f\ntool 3.0 tool-result b f"),
    Row(
        "keep-first-result",
        "one id on two calls, each with its result",
        OPENAI,
        TURN + "tool 2.0 tool-result a f\nassistant 3.0 tool-call a ls {}\ntool 4.0 tool-result a g",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
