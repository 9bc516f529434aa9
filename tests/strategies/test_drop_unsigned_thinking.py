"""What `drop-unsigned-thinking` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, EMPTY, KEPT, REDACTED, Row, assert_strategy

ROWS = (
    Row(
        "drop-unsigned-thinking",
        "beside text, and alone in its message",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 thinking so\nassistant 1.1 {KEPT}\nuser 2.0 text x\nassistant 3.0 thinking so\nuser 4.0 text y",
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nuser 2.0 text x\nassistant 3.0 {EMPTY}\nuser 4.0 text y",
    ),
    Row(
        "drop-unsigned-thinking", "signed and redacted", ANTHROPIC, f"assistant 0.0 {KEPT}\nassistant 0.1 {REDACTED}\nassistant 0.2 text x"
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
