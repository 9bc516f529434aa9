"""The only place that makes stores: dispatch.db, traces.db (both of its schemas) and journals, as their programs write them."""

import gzip
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from inspector.sources import files
from inspector.sources.opening import problems_of, side
from inspector.sources.problems import AlreadyThere, NoFolder, NotWritable
from inspector.text import jsontext
from inspector.traces.body_hash import body_hash
from inspector.traces.record_id import record_id

_STORE = (
    "CREATE TABLE kv (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (namespace, key))",
    "CREATE TABLE _migrations (namespace TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, "
    "applied_at TEXT NOT NULL DEFAULT (datetime('now')), PRIMARY KEY (namespace, version))",
)
_RECORDS = (
    "CREATE TABLE records (id TEXT PRIMARY KEY, kind TEXT NOT NULL, level TEXT, msg TEXT, name TEXT, spanId TEXT, parentSpanId TEXT, "
    "conversationId TEXT, turnId TEXT, extensionId TEXT NOT NULL, timestamp INTEGER NOT NULL, durationMs INTEGER, status TEXT, "
    "attributes TEXT, links TEXT{})"
)
_FIELDS = (
    *("kind", "level", "msg", "name", "spanId", "parentSpanId", "conversationId", "turnId", "extensionId"),
    *("timestamp", "durationMs", "status"),
)
_INDEXED = ("turnId", "conversationId", "spanId", "kind", "timestamp")
_BODIES = {
    "old": "CREATE TABLE bodies (recordId TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "new": "CREATE TABLE bodies (hash TEXT PRIMARY KEY, body BLOB NOT NULL, isCompressed INTEGER NOT NULL DEFAULT 0, "
    "originalSize INTEGER NOT NULL, storedSize INTEGER NOT NULL)",
}
_COMPRESSED_FROM = 1024


def write_dispatch_store(path: Path, rows: Iterable[tuple[str, str, str]]) -> None:
    """A new dispatch.db of (namespace, key, value text); the last of two equal keys wins, as upstream sets.

    Parents are made; the file is complete by itself afterwards (WAL mode, no -wal). Raises AlreadyThere, NotWritable, NoRoom.
    """
    with _database(path) as connection:
        for statement in _STORE:
            connection.execute(statement)
        bound = (tuple(map(jsontext.encode, row)) for row in rows)
        # Text is bound as bytes: a lone surrogate, which upstream can store, cannot be bound as str.
        connection.executemany("INSERT OR REPLACE INTO kv VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))", bound)


def write_trace_store(path: Path, log_records: Iterable[Mapping[str, Any]], schema: Literal["new", "old"] = "new") -> None:
    """A new traces.db of LogRecords with their bodies inline. `new`: bodies by content, gzip where that is smaller; `old`: by record.

    Raises AlreadyThere, NotWritable, NoRoom.
    """
    with _database(path) as connection:
        connection.execute(_RECORDS.format(", bodyHash TEXT" if schema == "new" else ""))
        connection.execute(_BODIES[schema])
        for column in (*_INDEXED, *(("bodyHash",) if schema == "new" else ())):
            connection.execute(f"CREATE INDEX idx_records_{column} ON records({column})")
        for record in log_records:
            _insert(connection, record, schema)


def write_journal(path: Path, log_records: Iterable[Mapping[str, Any]]) -> None:
    """A new NDJSON journal, one LogRecord per line. Raises AlreadyThere, NotWritable, NoRoom."""
    _make_parents(path)
    with files.new_file(path) as descriptor, problems_of(path, writing=True), os.fdopen(descriptor, "wb", closefd=False) as file:
        file.writelines(jsontext.encode(jsontext.compact(dict(record))) + b"\n" for record in log_records)


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction in a new database, which is removed again when the body fails."""
    _make_parents(path)
    for suffix in files.SIDES:
        # Side files left by another database of this name would be taken for ours.
        if files.exists(side(path, suffix)):
            raise AlreadyThere(side(path, suffix))
    with files.new_file(path), problems_of(path, writing=True), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _make_parents(path: Path) -> None:
    try:
        # Conversations hold secrets: a folder that we make is closed to other users.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except ValueError as error:
        raise NoFolder(path) from error
    except PermissionError as error:
        raise NotWritable(path, "permission denied") from error
    except OSError as error:
        raise files.problem(error, path.parent) from error


def _insert(connection: sqlite3.Connection, record: Mapping[str, Any], schema: str) -> None:
    identity, body = record_id(record), record.get("body")
    columns: dict[str, Any] = {"id": identity, **{name: record[name] for name in _FIELDS if name in record}}
    columns |= {name: jsontext.compact(record[name]) for name in ("attributes", "links") if name in record}
    if body is not None and schema == "old":
        connection.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?)", (identity, body))
    elif body is not None:
        columns["bodyHash"] = _insert_body(connection, jsontext.encode(body))
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    # OR IGNORE: records that are equal in every field have one id, and the collector keeps one of them.
    connection.execute(f"INSERT OR IGNORE INTO records ({names}) VALUES ({marks})", tuple(columns.values()))  # noqa: S608 (fixed names)


def _insert_body(connection: sqlite3.Connection, data: bytes) -> str:
    packed = gzip.compress(data, mtime=0) if len(data) > _COMPRESSED_FROM else data
    compressed = len(packed) < len(data)
    stored, key = packed if compressed else data, body_hash(data)
    connection.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?, ?, ?, ?)", (key, stored, compressed, len(data), len(stored)))
    return key
