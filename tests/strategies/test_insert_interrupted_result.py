"""What `insert-interrupted-result` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from inspector.programs.rollouts.readers import INTERRUPTED as ROLLOUTS
from inspector.rules.synthetic_texts import OURS
from tests.strategies.before_and_after import ANTHROPIC, LATE, OPENAI, SESSION, TURN, TWO_CALLS, Row, assert_strategy

ROWS = (
    Row(
        "insert-interrupted-result",
        "beside the results that are there, before the user's words",
        ANTHROPIC,
        TWO_CALLS + "tool 2.0 tool-result a f\nuser 2.1 text and?",
        TWO_CALLS + f'tool 2.0 tool-result a f\ntool 2.1 tool-result b "{OURS}" name=ls error=true\nuser 2.2 text and?',
    ),
    Row(
        "insert-interrupted-result",
        "as messages of their own, in call order",
        OPENAI,
        TWO_CALLS + "user 2.0 text and?",
        TWO_CALLS
        + f'tool 2.0 tool-result a "{OURS}" name=ls error=true\ntool 3.0 tool-result b "{OURS}" name=ls error=true\nuser 4.0 text and?',
    ),
    Row(
        "insert-interrupted-result",
        "at the end, in the words of the store's own program",
        SESSION,
        TURN,
        TURN + f'tool 2.0 tool-result a "{ROLLOUTS}" name=ls error=true',
    ),
    Row("insert-interrupted-result", "a result that comes late is a result", ANTHROPIC, LATE),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
