"""The bytes of one response as they came: `curl -N URL > x.sse`. Packed with gzip they are unpacked, as far as that goes."""

from collections.abc import Iterator
from functools import partial

from inspector.streams.captures.base import NEVER_KEPT, Opened, from_backend, head_of
from inspector.streams.captures.unpacking import GZIP, Unpacker
from inspector.streams.model import Exchange, How, Side

_SSE = (b"data:", b"event:", b"id:", b"retry:", b":")
_BOM = b"\xef\xbb\xbf"


def sniff(head: bytes, name: str) -> bool:
    start = head.removeprefix(_BOM).lstrip()
    return start.startswith((*_SSE, b"{", b"[", GZIP)) or name.lower().endswith((".sse", ".ndjson", ".jsonl", ".txt"))


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    packed = head_of(opened, len(GZIP)) == GZIP
    problems: tuple[str, ...] = ()
    if packed:
        # Once through, holding nothing, to learn what to say of it.
        unpacker = Unpacker("gzip")
        for block in opened():
            for _ in unpacker.feed(block):
                pass
        problems = unpacker.problems()
    blocks = partial(_unpacked, opened) if packed else opened
    yield Exchange(
        native_id=name or "stream",
        happenings=from_backend(blocks, How.CUT if problems else How.UNKNOWN),
        sides=(Side.BACKEND,),
        title=name,
        problems=problems,
        lacks=NEVER_KEPT,
    )


def _unpacked(opened: Opened) -> Iterator[bytes]:
    unpacker = Unpacker("gzip")
    for block in opened():
        yield from unpacker.feed(block)
