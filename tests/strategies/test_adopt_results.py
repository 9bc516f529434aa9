"""What `adopt-results` makes of a history, what it leaves alone, and that a second run finds nothing."""

from tests.folding import in_one_test
from tests.strategies.before_and_after import ANTHROPIC, OPENAI, SESSION, TURN, TWO_CALLS, Row, assert_strategy

ROWS = (
    Row("adopt-results", "a stranger after one open call", OPENAI, TURN + "tool 2.0 tool-result z f", TURN + "tool 2.0 tool-result a f"),
    Row(
        "adopt-results",
        "as many strangers as open calls, in order",
        SESSION,
        TWO_CALLS + "tool 2.0 tool-result y f\ntool 3.0 tool-result z g",
        TWO_CALLS + "tool 2.0 tool-result a f\ntool 3.0 tool-result b g",
    ),
    Row("adopt-results", "fewer strangers than open calls", OPENAI, TWO_CALLS + "tool 2.0 tool-result z f"),
    Row("adopt-results", "a stranger of another tool", OPENAI, TURN + "tool 2.0 tool-result z f name=rm"),
    Row("adopt-results", "a stranger after the user's words", ANTHROPIC, TURN + "user 2.0 text and?\ntool 3.0 tool-result z f"),
    Row(
        "adopt-results",
        "the late result of another call",
        OPENAI,
        TURN + "user 2.0 text x\nassistant 3.0 tool-call b ls {}\ntool 4.0 tool-result a f",
    ),
)


@in_one_test("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
