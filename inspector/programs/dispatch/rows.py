"""The values of Dispatch's conversation store: rows, meta, metrics and index as what they say, or with what is wrong with them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from inspector.conversation.model import Chunk, Fact, Kind, Message, TurnMetrics
from inspector.programs.formats import TOO_LARGE, Cell, Record
from inspector.text import jsontext, limits
from inspector.text.jsontext import Unreadable

ROLES = ("system", "user", "assistant", "tool")
_KINDS = {kind.value: kind for kind in (Kind.TEXT, Kind.THINKING, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.ERROR, Kind.SYSTEM, Kind.IMAGE)}
# Field, type and whether it must be there, per chunk type (a string `input` is legal: argument text that did not parse).
_FIELDS: dict[str, tuple[tuple[str, type, bool], ...]] = {
    "text": (("text", str, True),),
    "thinking": (("text", str, True),),
    "system": (("text", str, True),),
    "tool-call": (("toolCallId", str, True), ("toolName", str, True), ("stepId", str, False)),
    "tool-result": (
        ("toolCallId", str, True),
        ("toolName", str, True),
        ("content", str, True),
        ("isError", bool, True),
        ("stepId", str, False),
    ),
    "error": (("message", str, True), ("code", str, False)),
    "image": (("url", str, True), ("mimeType", str, False)),
}
_META_KEYS = ("createdAt", "lastActivityAt", "title", "status", "compactedFrom", "workspaceId")
_STEP_ID = re.compile(r"turn-(\d{12,14})-[0-9a-z]*#(\d+)")


def row_text(chunk: Chunk) -> str:
    """A new row as upstream writes it: compact, key order chunk, role, msgIdx, chunkIdx."""
    return jsontext.compact({"chunk": dict(chunk.payload), "role": chunk.role, "msgIdx": chunk.msg_idx, "chunkIdx": chunk.chunk_idx})


def read_chunk(record: Record, seq: int) -> Chunk:
    """One row as a chunk; whatever is wrong with it is said in `damage` and `reason`."""
    raw = record.value.data

    def unreadable(damage: str, reason: str, payload: Mapping[str, Any] | None = None, role: str = "", **indexes: int | None) -> Chunk:
        return Chunk(record.key, seq, role, Kind.UNREADABLE, payload or {}, raw=raw, damage=damage, reason=reason, **indexes)  # type: ignore[arg-type]

    if record.value.type == TOO_LARGE:
        return unreadable(TOO_LARGE, limits.reason(f"more than {limits.LARGEST_VALUE >> 20} MB"))
    if record.value.type != "text":
        return unreadable("not-text", f"stored as {record.value.type.upper()}, not as text")
    try:
        row = jsontext.parse(jsontext.decode(raw))
    except Unreadable as problem:
        return unreadable(problem.damage, problem.reason)
    if row is None:
        return unreadable("null", "the row is JSON null")
    if not isinstance(row, dict):
        return unreadable("not-object", f"the row is a JSON {jsontext.type_name(row)}, not an object")
    payload = row.get("chunk")
    role = row.get("role") if isinstance(row.get("role"), str) else ""
    members = payload if isinstance(payload, dict) else {}
    msg_idx, chunk_idx = _index(row.get("msgIdx")), _index(row.get("chunkIdx"))

    def damaged(damage: str, reason: str) -> Chunk:
        return unreadable(damage, reason, members, role or "", msg_idx=msg_idx, chunk_idx=chunk_idx)

    for name in ("chunk", "role", "msgIdx", "chunkIdx"):
        if name not in row:
            return damaged(f"missing-{name}", f"the row has no {name}")
    if payload is None:
        return damaged("null-chunk", "chunk is JSON null")
    if not isinstance(payload, dict):
        return damaged("wrong-type", f"chunk is a JSON {jsontext.type_name(payload)}, not an object")
    if role not in ROLES:
        return damaged("wrong-type", f"role is {jsontext.compact(row['role'])[:60]}, none of {', '.join(ROLES)}")
    if msg_idx is None or chunk_idx is None:
        name = "msgIdx" if msg_idx is None else "chunkIdx"
        return damaged("wrong-type", f"{name} is {jsontext.compact(row[name])[:60]}, not a whole number")
    type_ = payload.get("type")
    if not isinstance(type_, str) or type_ not in _KINDS:
        return damaged("unknown-type", f"chunk type {jsontext.compact(type_)[:60]} is not one that this store has")
    for name, expected_type, is_required in _FIELDS[type_]:
        if name not in payload:
            if is_required:
                return damaged("missing-field", f"the {type_} chunk has no {name}")
        elif not isinstance(payload[name], expected_type):
            return damaged("wrong-type", f"{name} of the {type_} chunk is a JSON {jsontext.type_name(payload[name])}")
    if type_ == "tool-call" and "input" not in payload:
        return damaged("missing-field", "the tool-call chunk has no input")
    return Chunk(record.key, seq, role, _KINDS[type_], payload, msg_idx, chunk_idx, raw, at=_turn_time(payload))


def _index(value: Any) -> int | None:
    """JavaScript knows one kind of number: 1.0 is the index 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _turn_time(payload: Mapping[str, Any]) -> int | None:
    """Epoch milliseconds of the turn, from the step id: the only time that a row carries."""
    step = payload.get("stepId")
    match = _STEP_ID.fullmatch(step) if isinstance(step, str) else None
    return int(match.group(1)) if match else None


def read_metrics(record: Record) -> TurnMetrics:
    """One metrics row; what cannot be read of it is said in `reason`."""
    try:
        row = jsontext.parse(jsontext.decode(record.value.data))
    except Unreadable as problem:
        return TurnMetrics(record.key, "", reason=problem.reason)
    if not isinstance(row, dict) or not isinstance(row.get("turnId"), str):
        return TurnMetrics(record.key, "", reason="the row is no object with a turnId")
    steps = row.get("steps") if isinstance(row.get("steps"), list) else []
    ids = tuple(step["stepId"] for step in steps or [] if isinstance(step, dict) and isinstance(step.get("stepId"), str))
    usage = row.get("usage") if isinstance(row.get("usage"), dict) else {}
    tokens = {name: value for name, value in (usage or {}).items() if isinstance(value, int) and not isinstance(value, bool)}
    return TurnMetrics(record.key, row["turnId"], ids, tokens.get("inputTokens", 0), tokens.get("outputTokens", 0))


def read_legacy(record: Record, number: int) -> Message:
    """One whole-message row of the generation before chunk rows, numbered from 0; its chunks have no indexes of their own."""
    raw = record.value.data

    def unreadable(reason: str) -> Message:
        return Message("", (Chunk(record.key, number, "", Kind.UNREADABLE, {}, raw=raw, damage="not-json", reason=reason),))

    try:
        row = jsontext.parse(jsontext.decode(raw))
    except Unreadable as problem:
        return unreadable(problem.reason)
    if not isinstance(row, dict) or row.get("role") not in ROLES or not isinstance(row.get("chunks"), list):
        return unreadable("the row is no message with a role and chunks")
    role = str(row["role"])
    chunks = []
    for at, payload in enumerate(row["chunks"]):
        row_json = jsontext.compact({"chunk": payload, "role": role, "msgIdx": number, "chunkIdx": at})
        chunks.append(replace(read_chunk(Record(f"{record.key}#{at}", Cell(jsontext.encode(row_json))), number), raw=raw))
    return Message(role, tuple(chunks))


def index_ids(index: Record | None) -> list[str] | None:
    """Ids in the index, without repeats; None where there is no index or it is no array of strings."""
    if index is None:
        return None
    try:
        ids = jsontext.parse(jsontext.decode(index.value.data))
    except Unreadable:
        return None
    if not isinstance(ids, list):
        return None
    return list(dict.fromkeys(item for item in ids if isinstance(item, str)))


def read_meta(meta: Fact | None) -> dict[str, str]:
    """Members of a meta row as text. A row that upstream counts as missing (no numeric times, no string title) gives none."""
    if meta is None or meta.value is None:
        return {}
    row = jsontext.object_of(meta.value)
    numeric = all(
        isinstance(row.get(name), int | float) and not isinstance(row.get(name), bool) for name in ("createdAt", "lastActivityAt")
    )
    if not numeric or not isinstance(row.get("title"), str):
        return {}
    result = {
        name: row[name] if isinstance(row[name], str) else str(int(row[name]))
        for name in _META_KEYS
        if isinstance(row.get(name), str | int) or (isinstance(row.get(name), float) and isfinite(row[name]))
    }
    # Upstream reads anything but these three as idle.
    result["status"] = result.get("status", "idle") if result.get("status") in ("active", "idle", "closed") else "idle"
    return result


def legacy_rows(lines: Iterable[str]) -> Iterator[Message]:
    """Rows of the notation of cases: a word, then the JSON of a message that no row number belongs to."""
    for number, line in enumerate(lines):
        yield read_legacy(Record(f"legacy-{number}", Cell(jsontext.encode(line.partition(" ")[2]))), number)
