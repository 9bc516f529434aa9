"""Our own files: closed to every other user of the machine, wherever they are, and gone with the process that needed them.

A umask helps only files that are made later, and a container's or a backup's may be any: what is ours and open is closed when it is used.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inspector.sources.problems import SourceProblem

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
YOUNG = 60.0
"""Seconds for which a folder without a lock may be one that was just made, and is not locked yet."""


class OpenToOthers(SourceProblem):
    template = (
        "{place} belongs to another user, and others than that one may read or write it: have its owner run chmod 600 on it, "
        "or name a file of your own."
    )


class FolderOfOthers(SourceProblem):
    template = (
        "Other users may replace files in {place}, in which Inspector's own database is: run chmod 700 on it, "
        "or name a file in a folder of its own there, which Inspector makes."
    )


def close_file(path: Path) -> None:
    """Mode 0600, of a file that is there. Raises OpenToOthers where it is open and not ours to close."""
    with suppress(FileNotFoundError):
        if path.stat().st_mode & _OTHERS:
            try:
                path.chmod(0o600)
            except PermissionError as error:
                raise OpenToOthers(path) from error


def close_folder(folder: Path) -> None:
    """Mode 0700, of a folder that is all ours; one that belongs to another user stays as it is."""
    with suppress(OSError):
        status = folder.stat()
        if status.st_uid == os.geteuid() and status.st_mode & _OTHERS:
            folder.chmod(0o700)


def refuse_open_folder(folder: Path) -> None:
    """A folder that holds more than our files keeps its mode; but who may write to it may put another file in the place of ours. Raises FolderOfOthers."""
    with suppress(OSError):
        mode = folder.stat().st_mode
        if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
            raise FolderOfOthers(folder)


@contextmanager
def used(folder: Path) -> Iterator[None]:
    """While this process works in a folder of its own: `remove_unused` of others leaves it, and the system ends that with the process, however it ends."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def unused(folders: Iterable[Path]) -> Iterator[Path]:
    """Those of this user that no process uses, each locked while the caller looks at it."""
    for folder in folders:
        with suppress(OSError):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or time.time() - status.st_ctime < YOUNG:
                continue
            descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                if _lock(descriptor):
                    yield folder
            finally:
                os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Whether nobody else has it; always False where the system has no such locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
