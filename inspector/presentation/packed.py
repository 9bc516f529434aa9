"""Plain dataclasses as bytes and back: compressed JSON in ASCII, since texts of stores hold lone surrogates and NUL."""

import json
import zlib
from typing import Any, TypeVar

from cattrs import BaseValidationError
from cattrs.preconf.json import make_converter

T = TypeVar("T")

_CONVERTER = make_converter()
_LEVEL = 1
"""Rows repeat so much that the fastest level makes them five times smaller."""


def packed(value: Any) -> bytes:
    return zlib.compress(json.dumps(_CONVERTER.unstructure(value), separators=(",", ":")).encode(), _LEVEL)


def prepare(kind: type[Any]) -> None:
    """The code that `unpacked` runs is made now, and not when it is asked for first."""
    _CONVERTER.get_structure_hook(kind)


class Unreadable(Exception):
    """Another version packed it, in another shape."""


def unpacked(kind: type[T], data: bytes | memoryview) -> T:
    """Raises Unreadable."""
    try:
        return _CONVERTER.structure(json.loads(zlib.decompress(data)), kind)
    except (BaseValidationError, zlib.error, ValueError, TypeError) as problem:
        raise Unreadable from problem
