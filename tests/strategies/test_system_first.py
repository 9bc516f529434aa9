"""What `system-first` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, Row, assert_strategy, previewed, written

ROWS = (
    Row(
        "system-first",
        "in the list, where the shape has it there",
        OPENAI,
        "system 0.0 system S\nuser 1.0 text go\nsystem 2.0 system T\nassistant 3.0 text x",
        "system 0.0 system S\nsystem 1.0 system T\nuser 2.0 text go\nassistant 3.0 text x",
    ),
    Row(
        "system-first",
        "outside of it, where the shape has it there",
        ANTHROPIC,
        "system -1.0 system S\nuser 0.0 text go\nsystem 1.0 system T\nassistant 2.0 text x",
        "system -1.0 system S\nsystem -1.1 system T\nuser 0.0 text go\nassistant 1.0 text x",
    ),
    Row("system-first", "two at the front", OPENAI, "system 0.0 system S\nsystem 1.0 system T\nuser 2.0 text go"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}: {row.what}")
def test_strategy(row: Row) -> None:
    assert_strategy(row)


def test_a_system_message_in_the_list_moves_to_the_place_that_its_shape_has_for_it() -> None:
    body = {"messages": [{"role": "user", "content": "go"}, {"role": "system", "content": "T"}, {"role": "assistant", "content": "x"}]}
    assert [each["role"] for each in written(previewed(body, ["system-first"], "openai-chat", OPENAI))["messages"]] == [
        *("system", "user", "assistant")
    ]
    after = written(previewed(body, ["system-first"]))
    assert after["system"] in ("T", [{"type": "text", "text": "T"}]) and [each["role"] for each in after["messages"]] == [
        "user",
        "assistant",
    ]
