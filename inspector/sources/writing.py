"""The one write: compare with what was previewed, change, read back, all inside one short transaction."""

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from inspector.programs.formats import TOO_LARGE, Cell, Change, Table
from inspector.sources import elements, files
from inspector.sources.locks import alone
from inspector.sources.opening import MAGIC, connect, head, named, problems_of
from inspector.sources.problems import NAMED, Busy, Failed, LargeValue, Linked, Locked, Moved, NotADatabase, NotKept
from inspector.sources.statements import cell, encoded, quoted, records, require, tables, where
from inspector.text import limits

_STORED = {
    "text": "CAST(? AS TEXT)",
    "blob": "CAST(? AS BLOB)",
    "integer": "CAST(CAST(? AS TEXT) AS INTEGER)",
    "null": "NULLIF(?, ?)",
}


def commit(
    path: Path,
    table: Table,
    guard: Mapping[str, Mapping[str, Cell]],
    watch: Mapping[str, Cell | None],
    changes: Sequence[Change],
    busy_ms: int = 2000,
) -> float:
    """Writes `changes`, all or none, and returns the milliseconds for which the write lock was held.

    `guard`: prefix -> every record there is under exactly that prefix. `watch`: key -> its cell, None = absent. Raises Moved when one of
    them or a `before` is not so, Busy when the lock is not free within `busy_ms`, NotAList, NotKept, NotWritable, NoTable, Linked, and what
    opening raises. The journal mode is kept, the file never created, nothing vacuumed.
    """
    with alone():
        first = head(path, 100)
        if not first.startswith(MAGIC):
            raise NotADatabase(path, first)
        if (names := files.status(path).st_nlink) > 1:
            raise Linked(path, names)
        with problems_of(path, writing=True), closing(connect(files.regular(path), "mode=rw", busy_ms / 1000)) as connection:
            # Our write must not carry the server's checkpoint: it has no busy timeout, so every millisecond of lock can fail a turn.
            connection.execute("PRAGMA wal_autocheckpoint=0")
            with _transaction(path, connection, busy_ms) as lock_time:
                require(path, tables(path, connection), table.name, (table.key, table.value, *(name for name, _ in table.where)))
                store = _Store(path, connection, table)
                _compare(store, guard, watch)
                _write(store, changes)
            return lock_time.milliseconds


@dataclass
class _LockTime:
    milliseconds: float = 0.0


@contextmanager
def _transaction(path: Path, connection: sqlite3.Connection, busy_ms: int) -> Iterator[_LockTime]:
    lock_time = _LockTime()
    try:
        connection.execute("BEGIN IMMEDIATE")
        start = time.perf_counter()
        yield lock_time
        connection.execute("COMMIT")
        lock_time.milliseconds = (time.perf_counter() - start) * 1000
    except sqlite3.Error as error:
        problem = named(error, path, writing=True)
        if isinstance(problem, Locked):
            raise Busy(path, busy_ms) from error
        raise problem from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


class _Store:
    """One cell of the table at a time, by exact key."""

    def __init__(self, path: Path, connection: sqlite3.Connection, table: Table) -> None:
        self.path, self.connection, self.table = path, connection, table
        condition, self.fixed = where(table)
        self.row = f"{condition} AND {quoted(table.key)} COLLATE BINARY = CAST(? AS TEXT)"

    def cell(self, key: str) -> Cell | None:
        return cell(self.path, self.connection, self.table, key)

    def put(self, key: str, before: Cell | None, after: Cell | None) -> None:
        name, value = quoted(self.table.name), quoted(self.table.value)
        if before is not None and before.type == TOO_LARGE:
            # It was not read, so nothing could give it back.
            raise LargeValue(self.path, limits.LARGEST_VALUE >> 20, limits.VALUE_NAME)
        if after is None:
            self.connection.execute(f"DELETE FROM {name} WHERE {self.row}", [*self.fixed, encoded(key)])  # noqa: S608 (quoted)
            return
        if after.type not in _STORED:
            raise Failed(self.path, f"a value of type {after.type} cannot be written")
        stored, bound = _STORED[after.type], [after.data] * _STORED[after.type].count("?")
        # OR ABORT: a table may be declared to replace on conflict, and no row may vanish that way.
        if before is not None:
            self.connection.execute(f"UPDATE OR ABORT {name} SET {value} = {stored} WHERE {self.row}", [*bound, *self.fixed, encoded(key)])  # noqa: S608
            return
        columns = [*(quoted(column) for column, _ in self.table.where), quoted(self.table.key), value]
        values = ", ".join([*("CAST(? AS TEXT)" for _ in self.fixed), "CAST(? AS TEXT)", stored])
        sql = f"INSERT OR ABORT INTO {name} ({', '.join(columns)}) VALUES ({values})"  # noqa: S608 (quoted)
        self.connection.execute(sql, [*self.fixed, encoded(key), *bound])


def _compare(store: _Store, guard: Mapping[str, Mapping[str, Cell]], watch: Mapping[str, Cell | None]) -> None:
    changed: list[tuple[str, str]] = []
    for prefix, expected in guard.items():
        seen_keys: set[str] = set()
        for raw, data, kind in records(store.connection, store.table, prefix):
            key = raw.decode("utf-8", "surrogateescape")
            if key in seen_keys:
                changed.append((key, "is there twice"))
            elif key not in expected:
                changed.append((key, "is new"))
            elif expected[key] != Cell(data, kind):
                changed.append((key, "has another value"))
            seen_keys.add(key)
        changed += [(key, "is gone") for key in expected if key not in seen_keys]
    changed += [(key, what) for key, cell in watch.items() if (what := _difference(cell, store.cell(key)))]
    if changed:
        raise Moved(store.path, changed[:NAMED], len(changed))


def _difference(expected: Cell | None, stored: Cell | None) -> str:
    if expected == stored:
        return ""
    if expected is None:
        return "is new"
    return "is gone" if stored is None else "has another value"


def _write(store: _Store, changes: Sequence[Change]) -> None:
    final: dict[str, Cell | None] = {}
    expected, count = 0, store.connection.total_changes
    for change in changes:
        stored, after = store.cell(change.key), change.after
        if change.element:
            after = elements.whole(store.path, change, stored).after
        elif what := _difference(change.before, stored):
            raise Moved(store.path, [(change.key, what)], 1)
        final[change.key] = after
        if after is not None or stored is not None:
            try:
                store.put(change.key, stored, after)
            except sqlite3.IntegrityError as error:
                raise NotKept(store.path, f"{change.key}: {error}") from error
            expected += 1
    if store.connection.total_changes - count != expected:
        raise NotKept(store.path, "other rows changed as well, so it has triggers")
    for key, expected_cell in final.items():
        if store.cell(key) != expected_cell:
            raise NotKept(store.path, f"{key} reads back with other bytes")
