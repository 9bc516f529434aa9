"""Recorded answers of gemini-cli's tests (`*.responses`): a line is one call, its `response` the list of chunks that came (or the one answer)."""

from collections.abc import Iterator
from functools import partial

from inspector.streams.captures import chunk_lines
from inspector.streams.captures.base import CaptureLine, NoCapture, Opened, from_backend, json_object, lines, text_member
from inspector.streams.model import Exchange, Side
from inspector.text.jsontext import compact, encode

_METHODS = frozenset(("generateContent", "generateContentStream", "countTokens", "embedContent"))


def sniff(head: bytes, name: str) -> bool:
    value = json_object(head.lstrip().partition(b"\n")[0])
    return name.lower().endswith(".responses") or (value is not None and text_member(value, "method") in _METHODS and "response" in value)


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    """Calls that generate content; counting and embedding stream nothing. An empty file has none."""
    skipped = 0
    for number, line in enumerate(lines(opened())):
        value = json_object(line.data or b"")
        if value is None:
            skipped += 1
        elif text_member(value, "method").startswith("generateContent"):
            problems = (f"{skipped:,} lines before this one are no JSON object, or too long, and were skipped.",) if skipped else ()
            yield Exchange(
                native_id=f"{name}#{number}",
                happenings=from_backend(partial(_events, opened, line.offset)),
                sides=(Side.BACKEND,),
                title=f"{name} {text_member(value, 'method')}".strip(),
                protocols={Side.BACKEND: "gemini"},
                problems=problems,
                lacks=chunk_lines.LACKS | {"bytes"} | (set() if isinstance(value.get("response"), list) else {"stream"}),
            )
            skipped = 0
    if skipped:
        raise NoCapture(f"{skipped:,} lines at its end are no JSON object: the recording was cut off there.")


def _events(opened: Opened, offset: int) -> Iterator[bytes]:
    line = next(lines(opened(offset), offset), CaptureLine(offset, b""))
    value = json_object(line.data or b"")
    response = value.get("response") if value else None
    for event in response if isinstance(response, list) else [response]:
        yield encode(compact(event)) + b"\n"
