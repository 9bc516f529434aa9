"""Dispatch's conversation store: one JSON row per chunk in the `kv` table of dispatch.db, namespace `conversation-store`.

Facts were read off the program's source and checked by running a re-implementation: keys, key order, byte rules and the fork
recipe are upstream's. `read` and `write` stand side by side; a row that cannot be read becomes an unreadable chunk, never a gap.
"""

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from inspector.conversation import jsontext, queries
from inspector.conversation.edits import ID, Plan, Set, apply
from inspector.conversation.jsontext import Unreadable
from inspector.conversation.model import Chunk, Conversation, Fact, Kind, Message, TurnMetrics
from inspector.formats.base import Cell, Change, Record, Shape, Stored, Table, WriteMode, WriteRefused

TABLE = Table("kv", "key", "value", (("namespace", "conversation-store"),))
INDEX = "conv-index"

# Greedy, so that an id which itself contains ":chunk:" keeps all but its last such part.
_CHUNK_KEY = re.compile(r"conv:(.*):chunk:([^:]*)", re.DOTALL)
_NUMBERED_KEY = re.compile(r"conv:(.*):(metrics|msg):(\d*)", re.DOTALL)
_FACT_KEY = re.compile(
    r"conv:(.*):(seq|meta|model|cwd|computer|reasoning-effort|compact-percent|metrics-seq|image-transcriptions)", re.DOTALL
)
_STEP_ID = re.compile(r"turn-(\d{12,14})-[0-9a-z]*#(\d+)")
_LOWER = {ord(upper): upper.lower() for upper in string.ascii_uppercase}
_NUMBER = re.compile(r"\s*([+-]?[0-9]+)")

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
_COPIED = ("cwd", "reasoning-effort", "model", "computer")
_META_KEYS = ("createdAt", "lastActivityAt", "title", "status", "compactedFrom", "workspaceId")


def parse_int(text: str) -> int | None:
    """JavaScript's parseInt base 10: leading digits count; None where it gives NaN."""
    match = _NUMBER.match(text)
    return int(match.group(1)) if match and len(match.group(1)) < 4000 else None


def chunk_key(native_id: str, seq: int) -> str:
    return f"conv:{native_id}:chunk:{seq:010d}"


def fact_key(native_id: str, name: str) -> str:
    return f"conv:{native_id}:{name}"


def row_text(chunk: Chunk) -> str:
    """A new row as upstream writes it: compact, key order chunk, role, msgIdx, chunkIdx."""
    return jsontext.compact({"chunk": dict(chunk.payload), "role": chunk.role, "msgIdx": chunk.msg_idx, "chunkIdx": chunk.chunk_idx})


def records_of(conversation: Conversation) -> list[Record]:
    """The records that a store holds for `conversation`: what the demo and the cases write. Raw bytes win where a chunk has them."""
    native = conversation.native_id
    records = [Record(chunk_key(native, chunk.seq), Cell(chunk.raw or jsontext.encode(row_text(chunk)))) for chunk in conversation.chunks]
    names = {"counter": "seq"}
    for name in ("counter", "meta", *_COPIED):
        value = conversation.fact(name)
        if value is not None:
            records.append(Record(fact_key(native, names.get(name, name)), Cell(jsontext.encode(value))))
    return sorted(records, key=lambda record: record.key)


def read_chunk(record: Record, seq: int) -> Chunk:
    """One row as a chunk; whatever is wrong with it is said in `damage` and `reason`."""
    raw = record.value.data

    def unreadable(damage: str, reason: str, payload: Mapping[str, Any] | None = None, role: str = "", **indexes: int | None) -> Chunk:
        return Chunk(record.key, seq, role, Kind.UNREADABLE, payload or {}, raw=raw, damage=damage, reason=reason, **indexes)  # type: ignore[arg-type]

    if record.value.type != "text":
        return unreadable("not-text", f"stored as {record.value.type.upper()}, not as text")
    try:
        row = jsontext.parse(jsontext.decode(raw))
    except Unreadable as problem:
        return unreadable(problem.damage, problem.reason)
    if row is None:
        return unreadable("null", "the row is JSON null")
    if not isinstance(row, dict):
        return unreadable("not-object", f"the row is a JSON {_name(row)}, not an object")
    payload = row.get("chunk")
    role = row.get("role") if isinstance(row.get("role"), str) else ""
    known = payload if isinstance(payload, dict) else {}
    msg_idx, chunk_idx = _index(row.get("msgIdx")), _index(row.get("chunkIdx"))

    def damaged(damage: str, reason: str) -> Chunk:
        return unreadable(damage, reason, known, role or "", msg_idx=msg_idx, chunk_idx=chunk_idx)

    for name in ("chunk", "role", "msgIdx", "chunkIdx"):
        if name not in row:
            return damaged(f"missing-{name}", f"the row has no {name}")
    if payload is None:
        return damaged("null-chunk", "chunk is JSON null")
    if not isinstance(payload, dict):
        return damaged("wrong-type", f"chunk is a JSON {_name(payload)}, not an object")
    if role not in ROLES:
        return damaged("wrong-type", f"role is {jsontext.compact(row['role'])[:60]}, none of {', '.join(ROLES)}")
    if msg_idx is None or chunk_idx is None:
        name = "msgIdx" if msg_idx is None else "chunkIdx"
        return damaged("wrong-type", f"{name} is {jsontext.compact(row[name])[:60]}, not a whole number")
    type_ = payload.get("type")
    if not isinstance(type_, str) or type_ not in _KINDS:
        return damaged("unknown-type", f"chunk type {jsontext.compact(type_)[:60]} is not one that this store has")
    for name, wanted, needed in _FIELDS[type_]:
        if name not in payload:
            if needed:
                return damaged("missing-field", f"the {type_} chunk has no {name}")
        elif not isinstance(payload[name], wanted):
            return damaged("wrong-type", f"{name} of the {type_} chunk is a JSON {_name(payload[name])}")
    if type_ == "tool-call" and "input" not in payload:
        return damaged("missing-field", "the tool-call chunk has no input")
    return Chunk(record.key, seq, role, _KINDS[type_], payload, msg_idx, chunk_idx, raw, at=_turn_time(payload))


def _index(value: Any) -> int | None:
    """JavaScript knows one kind of number: 1.0 is the index 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _name(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")


def _turn_time(payload: Mapping[str, Any]) -> int | None:
    """Epoch milliseconds of the turn, from the step id: the only time that a row carries."""
    step = payload.get("stepId")
    match = _STEP_ID.fullmatch(step) if isinstance(step, str) else None
    return int(match.group(1)) if match else None


@dataclass(slots=True)
class _Parts:
    rows: list[tuple[str, Record]]
    facts: dict[str, Record]
    numbered: dict[str, list[tuple[int, Record]]]
    records: list[Record]


class Dispatch:
    name = "dispatch"
    title = "Dispatch conversation store (dispatch.db)"
    default_reader = "dispatch-legacy"
    default_projection = "dispatch-openai"
    default_profile = "openai-chat"
    table = TABLE
    modes: tuple[WriteMode, ...] = (
        WriteMode("new-conversation", "writes the repaired history as a new conversation and leaves the original untouched", "fork"),
        WriteMode("same-rows", "edits the rows of the conversation itself, in one short transaction", "in-place"),
    )

    def sniff(self, shape: Shape) -> float:
        columns = shape.tables.get("kv", ())
        return 1.0 if {"namespace", "key", "value"} <= set(columns) else 0.0

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Conversations in the order of their ids, from chunk keys, facts and the index alike."""
        parts: dict[str, _Parts] = {}
        index: Record | None = None

        def of(native_id: str) -> _Parts:
            return parts.setdefault(native_id, _Parts([], {}, {}, []))

        for record in records:
            if record.key == INDEX:
                index = record
            elif match := _CHUNK_KEY.fullmatch(record.key):
                of(match.group(1)).rows.append((match.group(2), record))
                of(match.group(1)).records.append(record)
            elif match := _NUMBERED_KEY.fullmatch(record.key):
                part = of(match.group(1))
                part.numbered.setdefault(match.group(2), []).append((parse_int(match.group(3)) or 0, record))
                part.records.append(record)
            elif match := _FACT_KEY.fullmatch(record.key):
                of(match.group(1)).facts[match.group(2)] = record
                of(match.group(1)).records.append(record)
        listed = index_ids(index)
        for native_id in listed or ():
            of(native_id)
        for native_id in sorted(parts, key=lambda text: text.encode("utf-8", "surrogatepass")):
            yield self._stored(native_id, parts[native_id], listed, index)

    def _stored(self, native_id: str, part: _Parts, listed: list[str] | None, index: Record | None) -> Stored:
        chunks = tuple(read_chunk(record, parse_int(number) or 0) for number, record in part.rows)
        facts: dict[str, Fact] = {}
        for name, record in part.facts.items():
            name = "counter" if name == "seq" else name
            facts[name] = Fact(name, record.value.data.decode("utf-8", "surrogateescape"), record.key)
        for name, value in read_meta(facts.get("meta")).items():
            facts[name] = Fact(name, value, facts["meta"].key)
        state = None if index is None else "damaged" if listed is None else "listed" if native_id in listed else "not listed"
        facts["index"] = Fact("index", state, INDEX)
        for name, label in (("metrics", "metrics rows"), ("msg", "whole-message rows")):
            if part.numbered.get(name):
                facts[label] = Fact(label, str(len(part.numbered[name])))
        title = facts["title"].value or "" if "title" in facts else ""
        metrics = tuple(read_metrics(record) for _, record in part.numbered.get("metrics", ()))
        stranded = tuple(read_stranded(record, number) for number, record in part.numbered.get("msg", ()))
        return Stored(Conversation(native_id, self.name, chunks, facts, title, metrics, stranded), tuple(part.records))

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        """What `write` cannot derive. A fork stands in the list beside its original: it gets the same time, for nobody said anything new."""
        if mode != self.modes[0].name:
            return {}
        found = stored.conversation
        return {"fork_id": fresh_id, "now": found.fact("lastActivityAt") or "0", "title": f"Repaired: {found.title or 'Untitled'}"}

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """The changes that carry out `plan`. Raises WriteRefused, EditMismatch."""
        return _fork(plan, stored) if plan.mode == self.modes[0].name else _in_place(plan, stored)

    def target(self, plan: Plan) -> str:
        """Native id of the conversation that holds the result."""
        return plan.options["fork_id"] if plan.mode == self.modes[0].name else plan.conversation

    def bleeding(self, native_id: str, others: Iterable[str]) -> tuple[str, ...]:
        """Of `others`, those whose rows upstream's listing (`LIKE`, ASCII case-insensitive, `_` and `%` unescaped) takes for this one's."""
        if "%" not in native_id and "_" not in native_id:
            same = (other for other in others if other.lower() == native_id.lower() and other != native_id)
            return tuple(other for other in same if _ascii_lower(other) == _ascii_lower(native_id))
        wild = {"%": ".*", "_": "."}
        pattern = "".join(wild.get(letter) or re.escape(letter) for letter in _ascii_lower(native_id))
        listing = re.compile(pattern, re.DOTALL)
        return tuple(other for other in others if other != native_id and listing.fullmatch(_ascii_lower(other)))

    def guard(self, stored: Stored) -> tuple[dict[str, dict[str, Cell]], dict[str, Cell | None]]:
        """What must be byte-equal when a plan is written: every row under the chunk prefix, the counter and the meta row."""
        native = stored.conversation.native_id
        prefix = f"conv:{native}:chunk:"
        rows = {record.key: record.value for record in stored.records}
        keys = [fact_key(native, name) for name in ("seq", "meta")]
        return {prefix: {key: cell for key, cell in rows.items() if key.startswith(prefix)}}, {key: rows.get(key) for key in keys}


def _ascii_lower(text: str) -> str:
    return text.translate(_LOWER)


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


def read_stranded(record: Record, number: int) -> Message:
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
        spelled = jsontext.compact({"chunk": payload, "role": role, "msgIdx": number, "chunkIdx": at})
        chunks.append(replace(read_chunk(Record(f"{record.key}#{at}", Cell(jsontext.encode(spelled))), number), raw=raw))
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
    try:
        row = jsontext.parse(meta.value)
    except Unreadable:
        return {}
    if not isinstance(row, dict) or not isinstance(row.get("title"), str):
        return {}
    if not all(isinstance(row.get(name), int | float) and not isinstance(row.get(name), bool) for name in ("createdAt", "lastActivityAt")):
        return {}
    result = {
        name: row[name] if isinstance(row[name], str) else str(int(row[name]))
        for name in _META_KEYS
        if isinstance(row.get(name), str | int) or (isinstance(row.get(name), float) and isfinite(row[name]))
    }
    # Upstream takes anything but these three for idle.
    result["status"] = result.get("status", "idle") if result.get("status") in ("active", "idle", "closed") else "idle"
    return result


def _respelled(chunk: Chunk, base: Chunk | None, **indexes: int | None) -> bytes:
    """The row of `chunk`: its own bytes with only what differs spliced in, or a new row where it has none that can be read."""
    wanted = replace(chunk, **{name: value for name, value in indexes.items() if value is not None})  # type: ignore[arg-type]
    if base is None and chunk.raw:
        # A row of another conversation, such as the archive: its bytes are the record of what was said.
        base = read_chunk(Record(chunk.key, Cell(chunk.raw)), chunk.seq)
    if base is None:
        return jsontext.encode(row_text(wanted))
    asked: dict[str, Any] = {"chunk": dict(wanted.payload), "role": wanted.role, "msgIdx": wanted.msg_idx, "chunkIdx": wanted.chunk_idx}
    stored = {"chunk": dict(base.payload), "role": base.role, "msgIdx": base.msg_idx, "chunkIdx": base.chunk_idx}
    values = {name: value for name, value in asked.items() if value != stored[name]}
    if not values:
        return base.raw
    try:
        before = jsontext.parse(jsontext.decode(base.raw))
    except Unreadable:
        before = None
    if not isinstance(before, dict):
        return jsontext.encode(row_text(wanted))
    if base.damage and not chunk.damage:
        # What was read of a damaged row is less than what stands there.
        values = {
            name: value for name, value in asked.items() if name not in before or jsontext.compact(value) != jsontext.compact(before[name])
        }
    try:
        amended = jsontext.amended(jsontext.decode(base.raw), values)
        kept = {**before, **values} == jsontext.parse(amended)
    except Unreadable as problem:
        raise WriteRefused(f"Row seq {chunk.seq} would be {problem.reason}; repair it by hand or leave it out of the plan.") from None
    if not kept:
        raise WriteRefused(f"Row seq {chunk.seq} would not read back as planned; report this with the row's bytes.")
    return jsontext.encode(amended)


def _kind_of_cell(chunk: Chunk, old: Chunk | None, before: Mapping[str, Cell]) -> str:
    """A row that becomes readable becomes text, as the program writes it; any other keeps what it is stored as."""
    return "text" if old is None or (old.damage and not chunk.damage) else before[chunk.key].type


def _in_place(plan: Plan, stored: Stored) -> list[Change]:
    conversation = stored.conversation
    native = conversation.native_id
    if any(isinstance(edit, Set) and edit.field == ID for edit in plan.edits):
        raise WriteRefused(
            "The id stands in every key of a conversation, so it cannot be renamed in place; repair into a new conversation (--mode fork)."
        )
    final = apply(conversation, plan.edits)
    stranded = {f"new:{chunk.key}" for message in conversation.stranded for chunk in message.chunks}
    if any(chunk.key in stranded for chunk in final.chunks):
        # The old messages would stay beside their rows, and every row that clients hold would get another number.
        raise WriteRefused(
            "Messages of the older generation become rows only in a new conversation; choose that mode (--mode fork), or leave convert-stranded-messages out."
        )
    base = {chunk.key: chunk for chunk in conversation.chunks}
    before = {record.key: record.value for record in stored.records}
    after: dict[str, Cell] = {}
    shift, last = 0, 0
    for chunk in final.chunks:
        old = base.get(chunk.key)
        if old is None:
            shift += 1
            seq = last + 1
        else:
            seq = chunk.seq + shift
        last = seq
        key = chunk_key(native, seq) if shift or old is None else chunk.key
        if key in after:
            raise WriteRefused(
                f"Two rows would both become seq {seq}; mend the row keys first, or repair into a new conversation (--mode fork)."
            )
        after[key] = Cell(_respelled(chunk, old), _kind_of_cell(chunk, old, before))
    changes = [
        Change(key, before.get(key), after.get(key)) for key in sorted(after.keys() | base.keys()) if before.get(key) != after.get(key)
    ]
    counter = final.fact("counter")
    if shift:
        known = parse_int(counter or "")
        counter = str((known if known is not None else last - shift) + shift)
    if counter is not None and counter != conversation.fact("counter"):
        key = fact_key(native, "seq")
        changes.append(Change(key, before.get(key), Cell(counter.encode())))
    return changes


def _fork(plan: Plan, stored: Stored) -> list[Change]:
    """As upstream forks: rows from seq 1, counter, meta, index, cwd, effort, model, computer; metrics are not copied."""
    conversation = stored.conversation
    final = apply(conversation, plan.edits)
    base = {chunk.key: chunk for chunk in conversation.chunks}
    before = {record.key: record.value for record in stored.records}
    target = plan.options["fork_id"]
    message_of = {chunk.key: message for message in queries.true_messages(final.chunks) for chunk in message.chunks}
    started: dict[int, tuple[int, int]] = {}
    changes: list[Change] = []
    readable_before = True
    for seq, chunk in enumerate(final.chunks, start=1):
        old = base.get(chunk.key)
        message = message_of.get(chunk.key)
        if old is not None and message is None:
            data, readable_before = old.raw, False
        else:
            index = chunk.chunk_idx
            if message is not None:
                # Closing a gap must not break `seq - chunkIdx`, by which the messages are told apart for ever after.
                first_seq, first_idx = started.setdefault(id(message), (seq, 0 if readable_before else chunk.chunk_idx or 0))
                index = first_idx + seq - first_seq
            data, readable_before = _respelled(chunk, old, chunk_idx=index), True
        changes.append(Change(chunk_key(target, seq), None, Cell(data, _kind_of_cell(chunk, old, before))))
    changes.append(Change(fact_key(target, "seq"), None, Cell(str(len(final.chunks)).encode())))
    meta: dict[str, Any] = {
        "createdAt": int(plan.options["now"]),
        "lastActivityAt": int(plan.options["now"]),
        "title": plan.options["title"],
        "status": "idle",
    }
    for name in ("compactedFrom", "workspaceId"):
        if conversation.fact(name) is not None:
            meta[name] = conversation.fact(name)
    changes.append(Change(fact_key(target, "meta"), None, Cell(jsontext.encode(jsontext.compact(meta)))))
    for name in _COPIED:
        cell = before.get(fact_key(conversation.native_id, name))
        if cell is not None:
            changes.append(Change(fact_key(target, name), None, cell))
    match conversation.fact("index"):
        case None:
            changes.append(Change(INDEX, None, Cell(jsontext.encode(jsontext.compact([target])))))
        case "damaged":
            raise WriteRefused(
                "The store's conv-index is not a JSON array, so a new conversation could not be listed; mend conv-index, or repair in place (--mode in-place)."
            )
        case _:
            changes.append(Change(INDEX, None, Cell(jsontext.encode(target)), element=True))
    return changes


DISPATCH = Dispatch()
