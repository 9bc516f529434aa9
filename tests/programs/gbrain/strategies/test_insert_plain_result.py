"""What `insert-plain-result` changes in the rows of a job, and what is refused in a sentence."""

import pytest

from inspector.rules.synthetic_texts import OURS
from tests.programs.gbrain.strategies.repaired_jobs import assert_words_are_made_up_only_for_a_call_whose_run_did_not_end


@pytest.mark.parametrize(
    ("name", "words"),
    [("insert-plain-result", OURS)],
)
def test_words_are_made_up_only_for_a_call_whose_run_did_not_end(name: str, words: str) -> None:
    assert_words_are_made_up_only_for_a_call_whose_run_did_not_end(name, words)
