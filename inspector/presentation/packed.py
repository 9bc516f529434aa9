"""Plain dataclasses as bytes and back: compressed JSON in ASCII, since texts of stores hold lone surrogates and NUL."""

import json
import zlib
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from cattrs.preconf.json import make_converter

T = TypeVar("T")

_CONVERTER = make_converter()
_LEVEL = 1
"""Rows repeat so much that the fastest level makes them five times smaller."""
LATER = {"later": True}
"""Metadata of a field of a dataclass that an earlier version did not write: read of what that one wrote, it has its default. Only so can what was kept still be shown until it is judged again."""


def packed(value: Any) -> bytes:
    return zlib.compress(json.dumps(_CONVERTER.unstructure(value), separators=(",", ":")).encode(), _LEVEL)


def prepare(kind: type[Any]) -> None:
    """The code that `unpacked` runs is made now, and not when it is asked for first."""
    _CONVERTER.get_structure_hook(kind)


@cache
def shape(*kinds: type[Any]) -> str:
    """What `packed` writes of these: the fields and types of each dataclass and NamedTuple in them and the names of each enum, as text. What has another shape cannot be unpacked. Without fields that are `LATER`."""
    described: dict[Any, list[str]] = {}

    def describe(kind: Any) -> None:
        for argument in get_args(kind):
            describe(argument)
        if not isinstance(kind, type) or kind in described:
            return
        if is_dataclass(kind) or issubclass(kind, tuple):
            later = {field.name for field in fields(kind) if field.metadata.get("later")} if is_dataclass(kind) else ()
            hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in later}
            described[kind] = [f"{name}: {hint}" for name, hint in hints.items()]
            for hint in hints.values():
                describe(hint)
        elif issubclass(kind, Enum):
            described[kind] = [f"{member.name} = {member.value}" for member in kind]

    for kind in kinds:
        describe(kind)
    return repr(sorted((kind.__qualname__, of) for kind, of in described.items()))


def unpacked(kind: type[T], data: bytes | memoryview) -> T:
    """Of what was packed with this shape."""
    return _CONVERTER.structure(json.loads(zlib.decompress(data)), kind)
