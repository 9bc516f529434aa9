"""What gbrain keeps of a job next to its messages, and which of the program's paths wrote them."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.conversation.model import Chunk, Execution, Fact, Kind
from inspector.programs.formats import Record
from inspector.programs.gbrain.blocks import BARE, DOUBLE, V1, V2, blocks_of, version_of
from inspector.programs.gbrain.tables import milliseconds, value, whole
from inspector.programs.relation_rows import Row
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

LEGACY, GATEWAY_GAPPED, GATEWAY_BALANCED, GATEWAY, MIXED = (
    "the direct Anthropic path",
    "the gateway loop before #2820 (2026-07-16)",
    "the gateway loop, with rows of results (#2820 of 2026-07-16 writes them, and so does a repair)",
    "the gateway loop",
    "the direct path and the gateway loop, one after the other",
)
"""The fact `path`: recognized by block types and by index gaps, since `schema_version` is 1 on rows of both."""
RESTING = ("failed", "dead", "paused", "cancelled", "completed")
"""Statuses of a job that nobody takes up by itself; `waiting` and `delayed` may be taken up at any moment."""
PATH, STATUS, LOCK, LEASE, ERROR, GAPS, ENCODED = "path", "status", "lockUntil", "leaseUntil", "errorText", "gaps", "doubleEncoded"
_Rows = Sequence[tuple[Record, Row]]


def facts(job: tuple[Record, Row] | None, messages: _Rows, ledger: Sequence[Execution], leases: _Rows) -> dict[str, Fact]:
    """Named facts; times are epoch milliseconds as text, lists of indexes are parted by commas."""
    values: dict[str, str | None] = {}
    key = job[0].key if job else ""
    if job:
        row = job[1]
        data, result = _object(row.get("data")), _object(row.get("result"))
        values[STATUS] = row.get("status")
        values["model"] = _text(data.get("model"))
        values[ERROR] = row.get("error_text")
        values["stopReason"] = _text(result.get("stop_reason"))
        attempts, most = row.get("attempts_made"), row.get("max_attempts")
        values["attempts"] = f"{attempts} of {most}" if attempts is not None and most is not None else attempts
        values[LOCK] = _time(row.get("lock_until"))
    # A live lease is a call in flight, whatever the job's status says.
    values[LEASE] = _latest([milliseconds(row.get("expires_at")) for _, row in leases])
    values["lastActivityAt"] = _latest(
        [
            *(milliseconds(row.get("ended_at")) for _, row in messages),
            *(moment for run in ledger for moment in (run.started_at, run.ended_at)),
            *(milliseconds(job[1].get(name)) for name in ("finished_at", "started_at", "created_at") if job),
        ]
    )
    values |= _layout(messages, ledger)
    return {name: Fact(name, text, key) for name, text in values.items() if text is not None}


def title(job: Row, chunks: Sequence[Chunk]) -> str:
    """The job's prompt, else the first words of a user."""
    prompt = _text(_object(job.get("data")).get("prompt"))
    return prompt or next((chunk.text for chunk in chunks if chunk.role == "user" and chunk.kind is Kind.TEXT), "")


def _layout(messages: _Rows, ledger: Sequence[Execution]) -> dict[str, str]:
    versions: set[str] = set()
    doubled: list[int] = []
    bare: list[int] = []
    calling: list[int] = []
    answered = False
    indexes: list[int] = []
    for _, row in messages:
        index = whole(row.get("message_idx")) or 0
        indexes.append(index)
        try:
            blocks, encoding = blocks_of(value(row.get("content_blocks")))
        except Unreadable:
            continue
        (doubled if encoding == DOUBLE else bare if encoding == BARE else []).append(index)
        kinds = [block.get("type") for block in blocks or () if isinstance(block, dict)]
        versions |= {version_of(block) for block in blocks or ()} - {""}
        answered = answered or "tool-result" in kinds
        if row.get("role") == "assistant" and ("tool-call" in kinds or "tool_use" in kinds):
            calling.append(index)
    present = set(indexes)
    highest = max(indexes, default=-1)
    gaps = [index + 1 for index in calling if index + 1 not in present and index < highest]
    layout = {}
    # Rows of the gateway carry a uuid of their own since schema 82; only the blocks show it where there is no ledger.
    if versions == {V1, V2}:
        layout[PATH] = MIXED
    elif versions == {V1}:
        layout[PATH] = LEGACY
    elif versions == {V2}:
        layout[PATH] = GATEWAY_GAPPED if gaps else GATEWAY_BALANCED if answered else GATEWAY
    if gaps:
        layout[GAPS] = ",".join(map(str, gaps))
    if doubled:
        layout[ENCODED] = ",".join(map(str, doubled))
    return layout


def _object(text: str | None) -> Mapping[str, Any]:
    try:
        parsed = jsontext.parse(text) if text is not None else None
    except Unreadable:
        return {}
    if isinstance(parsed, str):
        return _object(parsed)
    return parsed if isinstance(parsed, dict) else {}


def _text(member: Any) -> str | None:
    return member if isinstance(member, str) else None


def _time(text: str | None) -> str | None:
    moment = milliseconds(text)
    return None if moment is None else str(moment)


def _latest(times: Sequence[int | None]) -> str | None:
    present = [time for time in times if time is not None]
    return str(max(present)) if present else None
