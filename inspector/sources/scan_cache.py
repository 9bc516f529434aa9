"""Answers about session files that are as they were: kept in one file of our data folder, so that looking at them again opens none of them.

An answer is found by its question, which says everything else that it depends on: the code, the options, the place, and what is around the session.
"""

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import time_ns

from inspector.sources import files
from inspector.sources.problems import SourceProblem
from inspector.sources.unchanged import SETTLED_NS

NAME = "scans.sqlite3"
"""In our data folder."""
LARGEST = 64 << 20
"""Bytes of all answers, packed: with more, the oldest half goes."""
_WAIT = 0.5
"""Seconds for another command that writes: without the cache the answer is the same."""
_TABLE = "CREATE TABLE IF NOT EXISTS answers (question BLOB PRIMARY KEY, stamp TEXT NOT NULL, digest BLOB NOT NULL, answer BLOB NOT NULL)"
_KNOWN = "SELECT stamp, digest, answer FROM answers WHERE question = ?"

Contents = Sequence[bytes]
"""The files that an answer is about, as they were read, in their order."""


def remove(place: Path) -> None:
    """All answers, with the words in them; the next commands work them out."""
    for suffix in ("", *files.SIDES):
        place.with_name(place.name + suffix).unlink(missing_ok=True)


class ScanCache:
    """`database` is None where there is none: every answer is worked out."""

    def __init__(self, database: sqlite3.Connection | None) -> None:
        self._database = database
        self._new: list[tuple[bytes, str, bytes, bytes]] = []

    def answer(self, question: str, paths: Sequence[Path], work: Callable[[], tuple[str, Contents | None]]) -> str:
        """The answer that is kept for these files as they are now, else that of `work`, which gives the contents too; None for an answer not to be kept."""
        stamp = _stamp(paths) if self._database is not None else ""
        if not stamp:
            return work()[0]
        name = hashlib.sha256(repr((question, [str(path) for path in paths])).encode("utf-8", "surrogateescape")).digest()
        known = self._known(name)
        if known is not None and (known[0] == stamp or _digest(_read(paths)) == known[1]):
            if known[0] != stamp:
                self._new.append((name, stamp, known[1], known[2]))
            with suppress(zlib.error, UnicodeDecodeError):
                return zlib.decompress(known[2]).decode("utf-8", "surrogatepass")
        text, contents = work()
        if contents is not None and _stamp(paths) == stamp:
            self._new.append((name, stamp, _digest(contents), zlib.compress(text.encode("utf-8", "surrogatepass"), 1)))
        return text

    def _known(self, name: bytes) -> tuple[str, bytes, bytes] | None:
        if self._database is None:
            return None
        try:
            row: tuple[str, bytes, bytes] | None = self._database.execute(_KNOWN, (name,)).fetchone()
            return row
        except sqlite3.Error:
            self._database = None
            return None

    def keep(self) -> None:
        """Writes what is new, as far as that can be done."""
        if self._database is None or not self._new:
            return
        with suppress(sqlite3.Error), self._database as database:
            database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", self._new)
            (size,) = database.execute("SELECT COALESCE(SUM(LENGTH(answer)), 0) FROM answers").fetchone()
            if size > LARGEST:
                database.execute("DELETE FROM answers WHERE rowid <= (SELECT (MIN(rowid) + MAX(rowid)) / 2 FROM answers)")
        self._new = []


@contextmanager
def scan_cache(path: Path | None) -> Iterator[ScanCache]:
    """The cache in this file, made where there is none (mode 0600: answers quote sessions); what is new is kept at the end, also of a scan that failed."""
    database = None if path is None else _opened(path)
    if database is None:
        yield ScanCache(None)
        return
    with closing(database):
        cache = ScanCache(database)
        try:
            yield cache
        finally:
            cache.keep()


def _opened(path: Path) -> sqlite3.Connection | None:
    """None where it cannot be opened or made; a damaged one is made again."""
    for _ in range(2):
        database = None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | files.NOFOLLOW, 0o600))
            database = sqlite3.connect(path, timeout=_WAIT)
            database.execute(_TABLE)
            return database
        except sqlite3.OperationalError:
            # Another command writes, or the disk is full.
            if database is not None:
                database.close()
            return None
        except sqlite3.DatabaseError:
            if database is not None:
                database.close()
            with suppress(OSError):
                path.unlink()
        except OSError:
            return None
    return None


def _stamp(paths: Sequence[Path]) -> str:
    """What the file system says of the files; "" for none, and where one may have been written without another time."""
    stamps = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            return ""
        if time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < SETTLED_NS:
            return ""
        stamps.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return repr(stamps) if stamps else ""


def _read(paths: Sequence[Path]) -> Iterator[bytes]:
    with suppress(SourceProblem):
        for path in paths:
            yield files.read_bytes(path)


def _digest(contents: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for data in contents:
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()
