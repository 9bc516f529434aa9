"""What `add-empty-thinking` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, REDACTED, Row, assert_strategy

ROWS = (
    Row(
        "add-empty-thinking",
        "to answers without any",
        OPENAI,
        "user 0.0 text go\nassistant 1.0 text x\nassistant 1.1 tool-call a ls {}\ntool 2.0 tool-result a f\nassistant 3.0 thinking so\nassistant 3.1 text y",
        'user 0.0 text go\nassistant 1.0 thinking ""\nassistant 1.1 text x\nassistant 1.2 tool-call a ls {}\n'
        "tool 2.0 tool-result a f\nassistant 3.0 thinking so\nassistant 3.1 text y",
    ),
    Row(
        "add-empty-thinking",
        "redacted thinking is passed on to nobody else",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 {REDACTED}\nassistant 1.1 text x",
        f'user 0.0 text go\nassistant 1.0 thinking ""\nassistant 1.1 {REDACTED}\nassistant 1.2 text x',
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
