"""Bytes added at the end of a file that stays the same file: a program that has it open goes on writing to what everybody reads.

An undo is no append: it replaces the file by a rename. To cut a file could take away what a program adds in the moment between the last look and the cut,
of which no copy exists; after a rename the old file still has it, and it is carried over. Only an append that fails is cut off at once, since a full disk
has no room for another copy.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from inspector.programs.formats import Change
from inspector.sources.files import NOFOLLOW
from inspector.sources.replacing import is_regular


class Piece(NamedTuple):
    """Bytes of ours in a file, from `start` (in bytes) on."""

    start: int
    data: bytes


class Interleaved(Exception):
    """Another program wrote to the file between the comparison and our append; `pieces` are where our bytes are, in order."""

    def __init__(self, place: Path, pieces: Sequence[Piece]) -> None:
        super().__init__(str(place))
        self.place, self.pieces = place, tuple(pieces)


def is_append(place: Path, change: Change) -> bool:
    """Whether the change of a whole file only adds bytes at its end. One that is closed to writing can still be replaced."""
    before, after = change.before, change.after
    if before is None or after is None or len(after.data) <= len(before.data):
        return False
    return after.data.startswith(before.data) and is_regular(place) and os.access(place, os.W_OK)


def append(place: Path, change: Change, keeps_times: bool) -> None:
    """Adds what `after` has more than `before`, on the disk. Raises OSError, when nothing of it stays where nobody else wrote, and Interleaved."""
    if change.before is None or change.after is None:
        raise ValueError(f"{change.key} is not appended to")
    size, data = len(change.before.data), memoryview(change.after.data)
    descriptor = os.open(place, os.O_RDWR | os.O_APPEND | NOFOLLOW)
    try:
        times = os.fstat(descriptor)
        pieces: list[Piece] = []
        written = size
        try:
            if os.pread(descriptor, size + 1, 0) != change.before.data:
                raise Interleaved(place, pieces)
            while written < len(data):
                count = os.write(descriptor, data[written:])
                # Where the system put it: at the end, wherever that was by then.
                end = os.lseek(descriptor, 0, os.SEEK_CUR)
                pieces.append(Piece(end - count, bytes(data[written : written + count])))
                written += count
                if end != written:
                    raise Interleaved(place, pieces)
            os.fsync(descriptor)
            if keeps_times and os.fstat(descriptor).st_size == written:
                os.utime(descriptor, ns=(times.st_atime_ns, times.st_mtime_ns))
        except OSError:
            with suppress(OSError):
                _cut(descriptor, size, bytes(data[size:written]))
                os.utime(descriptor, ns=(times.st_atime_ns, times.st_mtime_ns))
            raise
    finally:
        os.close(descriptor)


def take_back(place: Path, change: Change) -> bool:
    """Cuts off what `append` added; False where another program wrote after it, and nothing is cut. Raises OSError."""
    descriptor = os.open(place, os.O_RDWR | NOFOLLOW)
    try:
        return _cut(descriptor, *piece_of(change))
    finally:
        os.close(descriptor)


def piece_of(change: Change) -> Piece:
    """What `append` adds, where it was meant to be."""
    size = len(change.before.data) if change.before else 0
    return Piece(size, change.after.data[size:] if change.after else b"")


def without(data: bytes, pieces: Sequence[Piece]) -> bytes | None:
    """The bytes of other programs alone; None where one of the pieces is not there any more."""
    for piece in reversed(pieces):
        end = piece.start + len(piece.data)
        if data[piece.start : end] != piece.data:
            return None
        data = data[: piece.start] + data[end:]
    return data


def _cut(descriptor: int, size: int, data: bytes) -> bool:
    """Cuts the file to `size` bytes where exactly `data` follows them."""
    if os.pread(descriptor, len(data) + 1, size) != data:
        return False
    os.ftruncate(descriptor, size)
    os.fsync(descriptor)
    return True
