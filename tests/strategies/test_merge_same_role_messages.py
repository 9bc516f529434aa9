"""What `merge-same-role-messages` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, SESSION, TURN, TWO_CALLS, Row, assert_strategy

ROWS = (
    Row(
        "merge-same-role-messages",
        "two answers",
        SESSION,
        "user 0.0 text go\nassistant 1.0 text a\nassistant 2.0 text b\nassistant 2.1 text c\nuser 3.0 text x",
        "user 0.0 text go\nassistant 1.0 text a\nassistant 1.1 text b\nassistant 1.2 text c\nuser 2.0 text x",
    ),
    Row(
        "merge-same-role-messages",
        "results and the user's words, where the user says both",
        ANTHROPIC,
        TURN + "tool 2.0 tool-result a f\nuser 3.0 text and?",
        TURN + "tool 2.0 tool-result a f\nuser 2.1 text and?",
    ),
    Row(
        "merge-same-role-messages",
        "results elsewhere",
        OPENAI,
        TWO_CALLS + "tool 2.0 tool-result a f\ntool 3.0 tool-result b f\nuser 4.0 text x",
    ),
    Row(
        "merge-same-role-messages",
        "answers with results between",
        OPENAI,
        TURN + "tool 2.0 tool-result a f\nassistant 3.0 text a\nuser 4.0 text x\nassistant 5.0 text b",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
