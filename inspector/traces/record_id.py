"""The id a trace collector gives a log record: 64-bit FNV-1a over the UTF-16 code units of its canonical JSON."""

import sys
from typing import Any

from inspector.text.js_json import canonical

_START = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = 0xFFFFFFFFFFFFFFFF
_NATIVE_UTF16 = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


def record_id(record: Any) -> str:
    """16 lower-case hex digits for a parsed LogRecord, body included. Raises ValueError where it is nested too deeply.

    The rule is the collector's own, so a journal line and the database row made of it get one id.
    """
    return fnv1a(canonical(record))


def fnv1a(text: str) -> str:
    """64-bit FNV-1a over the UTF-16 code units of `text` (not over bytes), as 16 lower-case hex digits."""
    value, prime, mask = _START, _PRIME, _MASK
    for unit in memoryview(text.encode(_NATIVE_UTF16, "surrogatepass")).cast("H"):
        value = ((value ^ unit) * prime) & mask
    return f"{value:016x}"
