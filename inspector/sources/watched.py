"""Whether anything of a source was written, by a question that costs next to nothing: names, sizes and times of its files, none of which is opened, or
what the server of a database counts."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inspector.sources import files, folders, reach
from inspector.sources.dsn import Dsn, Place
from inspector.sources.problems import Missing, NotReadable, SourceProblem, TooMany

SETTLED_NS = 1_000_000_000
"""Times of files have a grain: within it a file can be written twice and show one time."""
_LOGS = ("-wal", "-journal")
_INDEX = "-shm"
"""What SQLite's readers write too."""
_ROTATED = ".1"
_Entry = tuple[str, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """`mark` is another one after every write. `written_ns`: when the newest file was written, since the epoch; 0 where that is not known."""

    mark: str
    written_ns: int = 0

    def is_written(self, now_ns: int, within_ns: int = 0) -> bool:
        """Whether something was written within this time, or that of the grain. A time that is still to come says nothing: that clock is wrong."""
        return 0 <= now_ns - self.written_ns < (within_ns or SETTLED_NS)


def look(where: Place, format_name: str) -> Look:
    """Opens no file. Of a database one short question, in a transaction that only reads. Raises SourceProblem."""
    if isinstance(where, Dsn):
        from inspector.sources import postgres_watched

        return Look(postgres_watched.mark(where, format_name))
    entries = sorted(_entries(where))
    if not entries:
        raise Missing(where)
    digest = hashlib.sha256(repr(entries).encode("utf-8", "surrogateescape")).hexdigest()
    return Look(digest, max(entry[4] for entry in entries))


def _entries(path: Path) -> Iterator[_Entry]:
    """Name, device, inode, bytes, time of writing and time of change of every regular file. Raises SourceProblem."""
    real_path = reach.real(path)
    try:
        if folders.is_folder(path):
            yield from _below(path, str(real_path))
            return
        yield _entry(str(real_path), real_path.stat())
    except OSError as error:
        raise files.problem(error, path) from error
    for ending in (*_LOGS, _ROTATED):
        companion = real_path.with_name(real_path.name + ending)
        try:
            reach.refuse(companion)
            yield _entry(str(companion), companion.stat())
        except (OSError, SourceProblem):
            continue


def _below(path: Path, base: str) -> Iterator[_Entry]:
    """As `folders.names` looks: links are not followed, and nothing below DEPTH folders is looked at."""
    waiting, count = [(base, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as scanned:
                for entry in scanned:
                    if entry.is_dir(follow_symlinks=False):
                        if depth < folders.DEPTH:
                            waiting.append((entry.path, depth + 1))
                    elif entry.is_file(follow_symlinks=False) and not entry.name.endswith(_INDEX):
                        count += 1
                        if count > folders.MOST:
                            raise TooMany(path, folders.MOST)
                        yield _entry(entry.path, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            # It went away meanwhile; whether the source did is asked where it begins.
            if folder == base:
                raise
        except PermissionError as error:
            # What is in a folder below is read when it may be, and its names come with it.
            if folder == base:
                raise NotReadable(Path(folder), "permission denied") from error


def _entry(name: str, status: os.stat_result) -> _Entry:
    # SQLite sets the owner of a log, and so its time of change, whenever somebody reads as root.
    changed = 0 if name.endswith(_LOGS) or not stat.S_ISREG(status.st_mode) else status.st_ctime_ns
    return name, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, changed
