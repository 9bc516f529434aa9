"""The bytes of one response as they came: `curl -N URL > x.sse`. Packed with gzip they are unpacked, as far as that goes."""

from collections.abc import Iterator

from inspector.streams.captures.base import BOM, NEVER_KEPT, Opened, from_backend, head_of
from inspector.streams.captures.unpacking import GZIP, problems_of, unpacked
from inspector.streams.model import Exchange, How, Side

_SSE = (b"data:", b"event:", b"id:", b"retry:", b":")


def sniff(head: bytes, name: str) -> bool:
    start = head.removeprefix(BOM).lstrip()
    return start.startswith((*_SSE, b"{", b"[", GZIP)) or name.lower().endswith((".sse", ".ndjson", ".jsonl", ".txt"))


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    is_packed = head_of(opened, len(GZIP)) == GZIP
    problems = problems_of(opened(), "gzip") if is_packed else ()
    yield Exchange(
        native_id=name or "stream",
        happenings=from_backend((lambda: unpacked(opened(), "gzip")) if is_packed else opened, How.CUT if problems else How.UNKNOWN),
        sides=(Side.BACKEND,),
        title=name,
        problems=problems,
        lacks=NEVER_KEPT,
    )
