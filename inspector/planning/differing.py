"""Where the bytes of a record differ before and after a change. Of a file that is one record, lines are what is written and read."""

from collections import Counter
from collections.abc import Callable

from inspector.programs.formats import Change

_WINDOW = 1 << 20
"""Bytes that are compared at once: the file of a long session is not copied."""


def alike(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    return _as_long_as(lambda low, high: one[low:high] == other[low:high], min(len(one), len(other)))


def differing(before: bytes, after: bytes) -> tuple[slice, slice]:
    """Of each the lines from the first to the last that differ."""
    start = before.rfind(b"\n", 0, alike(before, after)) + 1
    old, new = len(before), len(after)
    end = _as_long_as(lambda low, high: before[old - high : old - low] == after[new - high : new - low], min(old, new) - start)
    if not all(at == start or text[at - 1 : at] == b"\n" for text, at in ((before, old - end), (after, new - end))):
        line = before.find(b"\n", old - end)
        end = old - line - 1 if line >= 0 else 0
    return slice(start, old - end), slice(start, new - end)


def _as_long_as(are_equal: Callable[[int, int], bool], most: int) -> int:
    """The highest number up to which all is equal."""
    low = 0
    while low < most and are_equal(low, min(low + _WINDOW, most)):
        low = min(low + _WINDOW, most)
    high = min(low + _WINDOW, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if are_equal(low, middle) else (low, middle - 1)
    return low


def new_bytes(change: Change) -> int:
    """Bytes of the lines that are stored after it and not before."""
    if change.before is None or change.after is None:
        return len(change.after.data) if change.after else 0
    old, new = differing(change.before.data, change.after.data)
    left = Counter(change.before.data[old].splitlines(keepends=True))
    total = 0
    for line in change.after.data[new].splitlines(keepends=True):
        left[line] -= 1
        total += len(line) if left[line] < 0 else 0
    return total
