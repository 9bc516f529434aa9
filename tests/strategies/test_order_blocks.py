"""What `order-blocks` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, KEPT, Row, assert_strategy

ROWS = (
    Row(
        "order-blocks",
        "results before words, calls after them",
        ANTHROPIC,
        "user 0.0 text go\nassistant 1.0 tool-call a ls {}\nassistant 1.1 text x\nuser 2.0 text and?\ntool 2.1 tool-result a f",
        "user 0.0 text go\nassistant 1.0 text x\nassistant 1.1 tool-call a ls {}\ntool 2.0 tool-result a f\nuser 2.1 text and?",
    ),
    Row(
        "order-blocks",
        "blocks in order, and messages in any",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 text x\nassistant 1.2 tool-call a ls {{}}\nuser 2.0 text and?\ntool 3.0 tool-result a f",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
