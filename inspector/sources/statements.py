"""The SQL of a key-value table: exact prefixes, exact bytes, every name quoted."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from inspector.programs.formats import TOO_LARGE, Cell, Table
from inspector.sources.problems import Moved, NoTable, Utf16


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_too_large(error: sqlite3.Error) -> bool:
    """Whether a value is over the limit of its connection (`opening.connect`)."""
    return getattr(error, "sqlite_errorname", "") == "SQLITE_TOOBIG"


def encoded(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


def tables(path: Path, connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Ordinary tables and their columns. Views and virtual tables are left out: they run the store's own code. Raises Utf16."""
    encoding = connection.execute("PRAGMA encoding").fetchone()[0]
    if encoding != "UTF-8":
        raise Utf16(path, encoding)
    columns_by_table: dict[str, tuple[str, ...]] = {}
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name").fetchall():
        try:
            name.encode()
        except UnicodeEncodeError:
            # SQL cannot name it, so no format reads it.
            continue
        columns_by_table[name] = tuple(row[1] for row in connection.execute(f"PRAGMA table_info({quoted(name)})"))
    return columns_by_table


def require(path: Path, columns_by_table: Mapping[str, tuple[str, ...]], name: str, columns: Sequence[str]) -> None:
    """Raises NoTable unless the table has all the columns (also: SQLite would take a quoted unknown column for a string)."""
    if name not in columns_by_table or not set(columns) <= set(columns_by_table[name]):
        raise NoTable(path, name, columns)


def successor(prefix: bytes) -> bytes | None:
    """The first key after all keys that start with `prefix`; None = there is none."""
    cut = prefix.rstrip(b"\xff")
    return cut[:-1] + bytes([cut[-1] + 1]) if cut else None


def where(table: Table) -> tuple[str, list[bytes]]:
    """The fixed columns as SQL and its parameters. COLLATE BINARY everywhere: a store's own collation would make keys equal that are not."""
    parts = [f"{quoted(name)} COLLATE BINARY = CAST(? AS TEXT)" for name, _ in table.where]
    return " AND ".join(parts or ["1"]), [encoded(value) for _, value in table.where]


def records(
    connection: sqlite3.Connection, table: Table, prefix: str | None = None, between: tuple[str, str] | None = None
) -> Iterator[tuple[bytes, bytes, str]]:
    """(key, value as bytes, storage class) in the byte order of keys; `between`: those from one text key to another, both included.

    A value over the limit of the connection comes as b"", TOO_LARGE.
    """
    condition, params = where(table)
    key, value = quoted(table.key), quoted(table.value)
    if prefix is not None:
        start = encoded(prefix)
        condition += f" AND {key} COLLATE BINARY >= CAST(? AS TEXT)"
        params.append(start)
        if (end := successor(start)) is not None:
            condition += f" AND {key} COLLATE BINARY < CAST(? AS TEXT)"
            params.append(end)
        condition += f" AND typeof({key}) = 'text'"
    if between is not None:
        condition += f" AND {key} COLLATE BINARY BETWEEN CAST(? AS TEXT) AND CAST(? AS TEXT)"
        params += map(encoded, between)
    place = f"FROM {quoted(table.name)} WHERE {condition} ORDER BY {key} COLLATE BINARY LIMIT ? OFFSET ?"
    sql = f"SELECT CAST({key} AS BLOB), CAST({value} AS BLOB), typeof({value}) {place}"
    count, is_whole = 0, False
    while not is_whole:
        try:
            for key_bytes, data, kind in connection.execute(sql, (*params, -1, count)):
                count += 1
                yield key_bytes or b"", data or b"", kind
            is_whole = True
        except sqlite3.Error as error:
            if not is_too_large(error):
                raise
            # Of this row or of the next one: Python steps to that before it gives this one.
            try:
                ((key_bytes, data, kind),) = connection.execute(sql, (*params, 1, count)).fetchall()
            except sqlite3.Error as own_error:
                if not is_too_large(own_error):
                    raise
                ((key_bytes,),) = connection.execute(f"SELECT CAST({key} AS BLOB) {place}", (*params, 1, count)).fetchall()
                data, kind = b"", TOO_LARGE
            count += 1
            yield key_bytes or b"", data or b"", kind


def keys(connection: sqlite3.Connection, table: Table) -> Iterator[bytes]:
    """All keys in their byte order, as `records` gives them; no value is read where an index has the keys."""
    condition, params = where(table)
    key = quoted(table.key)
    sql = f"SELECT CAST({key} AS BLOB) FROM {quoted(table.name)} WHERE {condition} ORDER BY {key} COLLATE BINARY"  # noqa: S608 (names quoted)
    for (key_bytes,) in connection.execute(sql, params):
        yield key_bytes or b""


def cell(path: Path, connection: sqlite3.Connection, table: Table, key: str) -> Cell | None:
    """The value under exactly `key`; None where there is none. Raises Moved where the key is there twice."""
    condition, fixed = where(table)
    value = quoted(table.value)
    sql = (
        f"SELECT CAST({value} AS BLOB), typeof({value}) FROM {quoted(table.name)} "  # noqa: S608 (names quoted)
        f"WHERE {condition} AND {quoted(table.key)} COLLATE BINARY = CAST(? AS TEXT)"
    )
    try:
        rows = connection.execute(sql, [*fixed, encoded(key)]).fetchall()
    except sqlite3.Error as error:
        if not is_too_large(error):
            raise
        return Cell(b"", TOO_LARGE)
    if len(rows) > 1:
        raise Moved(path, [(key, f"is there {len(rows)} times")], 1)
    return Cell(rows[0][0] or b"", rows[0][1]) if rows else None
