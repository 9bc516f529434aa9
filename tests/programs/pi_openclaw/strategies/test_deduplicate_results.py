"""What `deduplicate-results` does to sessions that are trees: the path after it, and what the written file contains."""

from tests.programs.pi_openclaw.strategies.repaired_trees import of_shape, repaired, said


def test_equal_results_of_two_entries_are_one_result_twice() -> None:
    final = repaired(of_shape("U A(c1) R(c1=ok) R(c1=ok) U"), "deduplicate-results")
    assert said(final) == "U A(c1) R(c1=ok) U"
