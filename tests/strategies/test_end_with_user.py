"""What `end-with-user` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, TURN, Row, assert_strategy

ROWS = (
    Row(
        "end-with-user",
        "after an answer",
        ANTHROPIC,
        "user 0.0 text go\nassistant 1.0 text x",
        "user 0.0 text go\nassistant 1.0 text x\nuser 2.0 text Continue.",
    ),
    Row("end-with-user", "after an open call", ANTHROPIC, TURN),
    Row("end-with-user", "after a result", OPENAI, TURN + "tool 2.0 tool-result a f"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
