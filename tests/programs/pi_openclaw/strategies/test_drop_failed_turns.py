"""What `drop-failed-turns` does to sessions that are trees: the path after it, and what the written file contains."""

import pytest

from tests.programs.pi_openclaw.strategies.repaired_trees import of_shape, recommended, repaired, said


@pytest.mark.parametrize(
    ("shape", "left"),
    [
        ("U A(c1)^error U", "U U"),
        ("U A(c1)^aborted R(c1=partial) U", "U U"),
        ("U A(c1 c2)^aborted R(c1=x) U R(c2=late)", "U U"),
        ("U A('cut sho')^aborted U", "U A('cut sho')^aborted U"),
        ("U A(c1) R(c1=ok) U", "U A(c1) R(c1=ok) U"),
    ],
)
def test_a_failed_turn_goes_with_its_results(shape: str, left: str) -> None:
    assert said(repaired(of_shape(shape), "drop-failed-turns")) == left


def test_the_partial_result_of_an_aborted_turn_goes_only_where_the_program_makes_an_orphan_of_it() -> None:
    """pi leaves the answer out and sends the result; a client that sends the path as it is has no trouble with it."""
    shape = "U A(c1)^aborted R(c1=partial) U"
    assert recommended(of_shape(shape, reader="verbatim"))[0] == []
    names, final = recommended(of_shape(shape, reader="pi-1.5"))
    assert names == ["drop-failed-turns"] and said(final) == "U U"
