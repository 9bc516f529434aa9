"""Room for the frames of Python's calls, in one piece.

CPython keeps the frames of a thread in chunks of 16 KB (since 3.11, `push_chunk` in Python/pystate.c). It takes a chunk from the system when a call does not fit
into the last one, and gives it back when that call returns. Code at just that depth which calls something in a loop does both at each call: 7 µs in place of
0.2, and more while other threads run. Which code that is depends on every frame above it: two more made the list of conversations a third slower.
"""

from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
SLOTS = 1 << 15
"""Of a frame, as pointers. CPython takes a chunk of twice as much for it, and the rest is for hundreds of calls."""


def with_room(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with room for what it calls; as the first middleware, for a whole request. Only what is used of it becomes memory."""

    def call(*arguments: P.args, **named: P.kwargs) -> R:
        return function(*arguments, **named)

    small = cast(FunctionType, call)
    large = FunctionType(small.__code__.replace(co_stacksize=SLOTS), small.__globals__, closure=small.__closure__)
    return cast(Callable[P, R], update_wrapper(large, function))
