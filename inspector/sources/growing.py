"""Files of lines that a program writes at this moment: a last line without its end is not damage yet, since the rest of it may come with the next write."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from inspector.sources import open_files

QUIET = 5.0
"""Seconds after its last write for which a file is taken to be at work, also where no process has it open: programs open it for each line."""
ENDING = ".jsonl"
_left_out: ContextVar[list[Path] | None] = ContextVar("left_out", default=None)


@contextmanager
def whole_lines() -> Iterator[list[Path]]:
    """Within it such a line is left out. Gives the files of which one was, which are to be read again when they are quiet."""
    files: list[Path] = []
    token = _left_out.set(files)
    try:
        yield files
    finally:
        _left_out.reset(token)


def without_torn_line(path: Path, data: bytes) -> bytes:
    """What was read of a file; outside of `whole_lines`, and of a file that nobody writes, as it is."""
    left_out = _left_out.get()
    if left_out is None or path.suffix != ENDING or data.endswith(b"\n"):
        return data
    end = data.rfind(b"\n") + 1
    # A file that has just begun is one line: without it nothing would be there.
    if not end or _is_whole(data[end:]) or not is_written_now(path):
        return data
    left_out.append(path)
    return data[:end]


def _is_whole(line: bytes) -> bool:
    """Some programs end a line only when the next one begins."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def is_written_now(path: Path) -> bool:
    """Whether it was written a moment ago, or a process has it open for writing, as far as the system shows processes."""
    with suppress(OSError):
        status = path.stat()
        if 0 <= time.time() - status.st_mtime < QUIET:
            return True
        return any(user.may_write for user in open_files.users({(status.st_dev, status.st_ino): path}))
    return False
