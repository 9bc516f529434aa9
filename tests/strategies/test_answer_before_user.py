"""What `answer-before-user` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, SESSION, TURN, Row, assert_strategy

ROWS = (
    Row(
        "answer-before-user",
        "also where both stand in one message",
        ANTHROPIC,
        TURN + "tool 2.0 tool-result a f\nuser 2.1 text and?",
        TURN + 'tool 2.0 tool-result a f\nassistant 3.0 text "The turn ended here."\nuser 4.0 text and?',
    ),
    Row(
        "answer-before-user",
        "once for each turn",
        SESSION,
        TURN + "tool 2.0 tool-result a f\nuser 3.0 text and?\nuser 4.0 text x",
        TURN + 'tool 2.0 tool-result a f\nassistant 3.0 text "The turn ended here."\nuser 4.0 text and?\nuser 5.0 text x',
    ),
    Row(
        "answer-before-user", "an answer stands there", OPENAI, TURN + "tool 2.0 tool-result a f\nassistant 3.0 text x\nuser 4.0 text and?"
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
