"""What `move-results` makes of a history, what it leaves alone, and that a second run finds nothing."""

from tests.folding import in_one_test
from tests.strategies.before_and_after import ANTHROPIC, LATE, OPENAI, SESSION, TURN, TWO_CALLS, Row, assert_strategy

ROWS = (
    Row(
        "move-results",
        "a late result joins the user's words in the shape that has results there",
        ANTHROPIC,
        LATE,
        TURN + "tool 2.0 tool-result a files\nuser 2.1 text and?\nassistant 3.0 text hm",
    ),
    Row(
        "move-results",
        "a late result becomes a message of its own elsewhere",
        OPENAI,
        LATE,
        TURN + "tool 2.0 tool-result a files\nuser 3.0 text and?\nassistant 4.0 text hm",
    ),
    Row("move-results", "and a line", SESSION, LATE, TURN + "tool 2.0 tool-result a files\nuser 3.0 text and?\nassistant 4.0 text hm"),
    Row(
        "move-results",
        "after the words of the same message",
        ANTHROPIC,
        TURN + "user 2.0 text and?\ntool 2.1 tool-result a files",
        TURN + "tool 2.0 tool-result a files\nuser 2.1 text and?",
    ),
    Row(
        "move-results",
        "two late results keep their order after their calls",
        OPENAI,
        TWO_CALLS + "user 2.0 text and?\ntool 3.0 tool-result b second\ntool 4.0 tool-result a first",
        TWO_CALLS + "tool 2.0 tool-result a first\ntool 3.0 tool-result b second\nuser 4.0 text and?",
    ),
    *(
        Row(
            "move-results",
            "two results that stand in each other's place",
            format_name,
            TURN + "tool 2.0 tool-result b second\nassistant 3.0 tool-call b pwd {}\ntool 4.0 tool-result a first\nuser 5.0 text and?",
            TURN + "tool 2.0 tool-result a first\nassistant 3.0 tool-call b pwd {}\n" + after,
        )
        for format_name, after in (
            (OPENAI, "tool 4.0 tool-result b second\nuser 5.0 text and?"),
            (SESSION, "tool 4.0 tool-result b second\nuser 5.0 text and?"),
            (ANTHROPIC, "tool 4.0 tool-result b second\nuser 4.1 text and?"),
        )
    ),
    Row("move-results", "a result in its place", OPENAI, TURN + "tool 2.0 tool-result a files\nuser 3.0 text and?"),
    Row(
        "move-results",
        "results in another order than their calls",
        OPENAI,
        TWO_CALLS + "tool 2.0 tool-result b x\ntool 3.0 tool-result a y",
    ),
    Row("move-results", "a result that no call has", OPENAI, "user 0.0 text go\nassistant 1.0 text x\ntool 2.0 tool-result z files"),
)


@in_one_test("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)
