"""Reads dispatch's trace database (both of its `bodies` schemas) and its NDJSON journal as trace records with their bodies."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from inspector.programs.formats import Shape
from inspector.text.js_json import parse
from inspector.traces.bodies import Body, decompress
from inspector.traces.body_tables import BodyTables, DatabaseRows, body_table, report_unclaimed
from inspector.traces.journal_line import after_torn, body_of, decoded, object_of, why_unreadable
from inspector.traces.log_record import KINDS, UNREADABLE, record_of
from inspector.traces.model import Problem, Report, TraceRecord, complainer
from inspector.traces.record_id import record_id

__all__ = [
    "JOURNAL",
    "NAME",
    "SAMPLES",
    "TITLES",
    "Body",
    "DatabaseRows",
    "Problem",
    "decompress",
    "read_database",
    "read_journal",
    "sniff",
    "sniff_journal",
]

NAME = "dispatch-traces"
JOURNAL = "dispatch-journal"
TITLES = {
    NAME: "Dispatch trace database (traces.db, both of its schemas)",
    JOURNAL: "Dispatch journal (NDJSON, one record a line; the generation before it, FILE.1, is read along)",
}
SAMPLES = {
    NAME: "tables records(id, kind, timestamp, extensionId, spanId), bodies(…)",
    JOURNAL: '{"kind":"log","timestamp":1777885951004,"extensionId":"core","message":"started"}',
}
"""As `Format.sample`."""

ObservedRecord = tuple[TraceRecord, Body | None]
"""A record, and its body if no earlier record of this source brought it already: `TraceRecord.body` is always `Body.name`."""

_COLUMNS = (
    *("id", "kind", "level", "msg", "name", "spanId", "parentSpanId", "conversationId", "turnId", "extensionId"),
    *("timestamp", "durationMs", "status", "attributes", "links", "bodyHash"),
)
_KNOWN_START = re.compile(rb'\s*\{\s*"kind"\s*:\s*"(log|span-open|span-close)"')


def sniff(shape: Shape) -> float:
    """How sure it is that a database is a trace store: by the columns of `records`, and by a table of bodies."""
    if not {"id", "kind", "timestamp", "extensionId", "spanId"} <= set(shape.tables.get("records", ())):
        return 0.0
    return 1.0 if {"bodies", "bodies_old"} & set(shape.tables) else 0.8


def sniff_journal(shape: Shape) -> float:
    """How sure it is that a file is a journal. The first line may be torn, and the second longer than what is seen of it."""
    if shape.tables:
        return 0.0
    for sure, line in zip((0.95, 0.9), (line for line in shape.head.splitlines() if line.strip()), strict=False):
        try:
            record = parse(line.decode("utf-8", "surrogateescape"))
        except ValueError:
            if _KNOWN_START.match(line):
                return sure - 0.2
            continue
        if isinstance(record, dict) and record.get("kind") in KINDS:
            return sure if "extensionId" in record and "timestamp" in record else sure - 0.4
    return 0.0


def read_database(rows: DatabaseRows, report: Report) -> Iterator[ObservedRecord]:
    """All records of a trace database in (timestamp, rowid) order, which `order` counts from 0. Never raises for a damaged row.

    The new schema (`bodies.hash`), the old (`bodies.recordId`) and a leftover `bodies_old` are read; one body is in memory
    at a time. Bodies that no record names are reported. What `rows` itself raises (damaged pages) comes through.
    """
    if "records" not in rows.tables:
        report(Problem("records", "There is no table records: choose the trace database itself."))
        return
    columns = [column for column in _COLUMNS if column in rows.tables["records"]]
    bodies = BodyTables(rows, [table for name in ("bodies", "bodies_old") if (table := body_table(rows, name))], report)
    if not bodies.tables:
        report(Problem("bodies", "There is no table of bodies: which prompts and requests were sent is unknown, not absent."))
    order = '"timestamp", rowid' if "timestamp" in columns else "rowid"
    for number, values in enumerate(rows.rows("records", columns, order=order)):
        fields: dict[str, Any] = dict(zip(columns, values, strict=True))
        identity = fields.get("id")
        complain = complainer(
            report, f"records, id {identity[:80]!r}" if isinstance(identity, str) else f"records, number {number} in time"
        )
        if not isinstance(identity, str):
            complain("it has no id: it is known by its place in time")
            identity = f"row-{number}"
        for name in ("attributes", "links"):
            fields[name] = _parsed(fields.get(name), name, complain)
        body_name, body = bodies.of(identity, fields.get("bodyHash"), complain)
        yield record_of(fields, identity, number, body_name, complain), body
    for table in bodies.tables:
        report_unclaimed(rows, table, columns, report)


def read_journal(lines: Iterable[tuple[int, bytes]], report: Report, first_order: int = 0) -> Iterator[ObservedRecord]:
    """All records of a journal, from (byte offset, line) pairs. Ids are computed, so they equal those of the database.

    `order` is `first_order` + offset. Read `<journal>.1` first, then the journal with the size of `.1` as `first_order`.
    A line that is no record is reported and left out; a record that follows a torn one on the same line is read.
    """
    seen_bodies: set[str] = set()
    unreadable: tuple[Callable[[str], None], ValueError] | None = None
    for offset, line in lines:
        if not line.strip():
            continue
        if unreadable:
            unreadable[0](why_unreadable(unreadable[1], last=False))
            unreadable = None
        complain = complainer(report, f"line at byte {offset}")
        text, shown, problem = decoded(line)
        try:
            fields = object_of(shown)
            identity = record_id(object_of(text))
        except ValueError as error:
            salvaged = after_torn(line)
            if salvaged is None:
                unreadable = complain, error
                continue
            complain("it starts with a torn record, which is left out; the record after that is read")
            fields, identity, problem = salvaged, record_id(salvaged), ""
        if problem:
            complain(problem)
        body = body_of(fields.get("body"), not problem, complain)
        yield record_of(fields, identity, first_order + offset, body.name if body else None, complain), _new(body, seen_bodies)
    if unreadable:
        unreadable[0](why_unreadable(unreadable[1], last=True))


def _new(body: Body | None, seen_bodies: set[str]) -> Body | None:
    if body is None or body.name in seen_bodies:
        return None
    seen_bodies.add(body.name)
    return body


def _parsed(value: Any, name: str, complain: Callable[[str], None]) -> Any:
    if value is None:
        return None
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    try:
        if not isinstance(text, str):
            raise ValueError("it is not text")
        return parse(text)
    except ValueError as error:
        complain(f"its {name} are not JSON ({error}): the text is kept under the name {UNREADABLE}")
        return {UNREADABLE: text}
