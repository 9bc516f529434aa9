"""A loop of calls at the end of a piece of the stack takes memory from the system at each call; with room it does not, however deep it is called."""

import pickle
import resource
import sys
from collections.abc import Callable

import pytest

from inspector.frames import with_room
from inspector.sources import workers

CALLS = 200
DEPTHS = range(160)
"""Of frames as small as `below`: more than a piece has room for."""


def faults(depth: int) -> int:
    """Of pages of memory, during so many calls of a function below so many frames."""
    if depth:
        return faults(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(CALLS):
        doubled(number)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def doubled(number: int) -> list[int]:
    return [number * 2 for _ in range(2)]


def worst(depths: range) -> int:
    return max(faults(depth) for depth in depths)


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or sys.platform != "linux", reason="pieces of 16 KB are CPython's, page faults are Linux's"
)
@pytest.mark.parametrize(("call", "is_slow"), [(worst, True), (with_room(worst), False)], ids=["without room", "with room"])
def test_no_depth_takes_memory_at_each_call(call: Callable[[range], int], is_slow: bool) -> None:
    assert (call(DEPTHS) >= CALLS) is is_slow


def test_it_is_the_same_function_by_name_arguments_result_and_error() -> None:
    @with_room
    def divided(one: int, by: int = 2) -> float:
        """Of two."""
        return one / by

    assert (divided(4), divided(4, by=1), divided.__name__, divided.__doc__) == (2.0, 4.0, "divided", "Of two.")
    with pytest.raises(ZeroDivisionError):
        divided(1, by=0)


def test_what_a_process_starts_with_can_still_be_sent_to_it() -> None:
    assert pickle.loads(pickle.dumps(workers._serve)) is workers._serve
