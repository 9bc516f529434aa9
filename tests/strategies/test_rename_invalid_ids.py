"""What `rename-invalid-ids` makes of a history, what it leaves alone, and that a second run finds nothing."""

import pytest

from tests.strategies.before_and_after import ANTHROPIC, OPENAI, SESSION, assert_an_id_that_is_not_taken_is_renamed_with_its_result


@pytest.mark.parametrize(
    ("name", "call_id", "is_renamed"),
    [
        ("rename-invalid-ids", "call:1", True),
        ("rename-invalid-ids", "c" * 41, True),
        ("rename-invalid-ids", "c" * 40, False),
        ("rename-invalid-ids", "toolu_01-x", False),
    ],
)
@pytest.mark.parametrize("format_name", [ANTHROPIC, OPENAI, SESSION])
def test_an_id_that_is_not_taken_is_renamed_with_its_result(name: str, call_id: str, is_renamed: bool, format_name: str) -> None:
    assert_an_id_that_is_not_taken_is_renamed_with_its_result(name, call_id, is_renamed, format_name)
