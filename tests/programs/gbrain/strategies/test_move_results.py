"""What `move-results` changes in the rows of a job, and what is refused in a sentence."""

import pytest

from inspector.text import jsonb
from tests.programs.gbrain.conformance_rows import ASKED, A, Case, result, stored, text
from tests.programs.gbrain.strategies.repaired_jobs import assert_where_the_index_is_taken_it_is_refused_and_what_to_do_is_said, rows, tried


@pytest.mark.parametrize(
    ("name", "strategy", "words"),
    [("row 13", "move-results", "holds words of the user")],
)
def test_where_the_index_is_taken_it_is_refused_and_what_to_do_is_said(name: str, strategy: str, words: str) -> None:
    assert_where_the_index_is_taken_it_is_refused_and_what_to_do_is_said(name, strategy, words)


def test_a_result_is_never_put_behind_words_where_it_would_answer_nothing() -> None:
    """Words first, then the result twice: the one that is moved stands in front, and is the one that stays."""
    twice_ = [text("and?"), result("a", "head", 1), result("a", "head", 1)]
    job = stored(Case("", "", {0: ASKED, 1: A, 2: ("user", twice_)}))
    made = tried(job, "move-results", "deduplicate-results")
    assert jsonb.parse(rows(job, made)[2]) == [result("a", "head", 1), text("and?")]
    assert "displaced-result" not in {found.rule for found in made.after.findings}
