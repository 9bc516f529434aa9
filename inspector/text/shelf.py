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
    """Of the members in memory; None for one that this mapping does not have."""

    def __init__(self, shelf: Shelf, value: Mapping[str, Any], shared: "Mapping[str, Any]") -> None:
        """`shared`: members that are no plain values, and only in memory."""
        self._shelf = shelf
        self._place = shelf.put({name: None if name in shared else item for name, item in value.items()})
        for name, slot in self._slots.items():
            if slot is not None:
                slot.__set__(self, value[name])

    def _all(self) -> dict[str, Any]:
        value: dict[str, Any] = self._shelf.get(self._place)
        return value

    def __getitem__(self, name: str) -> Any:
        if name not in self._slots:
            return self._all()[name]
        slot = self._slots[name]
        if slot is None:
            raise KeyError(name)
        return slot.__get__(self)

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self._slots:
            return self._all().get(name, default)
        slot = self._slots[name]
        return default if slot is None else slot.__get__(self)

    def __contains__(self, name: object) -> bool:
        return self._slots[name] is not None if name in self._slots else name in self._all()  # type: ignore[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


@cache
def _shelved_class(names: tuple[str, ...], present: tuple[bool, ...]) -> type[Shelved]:
    """With a slot for each of `names` that is `present`: a tuple of the values takes half as much again, for each of half a million mappings, and so do empty slots."""
    slots = {name: f"member_{number}" for number, name in enumerate(names) if present[number]}
    shelved_type: type[Shelved] = type("Shelved", (Shelved,), {"__slots__": list(slots.values())})
    shelved_type._slots = {name: shelved_type.__dict__[slots[name]] if name in slots else None for name in names}
    return shelved_type


def shelved(value: Mapping[str, Any], names: tuple[str, ...], **shared: Any) -> Mapping[str, Any]:
    """The mapping with `shared` in it, on the shelf of the work at hand; where there is none, as it is."""
    shelf = _SHELF.get()
    whole = {**value, **shared} if shared else value
    if shelf is None:
        return whole
    return _shelved_class(names, tuple([name in whole for name in names]))(shelf, whole, shared)
