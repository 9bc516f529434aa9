"""What was read last and will be asked for again at once: kept while one page or one plan is worked out (`at_work`), and no longer, since it may be large."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_Pairs = tuple[tuple[Any, Any], ...]
_WORK: ContextVar[dict[int, _Pairs] | None] = ContextVar("work", default=None)


@contextmanager
def at_work() -> Iterator[None]:
    """Until the outermost of these ends, what is put at hand stays there. Every thread has its own."""
    if _WORK.get() is not None:
        yield
        return
    token = _WORK.set({})
    try:
        yield
    finally:
        _WORK.reset(token)


@contextmanager
def apart() -> Iterator[None]:
    """What is put at hand until this ends is not at hand after it."""
    work = _WORK.get()
    token = _WORK.set(None if work is None else dict(work))
    try:
        yield
    finally:
        _WORK.reset(token)


class AtHand(Generic[T]):
    """The last `most` values, with what each was made of; outside of `at_work` the last `alone`, which all threads share."""

    def __init__(self, most: int, alone: int = 0) -> None:
        self._most, self._most_alone = most, alone
        self._alone: _Pairs = ()

    def __iter__(self) -> Iterator[tuple[Any, T]]:
        """(what it was made of, value), the newest first."""
        work = _WORK.get()
        return reversed(self._alone if work is None else work.get(id(self), ()))

    def put(self, source: object, value: T) -> T:
        work = _WORK.get()
        if work is not None:
            work[id(self)] = (*work.get(id(self), ()), (source, value))[-self._most :]
        elif self._most_alone:
            self._alone = (*self._alone, (source, value))[-self._most_alone :]
        return value

    def of(self, source: object, make: Callable[[], T]) -> T:
        """What was made of this very object, else what `make` gives."""
        for known, value in self:
            if known is source:
                return value
        return self.put(source, make())
