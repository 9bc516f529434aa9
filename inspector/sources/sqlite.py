"""SQLite stores: what is in them, a consistent read-only view, a backup, and (from `writing`) the one guarded write."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from inspector.programs.formats import Cell, Record, Shape, Table
from inspector.sources import files
from inspector.sources.locks import alone
from inspector.sources.opening import MAGIC, TRIES, Connection, connect, head, problems_of, readonly, rolled_back
from inspector.sources.problems import AlreadyThere, Changing, Linked
from inspector.sources.statements import cell, keys, quoted, records, require, tables
from inspector.sources.writing import commit

__all__ = ["Snapshot", "backup", "cells", "commit", "identify", "reread", "roll_back", "snapshot"]

T = TypeVar("T")


class Snapshot:
    """A store at one moment. Good only inside its `with`; every method may raise Damaged in the middle of its rows."""

    def __init__(self, path: Path, connection: Connection) -> None:
        self._path = path
        self._connection = connection
        with problems_of(path):
            self.tables: Mapping[str, tuple[str, ...]] = MappingProxyType(tables(path, connection))

    def records(self, table: Table, prefix: str | None = None) -> Iterator[Record]:
        """Rows in the byte order of their keys, those whose key starts with exactly `prefix` (never LIKE: `_` is only `_`).

        A value that is no text or blob comes as its text with its own storage class as type. Raises NoTable.
        """
        require(self._path, self.tables, table.name, (table.key, table.value, *(name for name, _ in table.where)))
        with problems_of(self._path):
            for key, data, kind in records(self._connection, table, prefix):
                yield Record(key.decode("utf-8", "surrogateescape"), Cell(data, kind))

    def keys(self, table: Table) -> Iterator[str]:
        """Of all rows, in the byte order of the keys. Raises NoTable."""
        require(self._path, self.tables, table.name, (table.key, table.value, *(name for name, _ in table.where)))
        with problems_of(self._path):
            for key in keys(self._connection, table):
                yield key.decode("utf-8", "surrogateescape")

    def between(self, table: Table, first: str, last: str) -> list[Record]:
        """Rows whose key is a text from `first` to `last`, both included. Raises NoTable, and Changing where the file changed since this began."""
        with problems_of(self._path):
            rows = [
                Record(key.decode("utf-8", "surrogateescape"), Cell(data, kind))
                for key, data, kind in records(self._connection, table, between=(first, last))
            ]
        if not self._connection.is_unchanged():
            raise Changing(self._path)
        return rows

    def cells(self, table: Table, keys: Iterable[str]) -> dict[str, Cell | None]:
        """The values under exactly these keys; None where there is none. Raises NoTable."""
        require(self._path, self.tables, table.name, (table.key, table.value, *(name for name, _ in table.where)))
        with problems_of(self._path):
            return {key: cell(self._path, self._connection, table, key) for key in keys}

    def damage(self) -> tuple[str, ...]:
        """What SQLite's quick_check finds wrong with the file, the first few lines; () where it finds nothing."""
        with problems_of(self._path):
            lines = [str(row[0]) for row in self._connection.execute("PRAGMA quick_check(5)")]
        return () if lines == ["ok"] else tuple(lines)

    def user_version(self) -> int:
        """The number that the program keeps in the header of the file, WAL included; 0 where it keeps none."""
        with problems_of(self._path):
            return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def rows(
        self, name: str, columns: Sequence[str], where: str = "", params: Sequence[object] = (), order: str = ""
    ) -> Iterator[tuple[object, ...]]:
        """`columns` of every row of table `name`. `where` and `order` are SQL of our own, never of a store or a user; values go in `params`.

        Text as str (surrogateescape), blobs as bytes. Raises NoTable.
        """
        require(self._path, self.tables, name, columns)
        sql = f"SELECT {', '.join(quoted(column) for column in columns)} FROM {quoted(name)}"  # noqa: S608 (names quoted, see docstring)
        sql += f" WHERE {where}" if where else ""
        sql += f" ORDER BY {order}" if order else ""
        with problems_of(self._path):
            yield from self._connection.execute(sql, tuple(params))


@contextmanager
def snapshot(path: Path) -> Iterator[Snapshot]:
    """A consistent read-only view, WAL included; the bytes of the database and its -wal stay, and no file is added next to them.

    Use up what you need inside the `with`, and trust it only once the `with` has ended: Changing may come at its end.
    One snapshot at a time in this process; `commit` inside one would wait for itself.
    """
    with readonly(path) as connection:
        yield Snapshot(path, connection)


def reread(path: Path, use: Callable[[Snapshot], T]) -> T:
    """`use` of a snapshot, done again (a few times) when the store changed meanwhile. `use` must read only."""
    for _ in range(TRIES - 1):
        try:
            with snapshot(path) as store:
                return use(store)
        except Changing:
            continue
    with snapshot(path) as store:
        return use(store)


def cells(path: Path, table: Table, keys: Sequence[str], after_rollback: bool = False) -> dict[str, Cell | None]:
    """The values under `keys`; `after_rollback`: those that a waiting rollback journal leads back to. Raises Unfinished where one waits, else as `snapshot`."""
    if not after_rollback:
        return reread(path, lambda store: store.cells(table, keys))
    with rolled_back(path) as connection:
        return Snapshot(path, connection).cells(table, keys)


def roll_back(path: Path, busy_ms: int = 2000) -> None:
    """Lets SQLite roll a waiting journal back, as the program's next start would: under its exclusive lock, never while somebody writes. Raises SourceProblem."""
    if (names := files.status(path).st_nlink) > 1:
        raise Linked(path, names)
    with alone(), problems_of(path, writing=True), closing(connect(files.regular(path), "mode=rw", busy_ms / 1000)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


def identify(path: Path) -> Shape:
    """First 4096 bytes, file name and, for a database, its tables with their columns. Raises what `snapshot` raises."""
    with alone():
        start = head(path)
        if not start.startswith(MAGIC):
            return Shape(start, {}, path.name)
        return Shape(start, reread(path, lambda store: store.tables), path.name)


def backup(path: Path, out: Path) -> None:
    """A consistent copy, content of the -wal included, in the new file `out` (mode 0600). Raises what `snapshot` and `files.new_file` raise."""
    for suffix in files.SIDES:
        # What another database of this name left would be taken for ours: played into it, or removed.
        if files.exists(side_file := Path(f"{out}{suffix}")):
            raise AlreadyThere(side_file)
    with (
        readonly(path) as source,
        files.new_file(out),
        problems_of(path),
        closing(sqlite3.connect(out, isolation_level=None)) as target,
    ):
        source.backup(target)
