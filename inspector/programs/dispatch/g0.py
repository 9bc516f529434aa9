"""The store of Dispatch's first generation: one SQL row per chunk in the table `chunks`, one per conversation in `tabs`.

Its other tables hold credentials, keys and settings: nothing of them is ever read. The program of today does not open this file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.programs.formats import Change, Format, Record, RowTable, Shape, Stored, Table, WriteRefused
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable
from inspector.traces.log_record import LATEST

NAME = "dispatch-g0"
READ_ONLY = (
    "The old Dispatch store is only read: no program that still runs opens it, and it shares its file with credentials. "
    "Repair the conversation in the store of the present program."
)

_CHUNKS = RowTable(
    "chunks", ("id", "tab_id", "seq", "turn_id", "step", "role", "type", "data_json", "created_at"), "tab_id", "seq", conversation="tab_id"
)
# Not key_id: it names a row of a table that holds secrets.
_TABS = RowTable("tabs", ("id", "title", "model_id", "parent_tab_id", "status", "is_open", "position", "created_at", "updated_at"), "id")
_KINDS = {
    "text": Kind.TEXT,
    "thinking": Kind.THINKING,
    "tool_call": Kind.TOOL_CALL,
    "tool_result": Kind.TOOL_RESULT,
    "error": Kind.ERROR,
    "system": Kind.SYSTEM,
}
_ROLES = ("system", "user", "assistant", "tool")
# Stored name -> ours, per type; what is not named here keeps its name.
_RENAMED = {
    "tool_call": {"callId": "toolCallId", "name": "toolName", "arguments": "input"},
    "tool_result": {"callId": "toolCallId", "name": "toolName", "result": "content"},
    "error": {"statusCode": "code"},
}
_REQUIRED: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "thinking": {"text": str},
    "system": {"text": str},
    "tool_call": {"callId": str, "name": str, "arguments": object},
    "tool_result": {"callId": str, "name": str, "result": object, "isError": bool},
    "error": {"message": str},
}
_FACTS = {
    "title": "title",
    "model_id": "model",
    "parent_tab_id": "parent",
    "status": "status",
    "is_open": "open",
    "position": "position",
    "created_at": "createdAt",
    "updated_at": "lastActivityAt",
}

SqlRow = Mapping[str, Any]


@dataclass(slots=True)
class _TabParts:
    rows: list[tuple[SqlRow, Record]] = field(default_factory=list)
    tab: tuple[SqlRow, Record] | None = None
    records: list[Record] = field(default_factory=list)


class DispatchG0(Format):
    name = NAME
    title = "Old Dispatch store (chunks and tabs as SQL tables, before the key-value store)"
    sample = "tables chunks(tab_id, seq, turn_id, data_json), tabs(id)"
    default_reader = "exact"
    default_projection = "dispatch-openai"
    default_profile = "openai-chat"
    table = Table("chunks", "id", "data_json")
    rows = (_CHUNKS, _TABS)

    def sniff(self, shape: Shape) -> float:
        """Less sure than the present store: a file that has both kinds of tables was opened by the newer program last."""
        has_chunks = {"tab_id", "seq", "turn_id", "data_json"} <= set(shape.tables.get("chunks", ()))
        return 0.9 if has_chunks and "id" in shape.tables.get("tabs", ()) else 0.0

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Conversations in the order of their ids; a tab without rows is an empty one, rows without a tab are one as well."""
        parts: dict[str, _TabParts] = {}
        for record in records:
            row = jsontext.row_of(record.value.data)
            is_tab = record.key.startswith("tabs:")
            part = parts.setdefault(jsontext.shown(row.get("id" if is_tab else "tab_id")), _TabParts())
            part.records.append(record)
            if not is_tab:
                part.rows.append((row, record))
            elif part.tab is None:
                part.tab = row, record
        for native_id in sorted(parts, key=lambda text: text.encode("utf-8", "surrogatepass")):
            part = parts[native_id]
            chunks = _numbered(sorted(part.rows, key=lambda pair: (_seq(pair[0]) is None, _seq(pair[0]) or 0)))
            facts = _facts(*part.tab) if part.tab else {}
            title = facts["title"].value or "" if "title" in facts else ""
            yield Stored(Conversation(native_id, self.name, tuple(chunks), facts, title), tuple(part.records))

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        raise WriteRefused(READ_ONLY)


def _seq(row: SqlRow) -> int | None:
    value = row.get("seq")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _time(value: Any) -> int | None:
    """Epoch milliseconds; None for what is no time."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LATEST else None


def _facts(row: SqlRow, record: Record) -> dict[str, Fact]:
    return {name: Fact(name, jsontext.shown(row[column]), record.key) for column, name in _FACTS.items() if row.get(column) is not None}


def _numbered(rows: Iterable[tuple[SqlRow, Record]]) -> Iterator[Chunk]:
    """Chunks with the message numbers that the store never had.

    A user row is one message. Assistant and tool rows of one turn and step are an assistant message and the tool batch after it.
    chunk_idx follows seq, so a deleted row parts no message.
    """
    before: tuple[Any, ...] | None = None
    msg_idx, first = -1, 0
    for row, record in rows:
        chunk, seq = read_chunk(row, record), _seq(row)
        if seq is None:
            yield chunk
            continue
        place = (chunk.role, jsontext.shown(row.get("turn_id")), jsontext.shown(row.get("step")))
        if place != before or chunk.role not in ("assistant", "tool"):
            msg_idx, first = msg_idx + 1, seq
        before = place
        yield replace(chunk, msg_idx=msg_idx, chunk_idx=seq - first)


def read_chunk(row: SqlRow, record: Record) -> Chunk:
    """One row as a chunk without message numbers; whatever is wrong with it is said in `damage` and `reason`."""
    kind, stored_role, seq = row.get("type"), row.get("role"), _seq(row)
    role = stored_role if stored_role in _ROLES else ""
    if role in ("assistant", "tool"):
        # The program made one batch of them by their type, whatever their role says.
        role = "tool" if kind == "tool_result" else "assistant"
    at = _time(row.get("created_at"))

    def unreadable(damage: str, reason: str, payload: SqlRow | None = None) -> Chunk:
        return Chunk(record.key, seq or 0, role, Kind.UNREADABLE, payload or {}, None, None, record.value.data, damage, reason, at)

    if seq is None:
        return unreadable("wrong-type", f"seq is {jsontext.shown(row.get('seq'))[:60]!r}, no whole number")
    data = row.get("data_json")
    if not isinstance(data, str):
        return unreadable("not-text", "data_json is not stored as text")
    try:
        # Bytes that are no UTF-8 came as surrogates, one a byte.
        content = jsontext.parse(jsontext.decode(data.encode("utf-8", "surrogateescape")))
    except Unreadable as problem:
        return unreadable(problem.damage, f"data_json is {problem.reason}")
    except UnicodeEncodeError:
        return unreadable("not-utf8", "data_json holds what no text can")
    if not isinstance(content, dict):
        return unreadable("not-object", "data_json is JSON, but no object")
    if not isinstance(kind, str) or kind not in _KINDS:
        return unreadable("unknown-type", f"chunk type {jsontext.shown(kind)[:60]!r} is not one that this store has", content)
    renamed = _RENAMED.get(kind, {})
    payload: dict[str, Any] = {"type": _KINDS[kind].value, **{renamed[name]: content[name] for name in renamed if name in content}}
    # A member that is there under one of our names already is not what that name means.
    payload |= {name: value for name, value in content.items() if name not in renamed and name not in payload}
    for name, expected_type in _REQUIRED[kind].items():
        if name not in content:
            return unreadable("missing-field", f"the {kind} has no {name}", payload)
        if not isinstance(content[name], expected_type):
            return unreadable("wrong-type", f"{name} of the {kind} is not of the right type", payload)
    if not role:
        return unreadable("wrong-type", f"role is {jsontext.shown(stored_role)[:60]!r}, none of {', '.join(_ROLES)}", payload)
    for name in ("content", "code"):
        if name in payload and not isinstance(payload[name], str):
            payload[name] = jsontext.compact(payload[name])
    return Chunk(record.key, seq, role, _KINDS[kind], payload, raw=record.value.data, at=at)


DISPATCH_G0 = DispatchG0()
