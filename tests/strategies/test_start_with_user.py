"""What `start-with-user` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, SESSION, Row, assert_strategy

ROWS = (
    Row(
        "start-with-user",
        "before an answer, after the system prompt",
        OPENAI,
        "system 0.0 system S\nassistant 1.0 text x",
        "system 0.0 system S\nuser 1.0 text Begin.\nassistant 2.0 text x",
    ),
    Row(
        "start-with-user",
        "after a prompt outside of the list",
        ANTHROPIC,
        "system -1.0 system S\nassistant 0.0 text x",
        "system -1.0 system S\nuser 0.0 text Begin.\nassistant 1.0 text x",
    ),
    Row("start-with-user", "after a lone prompt", OPENAI, "system 0.0 system S", "system 0.0 system S\nuser 1.0 text Begin."),
    Row("start-with-user", "the user is first", SESSION, "system 0.0 system S\nuser 1.0 text go\nassistant 2.0 text x"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
