"""What `strip-thinking` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import EMPTY, KEPT, OPENAI, REDACTED, SESSION, Row, assert_strategy

ROWS = (
    Row(
        "strip-thinking",
        "all of it, and an empty message stays where nothing else stood",
        SESSION,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 {REDACTED}\nuser 2.0 text and?\nassistant 3.0 thinking so\nassistant 3.1 text y",
        f"user 0.0 text go\nassistant 1.0 {EMPTY}\nuser 2.0 text and?\nassistant 3.0 text y",
    ),
    Row("strip-thinking", "text that looks like it", OPENAI, 'user 0.0 text go\nassistant 1.0 text "<thinking>so</thinking>"'),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
