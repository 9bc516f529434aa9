"""The tables of a trace database that hold bodies: content-addressed, by record, or both after an interrupted migration."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from inspector.text.js_json import canonical
from inspector.traces.bodies import Body, gzipped, plain
from inspector.traces.model import Problem, Report, complainer


class DatabaseRows(Protocol):
    """A read-only view of one database at one moment. Text comes decoded with surrogateescape, BLOBs as bytes."""

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]: ...

    def rows(
        self, name: str, columns: Sequence[str], where: str = "", params: Sequence[Any] = (), order: str = ""
    ) -> Iterator[tuple[Any, ...]]: ...


@dataclass(frozen=True, slots=True)
class BodyTable:
    """A table of bodies, the column that names them (`hash` or `recordId`), and the columns to read."""

    name: str
    key: str
    columns: tuple[str, ...]


@dataclass(slots=True)
class BodyTables:
    """Finds the body of a record in any of `tables`, and hands every content out once."""

    rows: DatabaseRows
    tables: list[BodyTable]
    report: Report
    names: dict[str, str] = field(default_factory=dict)
    handed_out: set[str] = field(default_factory=set)

    def of(self, record: str, body_hash: Any, complain: Callable[[str], None]) -> tuple[str | None, Body | None]:
        """Name of the body of the record with this id, and the body itself where its content was not handed out before."""
        if isinstance(body_hash, str) and body_hash in self.names:
            return self.names[body_hash], None
        for table in self.tables:
            key = body_hash if table.key == "hash" else record
            body = self._fetch(table, key) if isinstance(key, str) else None
            if body is None:
                continue
            if isinstance(body_hash, str):
                self.names[body_hash] = body.name
            if body.name in self.handed_out:
                return body.name, None
            self.handed_out.add(body.name)
            return body.name, body
        if body_hash is not None and self.tables:
            complain("its body is no longer in the table of bodies: what it said is unknown, not absent")
        return None, None

    def _fetch(self, table: BodyTable, key: str) -> Body | None:
        # As bytes: a key that is no UTF-8 cannot be bound as text.
        where, params = f'"{table.key}" = CAST(? AS TEXT)', (key.encode("utf-8", "surrogateescape"),)
        for values in self.rows.rows(table.name, table.columns, where=where, params=params):
            row = dict(zip(table.columns, values, strict=True))
            return _stored(row, complainer(self.report, f"{table.name}, {table.key} {key[:80]!r}"))
        return None


def body_table(rows: DatabaseRows, name: str) -> BodyTable | None:
    """The table of that name as the snapshot has it; None where it is missing or holds no bodies."""
    present = rows.tables.get(name, ())
    key = next((key for key in ("hash", "recordId") if key in present), None)
    if key is None or "body" not in present:
        return None
    return BodyTable(name, key, tuple(column for column in ("body", "isCompressed", "originalSize", "storedSize") if column in present))


def _stored(row: Mapping[str, Any], complain: Callable[[str], None]) -> Body:
    data = row["body"]
    if data is None or isinstance(data, int | float):
        complain("the body is neither text nor a BLOB")
        data = "" if data is None else canonical(data)
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    body = None
    if row.get("isCompressed") not in (None, 0):
        try:
            body = gzipped(data)
        except ValueError as error:
            complain(f"the body {error}: the stored bytes are kept as they are")
    body = body or plain(data)
    if row.get("originalSize", body.size) != body.size:
        complain(f"the body has {body.size} bytes, but originalSize says {str(row['originalSize'])[:40]}: it is damaged or was cut")
    elif row.get("storedSize", len(data)) != len(data):
        complain(f"the body takes {len(data)} bytes, but storedSize says {str(row['storedSize'])[:40]}")
    return body


def report_unclaimed(rows: DatabaseRows, table: BodyTable, columns: Sequence[str], report: Report) -> None:
    """Reports how many bodies of `table` no record names; `columns` are those that the table of records has."""
    column = "bodyHash" if table.key == "hash" else "id"
    if column not in columns:
        return
    claimed = f'"{table.key}" NOT IN (SELECT "{column}" FROM "records" WHERE "{column}" IS NOT NULL)'  # noqa: S608 (two fixed names)
    count = sum(1 for _ in rows.rows(table.name, [table.key], where=claimed))
    if count:
        report(Problem(table.name, f"Bodies that no record names, so that no trace shows them: {count}."))
