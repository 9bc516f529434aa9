"""From the fields of a stored LogRecord, of whatever types they turn out to be, to a TraceRecord."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from inspector.text.js_json import canonical
from inspector.traces.model import TraceRecord

KINDS = ("log", "span-open", "span-close")
LATEST = 253_402_300_799_999
"""31 December 9999 in epoch milliseconds: later ones cannot be shown as a date."""

UNREADABLE = "(unreadable)"
"""Attribute name under which attributes or links are kept that are not of the agreed form."""


def record_of(fields: Mapping[str, Any], record_id: str, order: int, body: str | None, complain: Callable[[str], None]) -> TraceRecord:
    """A record of LogRecord `fields` (`kind`, `timestamp`, `spanId`, ...), `attributes` and `links` already parsed.

    Never raises: a field of the wrong type is kept as well as the shape allows, and `complain` gets a sentence about it.
    """
    kind = _text(fields, "kind", complain)
    if kind not in KINDS:
        complain(f"its kind is {kind[:40]!r}, not one of log, span-open and span-close: it is kept as a log line")
    return TraceRecord(
        id=record_id,
        kind=kind,
        timestamp=_timestamp(fields.get("timestamp"), complain),
        order=order,
        extension_id=_text(fields, "extensionId", complain),
        name=_text(fields, "name", complain),
        message=_text(fields, "msg", complain),
        level=_text(fields, "level", complain),
        span_id=_text(fields, "spanId", complain),
        parent_span_id=_text(fields, "parentSpanId", complain),
        conversation_id=_text(fields, "conversationId", complain),
        turn_id=_text(fields, "turnId", complain),
        duration_ms=_duration(fields.get("durationMs"), complain),
        status=_text(fields, "status", complain),
        attributes=_attributes(fields.get("attributes"), complain),
        links=_links(fields.get("links"), complain),
        body=body,
    )


def _text(fields: Mapping[str, Any], key: str, complain: Callable[[str], None]) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    complain(f"its {key} is not text: its value is kept as text")
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else canonical(value)


def _milliseconds(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return round(value) if 0 <= value <= LATEST else None


def _timestamp(value: Any, complain: Callable[[str], None]) -> int:
    milliseconds = _milliseconds(value)
    if milliseconds is None:
        complain("its timestamp is not a time in milliseconds: it is sorted before all others, as time 0")
    return milliseconds or 0


def _duration(value: Any, complain: Callable[[str], None]) -> int | None:
    milliseconds = _milliseconds(value)
    if value is not None and milliseconds is None:
        complain("its durationMs is not a number of milliseconds: the duration is unknown")
    return milliseconds


def _attributes(value: Any, complain: Callable[[str], None]) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    complain(f"its attributes are not an object: they are kept under the name {UNREADABLE}")
    return {UNREADABLE: value}


def _links(value: Any, complain: Callable[[str], None]) -> tuple[dict[str, Any], ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    if items is not value or not all(isinstance(item, dict) for item in items):
        complain(f"its links are not a list of objects: what is no object is kept under the name {UNREADABLE}")
    return tuple(item if isinstance(item, dict) else {UNREADABLE: item} for item in items)
