"""gbrain's subagent runs: messages in one table, the runs of tools in another (the ledger), the job and its leases next to them.

Read off the program at 0.46.28 (schema 140) and its pull request 1934. A conversation is a job; its native id is the job's number.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Execution, Kind
from inspector.programs.formats import Cell, Change, Format, Record, Relation, Shape, Stored, WriteMode
from inspector.programs.gbrain import facts as gbrain_facts
from inspector.programs.gbrain import script as gbrain_script
from inspector.programs.gbrain import writing as gbrain_writing
from inspector.programs.gbrain.blocks import message_chunks
from inspector.programs.gbrain.tables import EXECUTIONS, JOBS, LEASES, MESSAGES, RELATIONS, milliseconds, value, whole
from inspector.programs.relation_rows import Row, row_of
from inspector.text.jsontext import Unreadable

NAME = "gbrain"


@dataclass(slots=True)
class JobRows:
    """The rows of one job, in the order of their keys."""

    rows: dict[str, list[tuple[Record, Row]]] = field(default_factory=lambda: {JOBS: [], MESSAGES: [], EXECUTIONS: [], LEASES: []})
    records: list[Record] = field(default_factory=list)

    def of(self, table: str) -> list[tuple[Record, Row]]:
        return self.rows[table]


class JobFormat(Format):
    """Jobs as rows of gbrain's tables, of a server or of an export."""

    default_reader = "gbrain-naive"
    default_projection = "ai-sdk"
    default_profile = "ai-sdk-6"

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Jobs in the order of their numbers."""
        return read_jobs(self.name, records)

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        return gbrain_writing.write(plan, stored)

    def script(self, stored: Stored, changes: Sequence[Change], about: Iterable[str]) -> str:
        return gbrain_script.script(stored, changes, about)


class Gbrain(JobFormat):
    name = NAME
    title = "gbrain subagent runs in PostgreSQL (messages, tool executions, job and leases)"
    sample = "tables subagent_messages(…), subagent_tool_executions(…)"
    relations: tuple[Relation, ...] = RELATIONS
    modes: tuple[WriteMode, ...] = (
        WriteMode(
            "fill-rows",
            "inserts rows at free indexes and rewrites blocks of rows that are there, in one transaction; no row is renumbered or removed",
            "in-place",
        ),
    )

    def sniff(self, shape: Shape) -> float:
        if not shape.served:
            return 0.0
        return 0.9 if {MESSAGES, EXECUTIONS} <= shape.tables.keys() else 0.6 if MESSAGES in shape.tables else 0.0

    def at_work(self, stored: Stored, now: int) -> str:
        return gbrain_writing.at_work(stored, now)

    def guard(self, stored: Stored) -> tuple[dict[str, dict[str, Cell]], dict[str, Cell | None]]:
        """Every row of the job, its lock and its leases included: whoever takes the job up moves one of them."""
        return {stored.conversation.native_id: {record.key: record.value for record in stored.records}}, {}


def read_jobs(name: str, records: Iterable[Record]) -> Iterator[Stored]:
    """Jobs in the order of their numbers, whatever the order of the records: an export has one of its own."""
    jobs: dict[str, JobRows] = {}
    relations = {relation.name: relation for relation in RELATIONS}
    for record in records:
        table = record.key.partition(":")[0]
        row = row_of(record.value)
        job_rows = jobs.setdefault(row.get(relations[table].conversation) or "", JobRows())
        job_rows.rows[table].append((record, row))
        job_rows.records.append(record)
    for number in sorted(jobs, key=lambda number: (whole(number) or 0, number)):
        for table, rows in jobs[number].rows.items():
            key = relations[table].key
            # Not by the text of the key: -1 comes after -2.
            rows.sort(key=lambda pair: (*(whole(pair[1].get(column)) or 0 for column in key), pair[0].key))
        yield _read_job(name, number, jobs[number])


def _read_job(name: str, number: str, job_rows: JobRows) -> Stored:
    chunks: list[Chunk] = []
    for record, row in job_rows.of(MESSAGES):
        chunks += _message(record, row, len(chunks) + 1)
    ledger = tuple(
        sorted(
            (_execution(record, row) for record, row in job_rows.of(EXECUTIONS)),
            key=lambda run: (run.message_idx, run.ordinal or 0, run.key),
        )
    )
    job = job_rows.of(JOBS)
    facts = gbrain_facts.facts(job[0] if job else None, job_rows.of(MESSAGES), ledger, job_rows.of(LEASES))
    conversation = Conversation(number, name, tuple(chunks), facts, gbrain_facts.title(job[0][1] if job else {}, chunks), ledger=ledger)
    return Stored(conversation, tuple(sorted(job_rows.records, key=lambda record: record.key)))


def _message(record: Record, row: Row, first: int) -> list[Chunk]:
    index, role, at = whole(row.get("message_idx")), row.get("role") or "", milliseconds(row.get("ended_at"))
    try:
        content: Any = value(row.get("content_blocks"))
    except Unreadable as problem:
        return [Chunk(f"{record.key}#0", first, role, Kind.UNREADABLE, {}, index, 0, record.value.data, problem.damage, problem.reason, at)]
    return message_chunks(record.key, index if index is not None else 0, role, content, record.value.data, at, first)


def _execution(record: Record, row: Row) -> Execution:
    damage, reason = "", ""
    values: dict[str, Any] = {}
    for name in ("input", "output"):
        try:
            values[name] = value(row.get(name))
        except Unreadable as problem:
            damage, reason = problem.damage, f"{name}: {problem.reason}"
    return Execution(
        record.key,
        whole(row.get("message_idx")) or 0,
        row.get("tool_use_id") or "",
        row.get("tool_name") or "",
        row.get("status") or "",
        whole(row.get("ordinal")),
        values.get("input"),
        values.get("output"),
        row.get("error"),
        milliseconds(row.get("started_at")),
        milliseconds(row.get("ended_at")),
        damage,
        reason,
        row.get("gbrain_tool_use_id") or "",
    )


GBRAIN = Gbrain()
