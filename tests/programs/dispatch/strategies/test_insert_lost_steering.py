"""What `insert-lost-steering` restores from archive, trace or older rows, and what is not certain enough for it."""

from dataclasses import replace

import pytest

from tests.programs.dispatch.appended_stores import U
from tests.programs.dispatch.strategies.incidents import ASKED, FOUND_A, FOUND_B, MODES, STEERED, believed, of, steered, trace_of


@pytest.mark.parametrize("mode", MODES)
def test_what_was_said_during_a_turn_stands_behind_the_results_that_were_there(mode: str) -> None:
    repaired = steered().repaired(mode)
    assert of(repaired) == "U1 A[2-4] T5 T6 U7 A8 U9"
    assert repaired.chunks[6].text == "only the tests"


def test_two_things_said_between_the_same_steps_keep_their_order() -> None:
    last = believed(U("go"), ASKED, FOUND_A, FOUND_B, STEERED, U("and docs", "please"))
    repaired = replace(steered(), trace=trace_of({"prompt": believed(U("go"))}, {"prompt": last})).repaired()
    assert of(repaired) == "U1 A[2-4] T5 T6 U7 U[8-9] A10 U11"
    assert [chunk.text for chunk in repaired.chunks[6:9]] == ["only the tests", "and docs", "please"]
