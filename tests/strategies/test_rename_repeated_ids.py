"""What `rename-repeated-ids` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, TURN, Row, assert_strategy

ROWS = (
    Row(
        "rename-repeated-ids",
        "the second call, with its result",
        OPENAI,
        TURN + "tool 2.0 tool-result a f\nassistant 3.0 tool-call a ls {}\ntool 4.0 tool-result a g",
        TURN + "tool 2.0 tool-result a f\nassistant 3.0 tool-call a_2 ls {}\ntool 4.0 tool-result a_2 g",
    ),
    Row(
        "rename-repeated-ids",
        "to a number that nobody has",
        ANTHROPIC,
        "assistant 0.0 tool-call a ls {}\nassistant 0.1 tool-call a_2 ls {}\nassistant 0.2 tool-call a ls {}",
        "assistant 0.0 tool-call a ls {}\nassistant 0.1 tool-call a_2 ls {}\nassistant 0.2 tool-call a_3 ls {}",
    ),
    Row("rename-repeated-ids", "two results of one call", OPENAI, TURN + "tool 2.0 tool-result a f\ntool 3.0 tool-result a g"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
