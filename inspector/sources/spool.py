"""What is written now and read later, in a file without a name: reports on ten thousand conversations, or the rows of a long one, need not fit into memory."""

import marshal
import mmap
import os
import pickle
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

_LOADED = 1_000
"""Values of a shelf that are in memory."""
_LOOKED_AT = 8 << 20
_WINDOW = 1 << 20
Place = tuple[int, int]
"""Where a text is: offset and length in bytes."""


class Spool:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._end = 0

    def put(self, text: str) -> Place:
        data = text.encode("utf-8", "surrogatepass")
        self._file.seek(self._end)
        self._file.write(data)
        start, self._end = self._end, self._end + len(data)
        return start, len(data)

    def get(self, place: Place) -> str:
        self._file.seek(place[0])
        return self._file.read(place[1]).decode("utf-8", "surrogatepass")


@contextmanager
def spool() -> Iterator[Spool]:
    """Gone at the end of the `with`, and when the process ends."""
    with tempfile.SpooledTemporaryFile(max_size=1 << 16) as file:
        yield Spool(file)


class MappedBytes(mmap.mmap):
    """The content of a file without a name, in place of `bytes`: what was looked at is in memory only until _LOOKED_AT bytes were.

    What it cannot do by itself, a copy of all of it does.
    """

    _looked_at = 0

    def __getitem__(self, place: Any) -> Any:
        value = super().__getitem__(place)
        if not isinstance(value, int):
            self._looked_at += len(value)
            if self._looked_at > _LOOKED_AT:
                self.release()
        return value

    def release(self) -> None:
        """Takes its bytes out of memory, where the system can."""
        self._looked_at = 0
        if hasattr(mmap, "MADV_DONTNEED"):
            self.madvise(mmap.MADV_DONTNEED)

    def startswith(self, start: bytes) -> bool:
        return bool(self[: len(start)] == start)

    def endswith(self, end: bytes) -> bool:
        return len(end) <= len(self) and bool(self[len(self) - len(end) :] == end)

    def __contains__(self, part: Any) -> bool:
        return self.find(part) >= 0

    def __iter__(self) -> Iterator[int]:
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, bytes | mmap.mmap) or len(self) != len(other):
            return self is other
        starts = range(0, len(self), _WINDOW)
        return all(self[start : start + _WINDOW] == other[start : start + _WINDOW] for start in starts)

    def __hash__(self) -> int:
        return hash(self[:])

    def __add__(self, other: bytes) -> bytes:
        return bytes(self[:]) + other

    def __getattr__(self, name: str) -> Any:
        return getattr(self[:], name)

    def __reduce__(self) -> Any:
        return bytes, (self[:],)


def mapped(file: IO[bytes]) -> bytes:
    """All of a file of our own, to be used as bytes; the file may be closed."""
    file.flush()
    size = os.fstat(file.fileno()).st_size
    return cast(bytes, MappedBytes(file.fileno(), size, access=mmap.ACCESS_READ)) if size else b""


class Parts:
    """Plain values that a process of our own sent one after the other, by name and in their order; each is read when it is asked for."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (gone with this object)
        self._places: dict[str, list[Place]] = {}
        self._end = 0

    def put(self, name: str, pickled: bytes) -> None:
        self._file.seek(self._end)
        self._file.write(pickled)
        self._places.setdefault(name, []).append((self._end, len(pickled)))
        self._end += len(pickled)

    def of(self, name: str) -> Iterator[Any]:
        for start, size in self._places.get(name, ()):
            self._file.seek(start)
            yield from pickle.loads(self._file.read(size))  # noqa: S301 (of a process of our own)


class FileShelf:
    """Plain values in a file without a name; those that were asked for last are in memory."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (gone with this object)
        self._places: array[int] = array("q", [0])
        self._loaded: dict[int, Any] = {}
        self._is_written = True

    def put(self, value: Any) -> int:
        data = marshal.dumps(value)
        self._file.write(data)
        self._places.append(self._places[-1] + len(data))
        self._is_written = False
        return len(self._places) - 2

    def get(self, place: int) -> Any:
        if place not in self._loaded:
            if not self._is_written:
                self._file.flush()
                self._is_written = True
            if len(self._loaded) >= _LOADED:
                self._loaded.clear()
            start, end = self._places[place], self._places[place + 1]
            self._loaded[place] = marshal.loads(os.pread(self._file.fileno(), end - start, start))  # noqa: S302 (of this process)
        return self._loaded[place]
