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
V = TypeVar("V")

MEGABYTE = 1024 * 1024


class BoundedCache(Generic[P, V]):
    """A function of hashable arguments whose results are kept, of at most `most_bytes` together; those not asked for the longest are dropped first.

    `size` estimates the bytes of a result. A result larger than the whole cache is shared by all who hold it (a page that asks for it several times,
    two pages at once) and gone after them: its class must allow weak references for that, else it is computed each time. None is not kept.
    """

    def __init__(self, work: Callable[P, V], most_bytes: int, size: Callable[[V], int]) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._work, self._size = work, size
        self._kept: OrderedDict[Any, tuple[V, int]] = OrderedDict()
        self._large: WeakValueDictionary[Any, Any] = WeakValueDictionary()
        self._lock = Lock()
        self._at_work: dict[Any, tuple[RLock, int]] = {}
        update_wrapper(self, work)
        _ALL.add(self)

    def __len__(self) -> int:
        """How many results are kept; not the large ones."""
        return len(self._kept)

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
        with self._lock:
            self._kept.clear()
            self._large.clear()
            self.bytes = 0

    def _known(self, key: Any) -> V | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            large: V | None = self._large.get(key)
            return large

    def _keep(self, key: Any, result: V) -> None:
        if result is None:
            return
        size = self._size(result)
        with self._lock:
            if size > self.most_bytes:
                with suppress(TypeError):
                    self._large[key] = result
                return
            self.bytes += size - self._kept.get(key, (None, 0))[1]
            self._kept[key] = result, size
            while self.bytes > self.most_bytes:
                self.bytes -= self._kept.popitem(last=False)[1][1]


_ALL: WeakSet[BoundedCache[Any, Any]] = WeakSet()


def bounded_cache(most_bytes: int, size: Callable[[V], int]) -> Callable[[Callable[P, V]], BoundedCache[P, V]]:
    """Instead of `lru_cache`, which counts results and not what they weigh."""
    return lambda work: BoundedCache(work, most_bytes, size)


def forget() -> None:
    """Drops what all caches hold: in another database the same row ids are other rows."""
    for cache in list(_ALL):
        cache.cache_clear()
