"""How a SQLite file may be opened without changing it: looks at its header, side files and locks before SQLite does."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from inspector.sources import files, locks, reach
from inspector.sources.locks import alone, descriptor, wait_until_shared
from inspector.sources.problems import (
    Changing,
    Damaged,
    Empty,
    Failed,
    LargeValue,
    Locked,
    Missing,
    NoRoom,
    NotADatabase,
    NotReadable,
    NotWritable,
    SourceProblem,
    Unfinished,
)
from inspector.sources.statements import is_too_large
from inspector.text import limits

MAGIC = b"SQLite format 3\0"
TRIES = 4
_TICKS = 20_000_000
"""Nanoseconds in which the clock of any file system has gone on: two ticks of the slowest, of 100 a second."""


def side(path: Path, suffix: str) -> Path:
    """A file that SQLite keeps next to the database `path`. Raises OutOfReach: a link under that name may lead anywhere."""
    side_file = path.with_name(path.name + suffix)
    reach.refuse(side_file)
    return side_file


def stamp(path: Path) -> tuple[int, int, int] | None:
    """(inode, bytes, mtime in ns); None = no such file. Waits until a fresh mtime would show a second write: clocks tick in ms."""
    try:
        status = path.stat()
        age = time.time_ns() - status.st_mtime_ns
        if 0 <= age < _TICKS:
            time.sleep((_TICKS - age) / 1e9)
            # The last program that closes the database removes its -wal.
            status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def head(path: Path, size: int = 4096) -> bytes:
    """The first bytes of a file that is not empty. Raises Missing, NotAFile, NotReadable, Empty."""
    real_path = files.regular(path)
    try:
        opened = descriptor(real_path)
        data = os.read(opened, size)
    except OSError as error:
        raise files.problem(error, path) from error
    if not data:
        raise Empty(path)
    return data


def refuse_hot_journal(path: Path) -> None:
    """Raises Unfinished when a rollback journal is waiting: a zeroed first byte is how SQLite marks one that is done."""
    journal = side(path, "-journal")
    try:
        # A pipe of that name would be waited for without end, by SQLite too.
        with files.opened(journal) as file:
            if file.read(1) not in (b"", b"\0"):
                raise Unfinished(path)
    except (Missing, FileNotFoundError):
        return


class Connection(sqlite3.Connection):
    """`is_unchanged`: whether what was read so far is of one state; only where SQLite itself does not see to that (see `_immutable`), it looks at the file."""

    is_unchanged: Callable[[], bool] = staticmethod(lambda: True)


def connect(path: Path, options: str, seconds: float | None = None) -> Connection:
    """A connection in autocommit mode, hostile schemas distrusted; text comes as str with surrogateescape. Raises sqlite3.Error, OutOfReach."""
    reach.refuse(path)
    for suffix in files.SIDES:
        # SQLite opens these by itself.
        side(path, suffix)
    timeout = locks.WAIT if seconds is None else seconds
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}", uri=True, timeout=timeout, isolation_level=None, factory=Connection
    )
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        # Before it is read: neither a value of a gigabyte nor an expression of the schema that makes one gets memory.
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.LARGEST_VALUE)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def problems_of(path: Path, *, writing: bool = False) -> Iterator[None]:
    """Turns errors of SQLite and the system into named problems of `path`."""
    try:
        yield
    except sqlite3.Error as error:
        raise named(error, path, writing=writing) from error
    except UnicodeDecodeError as error:
        # SQLite's own sentence quotes a name out of the damaged schema, and Python cannot read the sentence.
        raise Damaged(path, "its schema holds bytes that are no UTF-8") from error
    except OSError as error:
        raise files.problem(error, path) from error


def named(error: sqlite3.Error, path: Path, *, writing: bool = False) -> SourceProblem:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Locked(path)
    if name == "SQLITE_READONLY_ROLLBACK":
        return Unfinished(path)
    if name.startswith("SQLITE_CORRUPT") or name in ("SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_FORMAT"):
        # NOTADB too: nothing is opened before its first bytes show a database.
        return Damaged(path, str(error))
    if is_too_large(error):
        return LargeValue(path, limits.LARGEST_VALUE >> 20, limits.VALUE_NAME)
    if name == "SQLITE_FULL":
        return NoRoom(path)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return NotWritable(path, str(error)) if writing else NotReadable(path, str(error))
    return Failed(path, str(error))


@contextmanager
def readonly(path: Path) -> Iterator[Connection]:
    """A connection inside one read transaction on a consistent state; neither the file nor its -wal changes, no file is added.

    Raises NotADatabase, Damaged, Locked, Unfinished, Changing (also at the end: then throw away what was read) and those of `head`.
    """
    with alone(), ExitStack() as stack:
        for tries_left in reversed(range(TRIES)):
            try:
                connection = stack.enter_context(_attempt(path))
                break
            except Changing:
                if not tries_left:
                    raise
        yield connection


@contextmanager
def rolled_back(path: Path) -> Iterator[Connection]:
    """The state that a waiting rollback journal leads back to, in a private copy: the file and its journal stay as they are. Raises as `readonly`."""
    with alone():
        with problems_of(path):
            real_path = files.regular(path)
        with _copied(path, real_path, "-journal", "mode=rw") as connection:
            yield connection


def _attempt(path: Path) -> AbstractContextManager[Connection]:
    with problems_of(path):
        first, real_path = head(path, 100), files.regular(path)
        if not first.startswith(MAGIC):
            raise NotADatabase(path, first)
        wal, shared = stamp(side(real_path, "-wal")), side(real_path, "-shm").exists()
    if wal is None and 2 not in first[18:20]:
        return _transaction(path, real_path, "mode=ro")
    if wal is not None and shared:
        return _live(path, real_path)
    return _copied(path, real_path) if wal is not None and wal[1] else _immutable(path, real_path)


@contextmanager
def _transaction(path: Path, real_path: Path, options: str) -> Iterator[Connection]:
    with problems_of(path):
        connection = connect(real_path, options)
    try:
        with problems_of(path):
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield connection
    finally:
        connection.close()


@contextmanager
def _live(path: Path, real_path: Path) -> Iterator[Connection]:
    """Both side files are there, so mode=ro adds none, and SQLite's own locks keep a live writer's checkpoint away."""
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(_transaction(path, real_path, "mode=ro"))
        except NotReadable:
            # A read-only folder or file system: SQLite may not touch the -shm there.
            connection = stack.enter_context(_copied(path, real_path))
        yield connection


@contextmanager
def _immutable(path: Path, real_path: Path) -> Iterator[Connection]:
    """SQLite takes no lock and looks at no side file here, so this looks at the locks before and at the file before and after."""
    with problems_of(path):
        wait_until_shared(path, descriptor(real_path))
        refuse_hot_journal(real_path)
        before = stamp(real_path)
    try:
        with _transaction(path, real_path, "mode=ro&immutable=1") as connection:
            connection.is_unchanged = lambda: stamp(real_path) == before
            if not connection.is_unchanged():
                raise Changing(path)
            yield connection
    except Damaged as error:
        if stamp(real_path) != before:
            raise Changing(path) from error
        raise
    if stamp(real_path) != before:
        raise Changing(path)


@contextmanager
def _copied(path: Path, real_path: Path, suffix: str = "-wal", options: str = "mode=ro") -> Iterator[Connection]:
    """The file and one side file in a private folder: opening them in place would recover the log and leave a -shm after."""
    with files.workspace() as folder:
        copy = folder / "copy.db"
        with problems_of(path):
            opened = descriptor(real_path)
            wait_until_shared(path, opened)
            if suffix != "-journal":
                refuse_hot_journal(real_path)
            before = stamp(real_path), stamp(side(real_path, suffix))
            with os.fdopen(opened, "rb", closefd=False) as source, copy.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
            with suppress(FileNotFoundError):
                shutil.copyfile(side(real_path, suffix), side(copy, suffix))
            if (stamp(real_path), stamp(side(real_path, suffix))) != before:
                raise Changing(path)
        with _transaction(path, copy, options) as connection:
            yield connection
