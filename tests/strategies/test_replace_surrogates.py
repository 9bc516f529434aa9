"""What `replace-surrogates` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, Row, assert_strategy

ROWS = (
    Row(
        "replace-surrogates",
        "in words, names and arguments",
        OPENAI,
        'user 0.0 text "a\\ud800b"\nassistant 1.0 tool-call a ls {"k\\udc00":["\\ud83d"]}\ntool 2.0 tool-result a "\\udfff"',
        'user 0.0 text "a\\ufffdb"\nassistant 1.0 tool-call a ls {"k\\ufffd":["\\ufffd"]}\ntool 2.0 tool-result a "\\ufffd"',
    ),
    Row(
        "replace-surrogates",
        "whole characters, and words that are signed",
        ANTHROPIC,
        'user 0.0 text "\\ud83d\\ude00 \\ufffd"\nassistant 1.0 thinking payload={"type":"thinking","text":"\\ud800","signature":"s"}\nassistant 1.1 text x',
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
