"""What `shorten-ids` and `rename-invalid-ids` leave alone in sessions that are trees."""

import pytest

from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.strategies.repaired_trees import BRANCH, of, of_shape, repaired, texts


@pytest.mark.parametrize("name", ["shorten-ids", "rename-invalid-ids"])
def test_a_call_whose_result_is_on_another_branch_keeps_the_id_that_the_result_has(name: str) -> None:
    """With another id nothing led to the result any more, and what was wrong silently passed for repaired."""
    case = of(*BRANCH)
    assert list(strategy(name).edits(case)) == []
    assert texts(repaired(repaired(case, name), "reparent-to-result")) == ["list it", "c1", "a.py b.py", "and?"]


def test_a_call_that_has_no_result_anywhere_gets_another_id() -> None:
    (edit,) = strategy("shorten-ids").edits(of_shape("U A(c1) U"))
    assert len(edit.new.call_id) == 9  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["shorten-ids", "rename-invalid-ids"])
def test_an_id_that_is_used_again_is_replaced_in_both_turns(name: str) -> None:
    """P18: the only result is on the path and is of the second call, so that the first has none on another branch."""
    case = repaired(of_shape("U A(c.1) U A(c.1) R(c.1=two) U"), name)
    first, second, result = (chunk.call_id for chunk in case.conversation.chunks if chunk.call_id)
    assert second == result != first
    assert "." not in first + second
