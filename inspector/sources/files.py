"""Plain files as the core may see them: bytes, LF lines, copies and private folders, with problems as sentences."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from inspector.sources import private, reach
from inspector.sources.problems import (
    AlreadyThere,
    Failed,
    Missing,
    NoFolder,
    NoRoom,
    NotAFile,
    NotReadable,
    NotWritable,
    OverLimit,
    SideName,
    SourceProblem,
    TooLarge,
)
from inspector.sources.reach import SIDES as SIDES
from inspector.sources.spool import mapped
from inspector.text import limits

LIMIT = limits.LARGEST_FILE
"""Bytes: what a file read at once and one line of a journal may hold."""
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
"""For the last part of a path whose links were resolved: a link that was put there since could lead anywhere."""
_YEAR_9999 = 253_000_000_000
_WINDOW = 1 << 14
_COPIED = 1 << 20
_PREFIX = "inspector-work-"
"""Of the names of our folders for temporary files."""


class FileLine(NamedTuple):
    """`offset` in bytes from the start of the file, `data` without its LF (a CR stays)."""

    offset: int
    data: bytes


class TornLine(FileLine):
    """The last line of a file, not (yet) ended by LF: a writer may be in the middle of it."""


def problem(error: OSError, path: Path) -> SourceProblem:
    """The named condition for a system error on `path`."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.ELOOP | errno.ENAMETOOLONG:
            return Missing(path)
        case errno.EACCES | errno.EPERM:
            return NotReadable(path, "permission denied")
        case errno.EISDIR:
            return NotAFile(path, "folder")
        case errno.EEXIST:
            return AlreadyThere(path)
        case errno.ENOSPC | errno.EDQUOT:
            return NoRoom(path)
        case errno.EFBIG:
            return OverLimit(path)
    return Failed(path, error.strerror or str(error))


def regular(path: Path) -> Path:
    """The real path of an existing regular file. Raises OutOfReach, Missing, NotAFile, NotReadable. A FIFO is refused here: opening it would hang."""
    try:
        real_path = reach.real(path)
        # A pipe of this process has a path, and its real path is none.
        mode = path.stat().st_mode if path.is_fifo() else real_path.stat().st_mode
    except OSError as error:
        raise problem(error, path) from error
    except (ValueError, RuntimeError) as error:
        raise Missing(path) from error
    if stat.S_ISREG(mode):
        return real_path
    raise NotAFile(path, "folder" if stat.S_ISDIR(mode) else "pipe, socket or device")


def opened(path: Path) -> BinaryIO:
    """A regular file, open for reading. Raises what `regular` raises."""
    real_path = regular(path)
    try:
        return os.fdopen(os.open(real_path, os.O_RDONLY | NOFOLLOW), "rb")
    except OSError as error:
        raise problem(error, path) from error


def real(path: Path) -> str:
    """The real path: what a source is known by. The file need not exist. Raises OutOfReach, and Missing for a path that cannot be one."""
    try:
        return str(reach.real(path))
    except (OSError, ValueError, RuntimeError) as error:
        raise Missing(path) from error


def exists(path: Path) -> bool:
    """True where nobody may look, since opening it says why. Raises OutOfReach: outside, not even this is reported."""
    reach.refuse(path)
    try:
        return path.exists()
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


def written_at(path: Path) -> float | None:
    """Seconds since the epoch when the file was last written, or its -wal file; None where no valid time is known. Raises OutOfReach."""
    reach.refuse(path)
    times = []
    for file in (path, Path(f"{path}-wal")):
        try:
            times.append(file.stat().st_mtime)
        except (OSError, ValueError):
            continue
    return max((time for time in times if 0 <= time < _YEAR_9999), default=None)


def status(path: Path) -> os.stat_result:
    """Size, times and number of names (hard links) of a regular file. Raises Missing, NotAFile, NotReadable."""
    real_path = regular(path)
    try:
        return real_path.stat()
    except OSError as error:
        raise problem(error, path) from error


def read_bytes(path: Path, limit: int = LIMIT) -> bytes:
    """The whole file. Raises TooLarge when it holds more than `limit` bytes."""
    try:
        with opened(path) as file:
            # The limit itself would be reserved for it at once; what is written meanwhile still comes.
            data = file.read(min(limit, os.fstat(file.fileno()).st_size) + 1)
            while len(data) <= limit and (more := file.read(min(_WINDOW, limit + 1 - len(data)))):
                data += more
    except OSError as error:
        raise problem(error, path) from error
    if len(data) > limit:
        raise TooLarge(path, "The content", limit)
    return data


def read_mapped(path: Path, limit: int = LIMIT) -> bytes:
    """As `read_bytes`, with the bytes in a copy of the file that nobody else can change or cut off, and not in memory."""
    try:
        with opened(path) as file, tempfile.TemporaryFile() as copy:
            size = 0
            while data := file.read(_COPIED):
                size += copy.write(data)
                if size > limit:
                    raise TooLarge(path, "The content", limit)
            return mapped(copy)
    except OSError as error:
        raise problem(error, path) from error


def lines(path: Path, start: int = 0, limit: int = LIMIT) -> Iterator[FileLine]:
    """Every line from byte `start` on, split on LF only; one without LF at the end comes as TornLine. Raises TooLarge for a longer line."""
    offset = start
    try:
        with opened(path) as file:
            file.seek(start)
            while data := file.readline(limit + 1):
                if data.endswith(b"\n"):
                    yield FileLine(offset, data[:-1])
                elif len(data) > limit:
                    raise TooLarge(path, f"The line at byte {offset}", limit)
                else:
                    yield TornLine(offset, data)
                offset += len(data)
    except OSError as error:
        raise problem(error, path) from error


class FileContent:
    """The first `size` bytes of a file, read when they are asked for. It may be another file by then: who takes pieces compares their digests."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        """Fewer bytes than asked for where the file is shorter now. Raises Missing, NotReadable."""
        start, stop, _ = place.indices(self._size)
        try:
            with opened(self.path) as file:
                file.seek(start)
                return file.read(max(0, stop - start))
        except OSError as error:
            raise problem(error, self.path) from error

    def find(self, end: bytes, start: int) -> int:
        """`end` is a single byte. -1 for none."""
        while start < self._size and (data := self[start : start + _WINDOW]):
            if (at := data.find(end)) >= 0:
                return start + at
            start += len(data)
        return -1

    def rfind(self, end: bytes, start: int, stop: int) -> int:
        """`end` is a single byte. -1 for none."""
        at = self[start:stop].rfind(end)
        return at if at < 0 else start + at


@contextmanager
def new_file(out: Path) -> Iterator[int]:
    """A fresh file (its descriptor, mode 0600: stores hold secrets), removed again when the body fails; an OSError of the body is raised as its problem.

    Raises OutOfReach, AlreadyThere, NoFolder, NotWritable, NoRoom, SideName.
    """
    reach.refuse(out)
    if out.name.endswith(SIDES):
        raise SideName(out)
    try:
        descriptor = os.open(out, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except ValueError as error:
        raise NoFolder(out) from error
    except OSError as error:
        named = problem(error, out)
        if isinstance(named, Missing):
            raise NoFolder(out) from error
        raise (NotWritable(out, "permission denied") if isinstance(named, NotReadable) else named) from error
    try:
        yield descriptor
    except BaseException as error:
        out.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise problem(error, out) from error
        raise
    finally:
        os.close(descriptor)


@contextmanager
def workspace() -> Iterator[Path]:
    """A private folder (mode 0700) for rehearsals and copies, removed afterwards; those of processes that were killed are removed first."""
    remove_unused_workspaces()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder, private.used(Path(folder)), reach.including(Path(folder)):
        yield Path(folder)


def remove_unused_workspaces() -> None:
    """What processes left that were killed: it holds stored conversations."""
    for folder in private.unused(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        shutil.rmtree(folder, ignore_errors=True)
