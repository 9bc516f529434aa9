"""Values that are looked at one after the other and need not all be in memory: kept elsewhere while a piece of work lasts, loaded when they are looked at."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
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


class Shelved(Mapping[str, Any]):
    """A mapping on a shelf. The members that everybody asks for are in memory as well, each in a slot of the class (see `_shelved_class`)."""

    __slots__ = ("_place", "_shelf")
    _slots: Mapping[str, Any] = {}

    def __init__(self, shelf: Shelf, value: Mapping[str, Any], shared: "Mapping[str, Any]") -> None:
        """`shared`: members that are no plain values, and only in memory."""
        self._shelf = shelf
        self._place = shelf.put({name: None if name in shared else item for name, item in value.items()})
        for name, slot in self._slots.items():
            if name in value:
                slot.__set__(self, value[name])

    def _all(self) -> dict[str, Any]:
        value: dict[str, Any] = self._shelf.get(self._place)
        return value

    def __getitem__(self, name: str) -> Any:
        slot = self._slots.get(name)
        if slot is None:
            return self._all()[name]
        try:
            return slot.__get__(self)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        slot = self._slots.get(name)
        if slot is None:
            return self._all().get(name, default)
        try:
            return slot.__get__(self)
        except AttributeError:
            return default

    def __contains__(self, name: object) -> bool:
        slot = self._slots.get(name)  # type: ignore[call-overload]
        return name in self._all() if slot is None else hasattr(self, slot.__name__)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


@cache
def _shelved_class(names: tuple[str, ...]) -> type[Shelved]:
    """With a slot for each of `names`: a tuple of their values takes half as much again, for each of half a million mappings."""
    slots = [f"member_{number}" for number in range(len(names))]
    shelved_type: type[Shelved] = type("Shelved", (Shelved,), {"__slots__": slots})
    shelved_type._slots = {name: shelved_type.__dict__[slot] for name, slot in zip(names, slots, strict=True)}
    return shelved_type


def shelved(value: Mapping[str, Any], names: tuple[str, ...], **shared: Any) -> Mapping[str, Any]:
    """The mapping with `shared` in it, on the shelf of the work at hand; where there is none, as it is."""
    shelf = _SHELF.get()
    whole = {**value, **shared} if shared else value
    return whole if shelf is None else _shelved_class(names)(shelf, whole, shared)
