"""What `shorten-ids` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import (
    ANTHROPIC,
    OPENAI,
    SESSION,
    assert_an_id_that_is_not_taken_is_renamed_with_its_result,
    history,
    ids,
    repaired,
)


@pytest.mark.parametrize(
    ("name", "call_id", "is_renamed"),
    [("shorten-ids", "toolu_01-x", True), ("shorten-ids", "abcdefgh", True), ("shorten-ids", "abcDEF123", False)],
)
@pytest.mark.parametrize("format_name", [ANTHROPIC, OPENAI, SESSION])
def test_an_id_that_is_not_taken_is_renamed_with_its_result(name: str, call_id: str, is_renamed: bool, format_name: str) -> None:
    assert_an_id_that_is_not_taken_is_renamed_with_its_result(name, call_id, is_renamed, format_name)


def test_two_calls_of_one_invalid_id_get_two_ids() -> None:
    text = "assistant 0.0 tool-call a:b ls {}\ntool 1.0 tool-result a:b f\nassistant 2.0 tool-call a:b ls {}\ntool 3.0 tool-result a:b g"
    first, its, second, others = ids(repaired("shorten-ids", history(text, OPENAI)))
    assert first == its != second == others
