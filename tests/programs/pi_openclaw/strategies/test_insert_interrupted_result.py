"""What `insert-interrupted-result` does to sessions that are trees: the path after it, and what the written file contains."""

import pytest

from inspector.programs.pi_openclaw.readers.result_pairing import MISSING, NO_RESULT
from inspector.rules.base import case_of
from tests.programs.pi_openclaw.strategies.repaired_trees import (
    assert_the_words_of_a_placeholder_result_can_be_chosen,
    of_shape,
    recommended,
    refused,
    repaired,
    said,
)


def test_messages_stay_apart_where_two_results_are_put_in_side_by_side() -> None:
    final = repaired(of_shape("U A(c1 c2 c3) U"), "insert-interrupted-result")
    assert said(final) == "U A(c1 c2 c3) R(c1=NRP) R(c2=NRP) R(c3=NRP) U"
    assert len({chunk.seq for chunk in final.conversation.chunks}) == len(final.conversation.chunks)


@pytest.mark.parametrize(
    ("name", "format_name", "words", "details"),
    [("insert-interrupted-result", "pi", NO_RESULT, False), ("insert-interrupted-result", "openclaw", MISSING, True)],
)
def test_the_words_of_a_placeholder_result_can_be_chosen(name: str, format_name: str, words: str, details: bool) -> None:
    assert_the_words_of_a_placeholder_result_can_be_chosen(name, format_name, words, details)


def test_no_result_is_made_up_for_a_failed_turn_that_pi_leaves_out() -> None:
    case = of_shape("U A(c1)^error U")
    assert repaired(case, "insert-interrupted-result", "insert-pi-result").conversation == case.conversation
    _, final = recommended(case)
    assert refused(case_of(final.conversation, "pi-1.5")) == []
