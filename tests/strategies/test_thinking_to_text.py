"""What `thinking-to-text` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from inspector.conversation import notation
from tests.strategies.before_and_after import ANTHROPIC, KEPT, REDACTED, SESSION, Row, assert_strategy, repaired

ROWS = (
    Row(
        "thinking-to-text",
        "signed or not",
        SESSION,
        f"assistant 0.0 {KEPT}\nassistant 0.1 thinking so\nassistant 0.2 text x",
        'assistant 0.0 text "<thinking>\\nhm\\n</thinking>"\nassistant 0.1 text "<thinking>\\nso\\n</thinking>"\nassistant 0.2 text x',
    ),
    Row(
        "thinking-to-text",
        "redacted or without words",
        ANTHROPIC,
        f'assistant 0.0 {REDACTED}\nassistant 0.1 thinking " "\nassistant 0.2 text x',
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)


def test_the_step_of_thinking_stays_with_its_text() -> None:
    final = repaired("thinking-to-text", notation.load("1 user 1.0 text go\n2 assistant 2.0 thinking so step=t1")[0])
    assert [chunk.step_id for chunk in final.chunks] == [None, "t1"]
