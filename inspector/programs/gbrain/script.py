"""A write to gbrain's tables as an SQL script for whoever may write to the database: one transaction that looks, refuses or writes, and leaves nothing half done.

All of it is one anonymous block of PL/pgSQL, so that it is one act for psql and for any driver. Texts are encoded so that no setting of the session, no
encoding of a terminal and no dollar quote in them can change what they say.
"""

# What is put into a statement is a name of ours, a whole number, or went through `literal`.
# ruff: noqa: S608

from collections.abc import Iterable, Mapping, Sequence

from inspector.programs.formats import Change, Stored, WriteRefused
from inspector.programs.gbrain.tables import EXECUTIONS, JOBS, LEASES, MESSAGES, RELATIONS, whole
from inspector.programs.gbrain.writing import AT_REST
from inspector.programs.relation_rows import Row, row_of

_TAG = "inspector"
# What is compared of each row, with its type: whatever else a row holds, no repair changes.
_COMPARED = {
    MESSAGES: {"message_idx": "bigint", "role": "text", "content_blocks": "jsonb"},
    EXECUTIONS: {
        **{"id": "bigint", "message_idx": "bigint", "ordinal": "bigint", "tool_use_id": "text", "tool_name": "text"},
        **{"status": "text", "output": "jsonb", "error": "text"},
    },
}
_COLUMNS = next(relation.columns for relation in RELATIONS if relation.name == MESSAGES)
_ESCAPES = {"'": "''", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def script(stored: Stored, changes: Sequence[Change], about: Iterable[str]) -> str:
    """The script that makes `changes` where every message and every run of the job still is as in `stored`; `about` are sentences for its head. Raises WriteRefused."""
    job = whole(stored.conversation.native_id)
    if job is None:
        raise WriteRefused("The job has no number, so that no script can name it: check the columns of the export.")
    body = "\n".join((*_look(job, stored), *(line for change in changes for line in _written(change)), *_checked(job, changes)))
    tag = _TAG
    while f"${tag}$" in body:
        tag += "x"
    head = "\n".join(f"-- {_plain(line)}" for line in about)
    return f"""{head}
BEGIN;
SET LOCAL lock_timeout = '2s';
SET LOCAL row_security = off;
DO ${tag}$
DECLARE
  job record;
  moved text;
  written bigint;
BEGIN
{body}
END
${tag}$;
COMMIT;
"""


def literal(text: str | None) -> str:
    """An SQL constant of any type, in ASCII quotes that mean the same whatever standard_conforming_strings is; what cannot be seen is an escape."""
    if text is None:
        return "NULL"
    escaped = "".join(_ESCAPES.get(sign) or (sign if sign.isprintable() else _code(sign)) for sign in text)
    return f"E'{escaped}'" if "\\" in escaped else f"'{escaped}'"


def _code(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"


def _plain(line: str) -> str:
    """On one line, whatever it holds."""
    return "".join(sign if sign.isprintable() else _code(sign) for sign in line)


def _raise(words: str) -> str:
    return f"RAISE EXCEPTION USING MESSAGE = {words};"


def _look(job: int, stored: Stored) -> Iterable[str]:
    rows = {
        table: [row_of(record.value) for record in stored.records if record.key.startswith(f"{table}:")] for table in (JOBS, *_COMPARED)
    }
    lock = "lock_until" if any("lock_until" in row for row in rows[JOBS]) else "NULL::timestamptz AS lock_until"
    nothing = "nothing was written"
    yield "  -- The row that gbrain locks when it takes the job up; new rows of the job wait for it too."
    yield f"  SELECT status, {lock} INTO job FROM {JOBS} WHERE id = {job} FOR UPDATE;"
    yield "  IF NOT FOUND THEN"
    yield f"    {_raise(literal(f'There is no job {job} here, so {nothing}: run this on the database that it was made for.'))}"
    yield "  END IF;"
    yield f"  IF job.status NOT IN ({', '.join(map(literal, AT_REST))}) THEN"
    yield f"""    {_raise(f"concat('Job {job} is ', job.status, ', so {nothing}: pause or cancel it in gbrain, then run this again.')")}"""
    yield "  END IF;"
    yield "  IF job.lock_until > clock_timestamp() THEN"
    yield f"""    {_raise(f"concat('A worker holds job {job} until ', job.lock_until, ', so {nothing}: wait until it is done, then run this again.')")}"""
    yield "  END IF;"
    yield f"  IF to_regclass({literal(LEASES)}) IS NOT NULL THEN"
    yield f"    IF EXISTS (SELECT FROM {LEASES} WHERE owner_job_id = {job} AND expires_at > clock_timestamp()) THEN"
    yield f"      {_raise(literal(f'A call of job {job} is in flight, so {nothing}: wait until its lease is over, then run this again.'))}"
    yield "    END IF;"
    yield "  END IF;"
    for table, types in _COMPARED.items():
        yield f"  PERFORM 1 FROM {table} WHERE job_id = {job} FOR UPDATE;"
        yield f"  -- {table} as this was made on; what moved since is named."
        yield from _compared(job, table, types, rows[table])


def _compared(job: int, table: str, types: Mapping[str, str], rows: Sequence[Row]) -> Iterable[str]:
    columns = [name for name in types if all(name in row for row in rows)] if rows else list(types)[:1]
    values = ",\n      ".join(f"({', '.join(f'{literal(row[name])}::{types[name]}' for name in columns)})" for row in rows)
    none = f"SELECT {', '.join(f'NULL::{types[name]}' for name in columns)} WHERE false"
    named = f"concat({literal(f'{columns[0]} ')}, string_agg(DISTINCT found.{columns[0]}::text, ', '))"
    yield f"  WITH wanted ({', '.join(columns)}) AS ({f'VALUES{chr(10)}      {values}' if rows else none}),"
    yield f"    held AS (SELECT {', '.join(f'{name}::{types[name]}' for name in columns)} FROM {table} WHERE job_id = {job})"
    yield f"  SELECT {named} INTO moved FROM ("
    yield "    (TABLE held EXCEPT ALL TABLE wanted) UNION ALL (TABLE wanted EXCEPT ALL TABLE held)) AS found HAVING count(*) > 0;"
    yield "  IF moved IS NOT NULL THEN"
    words = f"concat('Rows of {table} of job {job} changed since this was made (', moved, '), so nothing was written: make it again.')"
    yield f"    {_raise(words)}"
    yield "  END IF;"


def _written(change: Change) -> Iterable[str]:
    """Rows of messages only: no other table is ever written to."""
    before = None if change.before is None else row_of(change.before)
    after = None if change.after is None else row_of(change.after)
    row = after or before or {}
    # Names are in the script as they are, and those of an export are its writer's.
    if strange := [name for name in row if name not in _COLUMNS]:
        raise WriteRefused(
            f"The messages have the column {literal(strange[0][:60])}, which gbrain's have not: check the columns of the export."
        )
    where = f"job_id = {whole(row['job_id'])} AND message_idx = {whole(row['message_idx'])}"
    if before is None and after is not None:
        yield f"  INSERT INTO {MESSAGES} ({', '.join(after)})"
        yield f"    VALUES ({', '.join(map(literal, after.values()))});"
    elif before is not None and after is None:
        yield f"  DELETE FROM {MESSAGES} WHERE {where};"
    elif before is not None and after is not None:
        set_ = ", ".join(f"{name} = {literal(value)}" for name, value in after.items() if value != before.get(name))
        yield f"  UPDATE {MESSAGES} SET {set_} WHERE {where};"
    yield "  GET DIAGNOSTICS written = ROW_COUNT;"
    yield f"  IF written <> 1 THEN {_raise(literal('A row was not written as planned, so nothing was: look at triggers and rules of the table.'))} END IF;"


def _checked(job: int, changes: Sequence[Change]) -> Iterable[str]:
    expected = [row_of(change.after) for change in changes if change.after is not None]
    if not expected:
        return
    values = ", ".join(f"({whole(row['message_idx'])}, {literal(row['content_blocks'])}::jsonb)" for row in expected)
    yield "  -- What a trigger or a rule made of it."
    yield f"  IF {len(expected)} <> (SELECT count(*) FROM {MESSAGES} m JOIN (VALUES {values}) AS w (message_idx, content_blocks)"
    yield "      ON m.message_idx = w.message_idx AND m.content_blocks = w.content_blocks"
    yield f"      WHERE m.job_id = {job}) THEN"
    yield f"    {_raise(literal('What was written does not read back as planned, so nothing was: look at triggers and rules of the table.'))}"
    yield "  END IF;"
