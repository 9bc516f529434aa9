"""A long value as pieces that are kept once: what a later value shares with it is found again, wherever something was inserted, changed or removed.

A piece ends at the end of a line, where the content of that line says so and not where it is: after a change the same cuts come again. A line is never cut,
so that one can be loaded without the others.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol
from zlib import crc32

from inspector.text.light import light_dataclass

LEAST = 16_384
MOST = 65_536
"""Bytes of a piece. A shorter one is the last of a value, or what that grew by; a longer one is a single line."""
_ONE_IN = 16
"""After LEAST bytes one line in so many ends a piece."""
GAP = 2**20
"""Between the positions of neighbors at first: so many pieces fit between two before others have to move."""
_COLLECTED = 1 << 20
"""Bytes of a value that is not there at once, after which its pieces so far are given."""


class Content(Protocol):
    """Bytes, or what reads them out of a file when they are asked for."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: slice, /) -> bytes: ...
    def find(self, end: bytes, start: int, /) -> int: ...
    def rfind(self, end: bytes, start: int, stop: int, /) -> int: ...


@light_dataclass(frozen=True, slots=True)
class Kept:
    """A piece that is kept: its row, its place among the others, its digest (SHA-256, hex) and its bytes' number."""

    pk: int
    position: int
    digest: str
    size: int


@light_dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the value now, at `start` of it. `row` is the one that keeps it already, None where a row has to be opened."""

    position: int
    digest: str
    start: int
    size: int
    row: int | None = None


def cuts(data: Content, end: bytes = b"\n", at: int = 0) -> Iterator[tuple[int, int]]:
    """(start, stop) of the pieces of `data` from `at` on; one empty piece for an empty value. `end` is the byte that ends a line."""
    if not len(data):
        yield 0, 0
    while at < len(data):
        stop = _stop(data, end, at)
        yield at, stop
        at = stop


def _stop(data: Content, end: bytes, at: int) -> int:
    line = data.rfind(end, at, at + LEAST) + 1 or at
    while True:
        stop = data.find(end, max(line, at + LEAST - 1)) + 1 or len(data)
        if stop - at > MOST and line > at:
            return line
        if stop == len(data) or stop - at >= MOST or not crc32(data[line:stop]) % _ONE_IN:
            return stop
        line = stop


def collected(lines: Iterable[bytes], end: bytes) -> Iterator[tuple[Piece, bytes]]:
    """The pieces of all `lines` together, of which none was kept, each with its bytes: as `pieces` cuts them, but never all at once."""
    rest, start, number, full = bytearray(), 0, 0, _COLLECTED
    for line in lines:
        rest += line
        if len(rest) < full:
            continue
        data, used = bytes(rest), 0
        # What follows may go on with the last piece, and with no other.
        for low, high in cuts(data, end):
            if high == len(data):
                break
            number, used = number + 1, high
            yield _numbered(number, start + low, data[low:high])
        del rest[:used]
        start, full = start + used, len(rest) + _COLLECTED
    data = bytes(rest)
    for low, high in cuts(data, end) if data else ():
        number += 1
        yield _numbered(number, start + low, data[low:high])


def _numbered(number: int, start: int, data: bytes) -> tuple[Piece, bytes]:
    return Piece(GAP * number, hashlib.sha256(data).hexdigest(), start, len(data)), data


def pieces(data: Content, kept: Sequence[Kept], end: bytes = b"\n") -> list[Piece]:
    """`data` as pieces in order, of which those in `kept` (in order) are used where they fit. A value that grew is hashed and not compared."""
    rows: list[tuple[str, int, int, Kept | None]] = []
    at = used = 0
    for row in kept:
        stop = at + row.size
        # Half a line that was completed since is kept whole, with its other half.
        if (row.size == 0) != (not len(data)) or stop > len(data) or (stop < len(data) and data[stop - 1 : stop] != end):
            break
        if hashlib.sha256(data[at:stop]).hexdigest() != row.digest:
            break
        rows.append((row.digest, at, row.size, row))
        at, used = stop, used + 1
    if at < len(data) or not rows:
        rows += _cut(data, end, at, kept[used:])
    return _placed(rows)


def _cut(data: Content, end: bytes, at: int, kept: Sequence[Kept]) -> Iterator[tuple[str, int, int, Kept | None]]:
    """The pieces from `at` on, each with the first row after the last used one that keeps the same bytes."""
    places: dict[str, list[int]] = {}
    for index in range(len(kept) - 1, -1, -1):
        places.setdefault(kept[index].digest, []).append(index)
    last = -1
    for start, stop in cuts(data, end, at):
        digest = hashlib.sha256(data[start:stop]).hexdigest()
        candidates = places.get(digest, [])
        while candidates and candidates[-1] <= last:
            candidates.pop()
        row = None
        if candidates:
            last = candidates.pop()
            row = kept[last]
        yield digest, start, stop - start, row


def _placed(rows: Sequence[tuple[str, int, int, Kept | None]]) -> list[Piece]:
    """New pieces get positions between those of their neighbors. Where there is no room all that follow are opened again, without their bytes."""
    placed: list[Piece] = []
    low: int | None = None
    at = 0
    while at < len(rows):
        digest, start, size, row = rows[at]
        if row is not None:
            placed.append(Piece(row.position, digest, start, size, row.pk))
            low, at = row.position, at + 1
            continue
        stop = next((index for index in range(at, len(rows)) if rows[index][3]), len(rows))
        following = rows[stop][3] if stop < len(rows) else None
        positions = _between(low, following.position if following else None, stop - at)
        if positions is None:
            stop = len(rows)
            positions = _between(low, None, stop - at) or []
        placed += [Piece(position, *rows[at + number][:3]) for number, position in enumerate(positions)]
        low, at = positions[-1], stop
    return placed


def _between(low: int | None, high: int | None, count: int) -> list[int] | None:
    """`count` positions after `low` and before `high` (None: no neighbor there); None where they do not fit."""
    if high is None:
        return [(low or 0) + GAP * number for number in range(1, count + 1)]
    if low is None:
        return [high - GAP * number for number in range(count, 0, -1)]
    step = (high - low) // (count + 1)
    return [low + step * number for number in range(1, count + 1)] if step else None
