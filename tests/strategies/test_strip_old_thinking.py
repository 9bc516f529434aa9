"""What `strip-old-thinking` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, KEPT, REDACTED, SESSION, Row, assert_strategy

ROWS = (
    Row(
        "strip-old-thinking",
        "of turns before the latest",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 {REDACTED}\nassistant 1.2 text x\nuser 2.0 text and?\n"
        f"assistant 3.0 {KEPT}\nassistant 3.1 tool-call a ls {{}}\ntool 4.0 tool-result a f\nassistant 5.0 {KEPT}\nassistant 5.1 text y",
        "user 0.0 text go\nassistant 1.0 text x\nuser 2.0 text and?\n"
        f"assistant 3.0 {KEPT}\nassistant 3.1 tool-call a ls {{}}\ntool 4.0 tool-result a f\nassistant 5.0 {KEPT}\nassistant 5.1 text y",
    ),
    Row(
        "strip-old-thinking",
        "one turn of several steps",
        SESSION,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 tool-call a ls {{}}\ntool 2.0 tool-result a f\nassistant 3.0 {KEPT}\nassistant 3.1 text y",
    ),
    Row(
        "strip-old-thinking",
        "the last answer keeps its own, though the user has spoken since",
        ANTHROPIC,
        f"user 0.0 text go\nassistant 1.0 {KEPT}\nassistant 1.1 text x\nuser 2.0 text and?\nassistant 3.0 {KEPT}\nassistant 3.1 text y\nuser 4.0 text so?",
        f"user 0.0 text go\nassistant 1.0 text x\nuser 2.0 text and?\nassistant 3.0 {KEPT}\nassistant 3.1 text y\nuser 4.0 text so?",
    ),
    Row("strip-old-thinking", "a history without an answer", ANTHROPIC, "user 0.0 text go\nuser 1.0 text and?"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
