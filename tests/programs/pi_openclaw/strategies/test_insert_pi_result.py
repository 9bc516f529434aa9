"""What `insert-pi-result` does to sessions that are trees: the path after it, and what the written file contains."""

import pytest

from inspector.programs.pi_openclaw.readers.result_pairing import NO_RESULT
from tests.programs.pi_openclaw.strategies.repaired_trees import assert_the_words_of_a_placeholder_result_can_be_chosen


@pytest.mark.parametrize(
    ("name", "format_name", "words", "details"),
    [("insert-pi-result", "openclaw", NO_RESULT, False)],
)
def test_the_words_of_a_placeholder_result_can_be_chosen(name: str, format_name: str, words: str, details: bool) -> None:
    assert_the_words_of_a_placeholder_result_can_be_chosen(name, format_name, words, details)
