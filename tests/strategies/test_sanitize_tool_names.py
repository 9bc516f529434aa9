"""What `sanitize-tool-names` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, Row, assert_strategy

ROWS = (
    Row(
        "sanitize-tool-names",
        "in the call and in the result that names it",
        OPENAI,
        "assistant 0.0 tool-call a my.tool/x {}\ntool 1.0 tool-result a f name=my.tool/x",
        "assistant 0.0 tool-call a my_tool_x {}\ntool 1.0 tool-result a f name=my_tool_x",
    ),
    Row(
        "sanitize-tool-names",
        "a name that is too long",
        ANTHROPIC,
        f"assistant 0.0 tool-call a {'n' * 65} {{}}\ntool 1.0 tool-result a f",
        f"assistant 0.0 tool-call a {'n' * 64} {{}}\ntool 1.0 tool-result a f",
    ),
    Row("sanitize-tool-names", "the longest name", OPENAI, f"assistant 0.0 tool-call a {'n' * 64} {{}}\ntool 1.0 tool-result a f"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
