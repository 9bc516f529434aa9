"""An export of gbrain's tables: what pg_dump writes as text, CSV, or rows as JSON, in one file or a folder of them.

`unpack` gives the records that the server itself would give, so that everything after it is the same as for the database.
"""

import re
from collections.abc import Iterable, Iterator

from inspector.programs.formats import NotAnExport, Record, Shape, Unpacked, WriteMode
from inspector.programs.gbrain import export_csv, export_json, export_rows, export_sql
from inspector.programs.gbrain.export_rows import GatheredTables
from inspector.programs.gbrain.export_values import JSONB, JSONB_NOT_NULL, NUMBER, TIME, UUID, ExportPart, ExportRow, Note, OtherTable
from inspector.programs.gbrain.format import JobFormat
from inspector.programs.gbrain.tables import EXECUTIONS, IN_FULL, JOBS, LEASES, MESSAGES, RELATIONS
from inspector.programs.relation_rows import row_of

NAME = "gbrain-export"
READ_ONLY = (
    "Nothing is written into an export, which is a copy of a database: name the database itself, as postgresql://USER@HOST:PORT/NAME, and repair there, "
    "or take the repair as an SQL script for it with repair ... --out FILE.sql."
)
LIMIT = 200 << 20
"""Bytes, all files of an export together."""
_SQL, _CSV, _JSON = (".sql", ".dump"), (".csv", ".tsv"), (".json", ".jsonl", ".ndjson")
_TYPES = export_rows.types_of(
    RELATIONS,
    {
        **dict.fromkeys(("result", "output"), JSONB),
        **dict.fromkeys(("data", "content_blocks", "input"), JSONB_NOT_NULL),
        **dict.fromkeys(("lock_until", "delay_until", "created_at", "started_at", "finished_at", "updated_at"), TIME),
        **dict.fromkeys(("ended_at", "acquired_at", "expires_at"), TIME),
        **dict.fromkeys(("schema_version", "tokens_in", "tokens_out", "tokens_cache_read", "tokens_cache_create", "ordinal"), NUMBER),
        **dict.fromkeys(("max_attempts", "attempts_made", "attempts_started", "parent_job_id"), NUMBER),
        "gbrain_tool_use_id": UUID,
    },
)
# What identifies a table whose name says nothing, and whose columns of four bytes show how an export encodes its values.
_TELLING = {
    MESSAGES: ("job_id", "message_idx", "role", "content_blocks"),
    EXECUTIONS: ("job_id", "message_idx", "tool_use_id", "tool_name", "status"),
    LEASES: ("key", "owner_job_id", "expires_at"),
    JOBS: ("id", "name", "queue", "status", "data"),
}
_FOUR_BYTES = {MESSAGES: ("message_idx",), EXECUTIONS: ("message_idx",), LEASES: (), JOBS: ("id", "max_attempts", "attempts_made")}
_IN_JSON = {name: tuple(f'"{column}"'.encode() for column in columns) for name, columns in _TELLING.items()}
_IN_SQL = re.compile(rf"(?:COPY|INSERT INTO|CREATE TABLE|Data for Name:)\s[^\n]{{0,80}}\b(?:{'|'.join(_TELLING)})\b".encode())
_PACKED = (
    (b"\x1f\x8b", "gzip", "unpack it, with `gunzip` say"),
    (b"PK\x03\x04", "zip", "unpack it"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unpack it, with `zstd -d`"),
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class GbrainExport(JobFormat):
    name = NAME
    title = "Export of gbrain's subagent tables (pg_dump as text, CSV or JSON; a file or a folder)"
    sample = "COPY public.subagent_messages (id, job_id, message_idx, role, content_blocks, …) FROM stdin;"
    modes: tuple[WriteMode, ...] = (
        WriteMode(
            "script",
            "an SQL script for the database that was exported (--out FILE.sql), which refuses where rows moved since; the export stays as it is",
            own_risk="script to run, edits the original",
        ),
    )

    def sniff(self, shape: Shape) -> float:
        if shape.tables or shape.served:
            return 0.0
        if shape.files:
            names = [key.rpartition("/")[2] for key in shape.files if self.wants(key)]
            return (
                0.9
                if any(_table_named(name) for name in names)
                else 0.1
                if any(name.endswith(_SQL) or name == "toc.dat" for name in names)
                else 0.0
            )
        if _IN_SQL.search(shape.head):
            return 0.9
        if export_sql.BEGINS in shape.head[:200] or shape.head.startswith(b"PGDMP"):
            return 0.5
        return 0.9 if _is_rows(shape.head) else 0.2 if _table_named(shape.name) and shape.name.endswith((".gz", *_JSON)) else 0.0

    def wants(self, key: str) -> bool:
        """A file that was named alone; of a folder dumps, and files named after one of the tables."""
        folder, _, name = key.rpartition("/")
        if not folder or name == "toc.dat" or name.endswith(_SQL):
            return folder.count("/") == 0
        return _table_named(name) != "" and name.endswith((*_CSV, *_JSON))

    def weigh(self, size: int) -> None:
        if size > LIMIT:
            raise NotAnExport(
                f"has {size >> 20:,} MiB, and an export {LIMIT >> 20} MiB at most; export only what is read here: pg_dump --data-only -t minion_jobs "
                "-t 'subagent_*', or fewer jobs with psql's \\copy (SELECT ... WHERE job_id = N) TO FILE CSV HEADER."
            )

    def unpack(self, files: Iterable[Record]) -> Unpacked:
        """The rows of the four tables. Raises NotAnExport."""
        gathered = GatheredTables()
        for name, data, note in _plain(files):
            gathered.add(_parts(name, data), _TYPES)
            gathered.notes += note
        tables = export_rows.chosen(gathered, MESSAGES)
        notes = [*gathered.notes, *export_rows.left_out(gathered.others)]
        by_table = {
            relation.name: list(export_rows.records(relation, tables[relation.name], notes))
            for relation in RELATIONS
            if relation.name in tables
        }
        if JOBS in by_table:
            by_table[JOBS] = list(_subagents(by_table[JOBS], by_table[MESSAGES]))
        if EXECUTIONS not in tables:
            notes.append(f"The export holds no {EXECUTIONS}: results that are only there are missing here. Export that table too.")
        if JOBS not in tables:
            notes.append(f"The export holds no {JOBS}: status, error and lock of the jobs are not known. Export that table too.")
        return Unpacked(tuple(record for records in by_table.values() for record in records), tuple(notes))


def _subagents(jobs: Iterable[Record], messages: Iterable[Record]) -> Iterator[Record]:
    """The jobs that the server would give: subagents, and whatever else has messages."""
    with_messages = {row_of(record.value).get("job_id") for record in messages}
    for record in jobs:
        row = row_of(record.value)
        if row.get("name") == "subagent" or row.get("id") in with_messages:
            yield record


def _table_named(name: str) -> str:
    """The table that a file is named after (`public.minion_jobs.csv`, `subagent_messages_rows.csv`), or ""."""
    return next((table for table in _TELLING if re.search(rf"(?:\A|[^A-Za-z0-9_]){table}(?:_rows)?(?:[^A-Za-z0-9_]|\Z)", name)), "")


def _table_with(columns: Iterable[str]) -> str:
    names = set(columns)
    return next((table for table, telling in _TELLING.items() if names.issuperset(telling)), "")


def _is_rows(head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] in (b"{", b"["):
        quoted = start[:3000]
        return any(all(name in quoted for name in names) for names in _IN_JSON.values())
    try:
        return _table_with(export_csv.header(start)) != ""
    except NotAnExport:
        return False


def _plain(files: Iterable[Record]) -> Iterator[tuple[str, bytes, list[str]]]:
    """Each file by its name, without a mark of its encoding and with the backslashes that its program meant; and what is to be said of it."""
    contents = [(file.key.rpartition("/")[2], file.value.data.removeprefix(b"\xef\xbb\xbf")) for file in files]
    for _, data in contents:
        _refuse_packed(data)
    verdicts = [_is_json(name, data) and export_json.is_doubled(data) for name, data in contents]
    # One program wrote them all, and not every file contains what shows it.
    is_doubled = True in verdicts
    for (name, data), verdict in zip(contents, verdicts, strict=True):
        doubled = verdict is True or (verdict is None and is_doubled)
        note = f"Every backslash of {name} is doubled: read as they are. If COPY's text format wrote it, write it with psql -At instead."
        yield name, export_json.undoubled(data) if doubled else data, [note] if verdict is None and not doubled else []


def _is_json(place: str, data: bytes) -> bool:
    start = data.lstrip()[:1]
    return start in (b"{", b"[") or (not start and place.endswith(_JSON))


def _parts(place: str, data: bytes) -> Iterator[ExportPart]:
    if _is_json(place, data):
        yield from _json_parts(data, place)
    elif columns := _csv_columns(data, place):
        yield from _csv_parts(data, place, columns)
    else:
        yield from export_sql.parts(data, IN_FULL)


def _refuse_packed(data: bytes) -> None:
    if data.startswith(b"PGDMP"):
        raise NotAnExport("is written in pg_dump's own format; make text of it with `pg_restore --data-only --file=NEW.sql` and name that.")
    if data.startswith(_UTF16):
        raise NotAnExport("is UTF-16, as PowerShell's > writes it; let pg_dump write the file itself, with --file=NAME.")
    for start, name, do in _PACKED:
        if data.startswith(start):
            raise NotAnExport(f"is packed ({name}); {do}, and name what comes out.")


def _csv_columns(data: bytes, place: str) -> tuple[str, ...]:
    """The columns of a CSV of one of the tables; () for what is none. Raises NotAnExport."""
    if export_sql.BEGINS in data[:200] or place.endswith(_SQL):
        return ()
    columns = export_csv.header(data)
    if _table_with(columns) or (_table_named(place) and set(columns) & _TYPES.keys()):
        return columns
    if place.endswith(_CSV):
        raise NotAnExport(
            f"holds {place}, whose first line names no columns of gbrain's tables; export it with a header line: \\copy ... TO FILE CSV HEADER."
        )
    return ()


def _csv_parts(data: bytes, place: str, columns: tuple[str, ...]) -> Iterator[ExportPart]:
    table = _table_with(columns) or _table_named(place)
    yield ExportRow("", table, columns, None)
    broken = 0
    for values in export_csv.rows(data):
        if values is None:
            broken += 1
        else:
            yield ExportRow("", table, columns, values)
    if broken:
        yield Note(_broken(broken, place, "have not as many fields as the first line has names, or end inside quotes"))


def _json_parts(data: bytes, place: str) -> Iterator[ExportPart]:
    if by_table := export_json.tables_of(data, _TELLING):
        for table, array in by_table.items():
            yield ExportRow("", table, (), None)
            yield from _json_rows(array, table, f"{place} ({table})")
        return
    if named := _table_named(place):
        yield ExportRow("", named, (), None)
    yield from _json_rows(data, named, place)


def _json_rows(data: bytes, table: str, place: str) -> Iterator[ExportPart]:
    broken = 0
    numbers = _FOUR_BYTES[table] if table else ("message_idx", "max_attempts", "attempts_made")
    for row in export_json.rows(data, _TYPES, numbers):
        name = (row.table.rpartition(".")[2] or _table_with(row.values) or table) if row.values is not None else ""
        if row.values is None or not name:
            broken += 1
        elif name in _TELLING:
            yield ExportRow("", name, tuple(row.values), tuple(row.values.values()))
        else:
            yield OtherTable(name)
    if broken:
        yield Note(_broken(broken, place, "are no whole JSON object with the columns of one of the tables"))


def _broken(count: int, place: str, what: str) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'} of {place} {what}: cut off, or not written by PostgreSQL. They are left out."


GBRAIN_EXPORT = GbrainExport()
