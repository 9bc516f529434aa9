"""Bodies of trace records (prompts and requests) as stored bytes, named by their content and unpacked within a limit."""

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAX_BODY = 512 * 2**20
"""Largest body, in bytes once unpacked, that is unpacked at all: a gzip bomb must not eat the memory."""

_PIECE = 2**20
_GZIP = 31


@dataclass(frozen=True, slots=True)
class Body:
    """`name` is the SHA-256 of the unpacked bytes (hex), `data` the bytes as stored, `size` the unpacked length in bytes."""

    name: str
    data: bytes
    compressed: bool
    size: int


def plain(data: bytes) -> Body:
    """A body whose stored bytes are its content."""
    return Body(hashlib.sha256(data).hexdigest(), data, False, len(data))


def gzipped(data: bytes) -> Body:
    """A body stored as gzip; read through once to name and measure it, without holding the unpacked bytes.

    Raises ValueError with a sentence where `data` is damaged or unpacks to more than MAX_BODY.
    """
    digest, size = hashlib.sha256(), 0
    for piece in _pieces(data):
        digest.update(piece)
        size += len(piece)
    return Body(digest.hexdigest(), data, True, size)


def decompress(body: Body) -> bytes:
    """The content of `body`. Raises ValueError only for a Body that `plain` or `gzipped` did not make."""
    return b"".join(_pieces(body.data)) if body.compressed else body.data


def _pieces(data: bytes) -> Iterator[bytes]:
    unpacker, total, used = zlib.decompressobj(_GZIP), 0, 0
    rest = b""
    while not unpacker.eof:
        if not rest:
            rest = data[used : used + _PIECE]
            used += len(rest)
        try:
            piece = unpacker.decompress(rest, _PIECE)
        except zlib.error as error:
            raise ValueError(f"is marked as gzip but cannot be unpacked ({error})") from None
        total += len(piece)
        if total > MAX_BODY:
            raise ValueError(f"unpacks to more than {MAX_BODY} bytes")
        if not (piece or rest or unpacker.eof):
            raise ValueError("is marked as gzip but ends before its end mark")
        yield piece
        rest = unpacker.unconsumed_tail
    # One member only: the writer makes one, and following a chain of many empty ones would take quadratic time.
    if used < len(data) or unpacker.unused_data:
        raise ValueError("has further bytes after its gzip data")
