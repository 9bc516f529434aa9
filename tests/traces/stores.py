"""Trace stores for tests: real SQLite files in both schemas, journals, and records by hand."""

import gzip
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from inspector.sources import files, sqlite
from inspector.traces import dispatch as dispatch_traces
from inspector.traces.bodies import Body, decompress
from inspector.traces.body_hash import body_hash
from inspector.traces.model import Problem, TraceRecord
from inspector.traces.record_id import record_id

EXAMPLES: dict[str, dict[str, Any]] = {
    "99ed5f2025b538e8": {
        "kind": "span-open",
        "spanId": "span-2",
        "name": "step",
        "timestamp": 1700000000100,
        "extensionId": "test-ext",
        "conversationId": "conv-1",
        "turnId": "turn-1",
        "parentSpanId": "span-1",
    },
    "73237b97dae32fa6": {
        "kind": "span-close",
        "spanId": "span-2",
        "name": "step",
        "timestamp": 1700000000500,
        "durationMs": 400,
        "status": "ok",
        "extensionId": "test-ext",
        "conversationId": "conv-1",
        "turnId": "turn-1",
        "parentSpanId": "span-1",
    },
    "99e3f0d1ffe69fc0": {
        "kind": "span-open",
        "spanId": "span-3",
        "name": "prompt",
        "timestamp": 1700000000200,
        "extensionId": "test-ext",
        "conversationId": "conv-1",
        "turnId": "turn-1",
        "body": "the full prompt text",
    },
    "3bd39c9dd27756b3": {
        "kind": "log",
        "level": "info",
        "msg": "hello",
        "timestamp": 1700000000000,
        "extensionId": "test-ext",
        "conversationId": "conv-1",
        "turnId": "turn-1",
        "spanId": "span-1",
        "attributes": {"key": "value"},
    },
}

_FIELDS = [
    "kind",
    "level",
    "msg",
    "name",
    "spanId",
    "parentSpanId",
    "conversationId",
    "turnId",
    "extensionId",
    "timestamp",
    "durationMs",
    "status",
]
_COLUMNS = (
    "id TEXT PRIMARY KEY, kind TEXT NOT NULL, level TEXT, msg TEXT, name TEXT, spanId TEXT, parentSpanId TEXT, "
    "conversationId TEXT, turnId TEXT, extensionId TEXT NOT NULL, timestamp INTEGER NOT NULL, durationMs INTEGER, "
    "status TEXT, attributes TEXT, links TEXT"
)
OLD_BODIES = "(recordId TEXT PRIMARY KEY, body TEXT NOT NULL)"
NEW_BODIES = (
    "(hash TEXT PRIMARY KEY, body BLOB NOT NULL, isCompressed INTEGER NOT NULL DEFAULT 0, "
    "originalSize INTEGER NOT NULL, storedSize INTEGER NOT NULL)"
)


def write_database(path: Path, records: Iterable[dict[str, Any]] = (), *, old: bool = False, after: Iterable[str] = ()) -> Path:
    """A store as the collector writes it, then the statements `after`, which damage it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE records ({_COLUMNS}{'' if old else ', bodyHash TEXT'})")
        connection.execute(f"CREATE TABLE bodies {OLD_BODIES if old else NEW_BODIES}")
        for record in records:
            _insert(connection, record, old)
        for statement in after:
            connection.execute(statement)
    return path


def _insert(connection: sqlite3.Connection, record: dict[str, Any], old: bool) -> None:
    columns: dict[str, Any] = {"id": record_id(record), **{name: record[name] for name in _FIELDS if name in record}}
    columns.update({name: json.dumps(record[name]) for name in ("attributes", "links") if name in record})
    body = record.get("body")
    if body is not None and old:
        connection.execute("INSERT OR IGNORE INTO bodies VALUES (?, ?)", (columns["id"], body))
    elif body is not None:
        data = body.encode()
        small = gzip.compress(data) if len(data) > 1024 else data
        packed = len(small) < len(data)
        stored = small if packed else data
        columns["bodyHash"] = body_hash(data)
        connection.execute(
            "INSERT OR IGNORE INTO bodies VALUES (?, ?, ?, ?, ?)", (columns["bodyHash"], stored, packed, len(data), len(stored))
        )
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    connection.execute(f"INSERT OR IGNORE INTO records ({names}) VALUES ({marks})", tuple(columns.values()))


class Reading:
    """What a read gave: `records`, the content of `bodies` by name, the bodies as they came, and the problems."""

    def __init__(self) -> None:
        self.records: list[TraceRecord] = []
        self.stored: list[Body] = []
        self.problems: list[Problem] = []

    @property
    def bodies(self) -> dict[str, bytes]:
        return {body.name: decompress(body) for body in self.stored}

    @property
    def reasons(self) -> str:
        return "\n".join(problem.reason for problem in self.problems)

    def take(self, observed: Iterable[dispatch_traces.ObservedRecord]) -> "Reading":
        for record, body in observed:
            self.records.append(record)
            self.stored += [body] if body else []
        return self


def read_database(path: Path) -> Reading:
    reading = Reading()
    with sqlite.snapshot(path) as store:
        return reading.take(dispatch_traces.read_database(store, reading.problems.append))


def write_journal(path: Path, records: Iterable[dict[str, Any]], torn: bytes = b"") -> Path:
    lines = [json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records]
    path.write_bytes(b"".join(lines) + torn)
    return path


def read_journal(path: Path, first_order: int = 0) -> Reading:
    reading = Reading()
    return reading.take(dispatch_traces.read_journal(files.lines(path), reading.problems.append, first_order))


def opened(span: str, name: str, at: int, parent: str = "", turn: str = "t1", **more: Any) -> TraceRecord:
    return _record("span-open", span, name, at, parent, turn, more)


def closed(span: str, name: str, at: int, parent: str = "", turn: str = "t1", **more: Any) -> TraceRecord:
    return _record("span-close", span, name, at, parent, turn, more)


def both(span: str, name: str, start: int, end: int, parent: str = "", turn: str = "t1", **attributes: Any) -> list[TraceRecord]:
    """An open (with `attributes`) and a close."""
    return [
        opened(span, name, start, parent, turn, attributes=attributes),
        closed(span, name, end, parent, turn, duration_ms=end - start),
    ]


def _record(kind: str, span: str, name: str, at: int, parent: str, turn: str, more: dict[str, Any]) -> TraceRecord:
    base = TraceRecord(f"{kind} {span} {name} {at}", kind, at, at, "session-orchestrator", name, span_id=span, parent_span_id=parent)
    fields = {"conversation_id": "c1", "turn_id": turn, **more}
    return TraceRecord(**{**{slot: getattr(base, slot) for slot in TraceRecord.__slots__}, **fields})
