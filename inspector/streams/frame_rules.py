"""Violations that the frames of one side show, whatever their protocol."""

from collections.abc import Iterator
from typing import Any

from inspector.streams.assembling import shown
from inspector.streams.model import Frame, Framing, StreamViolation
from inspector.streams.records import Holds, StreamRecord

NOTES = {
    "crlf": "Lines end with CR LF.",
    "bare-cr": "Lines end with CR alone.",
    "bom": "The stream begins with a byte order mark.",
}
_TYPES = {
    Framing.SSE: ("text/event-stream",),
    # JSON lines have no registered type: each server has its own, or says no more than that it is text or bytes.
    Framing.NDJSON: (
        "application/x-ndjson",
        "application/ndjson",
        "application/x-jsonl",
        "application/jsonl",
        "application/x-jsonlines",
        "application/jsonlines",
        "application/json-lines",
        "application/x-json-stream",
        "application/json-stream",
        "application/stream+json",
        "application/x-ldjson",
        "application/json",
        "application/octet-stream",
        "binary/octet-stream",
        "text/plain",
    ),
}
_NAMES = {Framing.SSE: "server-sent events", Framing.NDJSON: "lines of JSON"}
_STATUS = ("statusCode", "status", "status_code", "detail")
"""Members of an HTTP error's body next to `error`, that no record of a stream has."""


class Frames:
    """Fed with every frame of one side. `declared`: its content type, "" where it is not known. `status`: of the HTTP response, None likewise."""

    def __init__(self, declared: str, status: int | None, lacks: frozenset[str]) -> None:
        self._declared = declared.partition(";")[0].strip().lower()
        self._began = status is not None and status < 400
        self._lacks = "framing" in lacks
        self._first: Framing | None = None
        self._noted: set[str] = set()
        self.mixed = False

    def feed(self, frame: Frame, record: StreamRecord) -> tuple[StreamViolation, ...]:
        # What nearly all frames are: one more record like the first, without marks.
        if not frame.marks and frame.framing is self._first and record.holds is Holds.JSON and not _has_error(record.value):
            return ()
        return tuple(StreamViolation(name, frame.index, text) for name, text in self._named_violations(frame, record))

    def _named_violations(self, frame: Frame, record: StreamRecord) -> Iterator[tuple[str, str]]:
        for mark in frame.marks:
            if mark in NOTES and mark not in self._noted:
                self._noted.add(mark)
                yield mark, NOTES[mark]
        if "bad-utf8" in frame.marks:
            yield "utf8-broken", "The bytes of the record are no UTF-8."
        if "unterminated" in frame.marks and frame.framing is Framing.SSE:
            yield "event-without-blank-line", "The last event has no blank line after it."
        if record.holds is Holds.PLAIN:
            yield "non-data-line", f"The line is no record: {shown(frame.data[:200].decode('utf-8', 'replace'))}"
        if self._lacks or record.holds not in (Holds.JSON, Holds.DONE):
            return
        if self._is_body(frame, record.value):
            yield "http-error-body-midstream", f"The body of an HTTP error is in the stream: {shown(record.value)}"
            return
        yield from self._framing(frame)
        self._began = True

    def is_body(self, frame: Frame, record: StreamRecord) -> bool:
        """Whether the record is the body of an HTTP error, in the place of a record of the protocol."""
        return record.holds is Holds.JSON and _has_error(record.value) and not self._lacks and self._is_body(frame, record.value)

    def _is_body(self, frame: Frame, value: Any) -> bool:
        if not self._began or not _has_error(value):
            return False
        if frame.framing is Framing.SSE:
            return False
        return self._first is Framing.SSE or "json-body" in frame.marks or any(name in value for name in _STATUS)

    def _framing(self, frame: Frame) -> Iterator[tuple[str, str]]:
        if frame.framing is Framing.OTHER:
            return
        if self._first is None:
            self._first = frame.framing
            if self._declared and self._declared not in _TYPES[frame.framing]:
                yield "framing-wrong-content-type", f"{shown(self._declared)} is declared, and {_NAMES[frame.framing]} came."
        elif frame.framing is not self._first and not self.mixed:
            self.mixed = True
            yield "framing-mixed", f"The stream began with {_NAMES[self._first]}, and {_NAMES[frame.framing]} come."


def _has_error(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("error"))
