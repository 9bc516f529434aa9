"""What `insert-recovered-result` changes in the rows of a job, and what is refused in a sentence."""

import pytest

from inspector.programs.gbrain.readers import RECOVERED
from tests.programs.gbrain.strategies.repaired_jobs import assert_words_are_made_up_only_for_a_call_whose_run_did_not_end


@pytest.mark.parametrize(
    ("name", "words"),
    [("insert-recovered-result", RECOVERED)],
)
def test_words_are_made_up_only_for_a_call_whose_run_did_not_end(name: str, words: str) -> None:
    assert_words_are_made_up_only_for_a_call_whose_run_did_not_end(name, words)
