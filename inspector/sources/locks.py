"""Locks on database files: one thread of this process at a time, and a look at the locks of other processes."""

import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inspector.sources import files
from inspector.sources.problems import Locked

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

WAIT = 2.0
"""Seconds to wait for another process's lock before saying Locked."""

# Linux: type, whence, start, len, pid. macOS: start, len, pid, type, whence. Other systems are not probed.
_FLOCK = {"linux": "@hhqqi4x", "darwin": "@qqihh"}.get(sys.platform)
_PENDING, _SHARED, _SHARED_LENGTH = 0x40000000, 0x40000002, 510

# POSIX drops all locks a process has on a file when it closes *any* descriptor of that file, those of SQLite included. So one
# thread at a time works on databases, and descriptors of our own are closed only when the last connection of that thread is.
_lock = threading.RLock()
_depth = 0
_descriptors: list[int] = []


@contextmanager
def alone() -> Iterator[None]:
    """Holds this process's one turn at databases; may be nested in one thread."""
    global _depth
    with _lock:
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
            if not _depth:
                while _descriptors:
                    os.close(_descriptors.pop())


def descriptor(path: Path) -> int:
    """A read-only descriptor of a real path that stays open until `alone` ends."""
    number = os.open(path, os.O_RDONLY | files.NOFOLLOW | getattr(os, "O_BINARY", 0))
    _descriptors.append(number)
    return number


def wait_until_shared(path: Path, opened: int) -> None:
    """Returns when no other process holds the file exclusively (as SQLite locks it). Raises Locked after WAIT seconds."""
    deadline = time.monotonic() + WAIT
    while _exclusive(opened):
        if time.monotonic() > deadline:
            raise Locked(path)
        time.sleep(0.05)


def _exclusive(opened: int) -> bool:
    if fcntl is None or _FLOCK is None:
        return False
    for start, length in ((_PENDING, 1), (_SHARED, _SHARED_LENGTH)):
        if sys.platform == "darwin":
            request = struct.pack(_FLOCK, start, length, 0, fcntl.F_RDLCK, os.SEEK_SET)
            kind = struct.unpack(_FLOCK, fcntl.fcntl(opened, fcntl.F_GETLK, request))[3]
        else:
            request = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, start, length, 0)
            kind = struct.unpack(_FLOCK, fcntl.fcntl(opened, fcntl.F_GETLK, request))[0]
        if kind != fcntl.F_UNLCK:
            return True
    return False
