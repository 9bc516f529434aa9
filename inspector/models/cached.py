"""What pages computed and may need again, kept in memory up to a number of bytes: sixteen conversations are a megabyte or five gigabytes."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from threading import Lock, RLock
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakSet, WeakValueDictionary

from inspector.access.context import everything

P = ParamSpec("P")
K = TypeVar("K")
V = TypeVar("V")

MEGABYTE = 1024 * 1024
_ALL: WeakSet[Any] = WeakSet()
"""All of these caches."""


class Kept(Generic[K, V]):
    """Values by key, of at most `most_bytes` together; those not asked for the longest are dropped first. `size` estimates the bytes of a value."""

    def __init__(self, most_bytes: int, size: Callable[[V], int]) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._size = size
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()
        _ALL.add(self)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V) -> bool:
        """Whether it is kept: not what is larger than all together may be."""
        size = self._size(value)
        if size > self.most_bytes:
            return False
        with self._lock:
            self.bytes += size - self._values.get(key, (None, 0))[1]
            self._values[key] = value, size
            self._values.move_to_end(key)
            while self.bytes > self.most_bytes:
                self.bytes -= self._values.popitem(last=False)[1][1]
        return True

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.bytes = 0


class BoundedCache(Generic[P, V]):
    """A function of hashable arguments whose results are kept, of at most `most_bytes` together; those not asked for the longest are dropped first.

    `size` estimates the bytes of a result. A result larger than the whole cache is shared by all who hold it (a page that asks for it several times,
    two pages at once) and gone after them: its class must allow weak references for that, else it is computed each time. None is not kept.
    """

    def __init__(self, work: Callable[P, V], most_bytes: int, size: Callable[[V], int]) -> None:
        self.kept: Kept[Any, V] = Kept(most_bytes, size)
        self._work = work
        self._large: WeakValueDictionary[Any, Any] = WeakValueDictionary()
        self._lock = Lock()
        self._at_work: dict[Any, tuple[RLock, int]] = {}
        update_wrapper(self, work)
        _ALL.add(self)

    def __len__(self) -> int:
        """How many results are kept; not the large ones."""
        return len(self.kept)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> V:
        """Of two threads that ask with the same arguments at once, the second waits for the first."""
        key = (args, tuple(sorted(kwargs.items())))
        result = self._known(key)
        if result is not None:
            return result
        with self._lock:
            own, users = self._at_work.get(key, (RLock(), 0))
            self._at_work[key] = own, users + 1
        try:
            with own:
                result = self._known(key)
                if result is None:
                    # Whoever asks next gets it too: it depends on nobody.
                    with everything():
                        result = self._work(*args, **kwargs)
                    self._keep(key, result)
                return result
        finally:
            with self._lock:
                _, users = self._at_work.pop(key)
                if users > 1:
                    self._at_work[key] = own, users - 1

    def is_known(self, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Whether the result for these arguments is there now."""
        return self._known((args, tuple(sorted(kwargs.items())))) is not None

    def cache_clear(self) -> None:
        self.kept.clear()
        self.clear()

    def clear(self) -> None:
        """What is too large to be kept; the rest is cleared by itself."""
        with self._lock:
            self._large.clear()

    def _known(self, key: Any) -> V | None:
        known = self.kept.get(key)
        if known is not None:
            return known
        with self._lock:
            large: V | None = self._large.get(key)
            return large

    def _keep(self, key: Any, result: V) -> None:
        if result is not None and not self.kept.put(key, result):
            with self._lock, suppress(TypeError):
                self._large[key] = result


def bounded_cache(most_bytes: int, size: Callable[[V], int]) -> Callable[[Callable[P, V]], BoundedCache[P, V]]:
    """Instead of `lru_cache`, which counts results and not what they weigh."""
    return lambda work: BoundedCache(work, most_bytes, size)


def forget() -> None:
    """Drops what all caches hold: in another database the same row ids are other rows."""
    for cache in list(_ALL):
        cache.clear()
