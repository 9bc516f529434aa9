"""Values that are looked at one after the other and need not all be in memory: kept elsewhere while a piece of work lasts, loaded when they are looked at."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Shelf(Protocol):
    """`put` returns the place under which `get` loads the value: plain parsed JSON, never changed in place."""

    def put(self, value: Any) -> int: ...
    def get(self, place: int) -> Any: ...


_SHELF: ContextVar[Shelf | None] = ContextVar("shelf", default=None)


@contextmanager
def shelving(shelf: Shelf) -> Iterator[None]:
    """What is made until this ends is kept on the shelf, where its maker asks for one."""
    token = _SHELF.set(shelf)
    try:
        yield
    finally:
        _SHELF.reset(token)


def current() -> Shelf | None:
    return _SHELF.get()


_ABSENT = object()


class Shelved(Mapping[str, Any]):
    """A mapping on a shelf. The members `names` are in memory as well, since everybody asks for them."""

    __slots__ = ("_names", "_place", "_shelf", "_values")

    def __init__(self, shelf: Shelf, value: Mapping[str, Any], names: Sequence[str], shared: "Mapping[str, Any]") -> None:
        """`shared`: members that are no plain values, and only in memory."""
        self._shelf, self._names = shelf, names
        self._place = shelf.put({name: None if name in shared else item for name, item in value.items()})
        self._values = tuple(value.get(name, _ABSENT) for name in names)

    def _all(self) -> dict[str, Any]:
        value: dict[str, Any] = self._shelf.get(self._place)
        return value

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            return self._all()[name]
        value = self._values[self._names.index(name)]
        if value is _ABSENT:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self._names:
            return self._all().get(name, default)
        value = self._values[self._names.index(name)]
        return default if value is _ABSENT else value

    def __contains__(self, name: object) -> bool:
        return self._values[self._names.index(name)] is not _ABSENT if name in self._names else name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def shelved(value: Mapping[str, Any], names: Sequence[str], **shared: Any) -> Mapping[str, Any]:
    """The mapping with `shared` in it, on the shelf of the work at hand; where there is none, as it is."""
    shelf = _SHELF.get()
    whole = {**value, **shared} if shared else value
    return whole if shelf is None else Shelved(shelf, whole, names, shared)
