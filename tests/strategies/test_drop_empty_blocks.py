"""What `drop-empty-blocks` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, EMPTY, Row, assert_strategy

ROWS = (
    Row(
        "drop-empty-blocks",
        "blank text, empty thinking, a message without content",
        ANTHROPIC,
        f'user 0.0 text go\nassistant 1.0 thinking ""\nassistant 1.1 text " \\n"\nassistant 1.2 text x\nuser 2.0 {EMPTY}\nassistant 3.0 text y',
        "user 0.0 text go\nassistant 1.0 text x\nassistant 2.0 text y",
    ),
    Row(
        "drop-empty-blocks",
        "signed thinking without words, an empty result, a text with a point",
        ANTHROPIC,
        'assistant 0.0 thinking payload={"type":"thinking","text":"","signature":"s"}\n'
        'assistant 0.1 text " ."\nassistant 0.2 tool-call a ls {}\ntool 1.0 tool-result a ""',
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
