"""`NAME.scribe`: a line `{"scribe": 1, "id": "..."}`, then one line for each block, numbered by `n`.

{"n": 1, "by": "user", "say": "..."}
{"n": 2, "by": "model", "call": {"id": "a", "name": "ls", "args": {}}}
{"n": 3, "by": "tool", "for": "a", "out": "..."}
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inspector.conversation.edits import Plan, apply
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.programs.formats import Cell, Change, Record, Shape, Stored, Table, WriteMode, WriteRefused
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

ROLES = {"user": "user", "model": "assistant", "tool": "tool"}
COPY, SAME = "copy", "same-file"


class Scribe:
    name = "scribe"
    title = "Scribe sessions (NAME.scribe)"
    default_reader = "scribe"
    default_projection = "openai-chat"
    default_profile = "openai-chat"
    table = Table("", "", "")
    modes = (
        WriteMode(COPY, "writes the repaired session to a new file next to the old one", "fork"),
        WriteMode(SAME, "rewrites the file of the session; lines that nothing changes keep every byte", "in-place"),
    )

    def sniff(self, shape: Shape) -> float:
        if shape.files:
            return 1.0 if any(name.endswith(".scribe") for name in shape.files) else 0.0
        return 1.0 if shape.head.startswith(b'{"scribe": 1') else 0.0

    def wants(self, key: str) -> bool:
        return key.endswith(".scribe")

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        for record in records:
            head, *lines = record.value.data.split(b"\n")
            id_ = _parsed(head).get("id")
            chunks: list[Chunk] = []
            for place, line in enumerate(line for line in lines if line):
                chunks.append(_chunk(line, place, chunks[-1] if chunks else None))
            yield Stored(Conversation(id_ if isinstance(id_, str) else record.key, self.name, tuple(chunks)), (record,))

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        return {"fork_id": fresh_id} if mode == COPY else {}

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        record = stored.records[0]
        known = {chunk.key: chunk for chunk in stored.conversation.chunks}
        number = max((number_of(chunk) or 0 for chunk in known.values()), default=0)
        lines: list[bytes] = [record.value.data.split(b"\n")[0]]
        for chunk in apply(stored.conversation, plan.edits).chunks:
            same = known.get(chunk.key)
            if same is not None and (same.kind, same.payload, same.role) == (chunk.kind, chunk.payload, chunk.role):
                lines.append(same.raw)
            else:
                number += 1
                lines.append(_line(chunk, number))
        if plan.mode == COPY:
            lines[0] = json.dumps({"scribe": 1, "id": plan.options["fork_id"]}).encode()
        data = b"\n".join(lines) + b"\n"
        if plan.mode == COPY:
            folder = record.key.rpartition("/")[0]
            if not folder:
                raise WriteRefused("A file that was named alone has no folder for a copy: name the folder that holds it.")
            return [Change(f"{folder}/{plan.options['fork_id']}.scribe", None, Cell(data, "file"))]
        return [] if data == record.value.data else [Change(record.key, record.value, Cell(data, "file"))]

    def target(self, plan: Plan) -> str:
        return plan.options["fork_id"] if plan.mode == COPY else plan.conversation

    def bleeding(self, native_id: str, others: Iterable[str]) -> tuple[str, ...]:
        return ()

    def guard(self, stored: Stored) -> tuple[dict[str, dict[str, Cell]], dict[str, Cell | None]]:
        return {}, {record.key: record.value for record in stored.records}


def number_of(chunk: Chunk) -> int | None:
    """Scribe's own number of the line; the model counts lines."""
    number = _parsed(chunk.raw).get("n")
    return number if isinstance(number, int) else None


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        value = jsontext.parse(line.decode("utf-8", "surrogateescape"))
    except Unreadable:
        return {}
    return value if isinstance(value, dict) else {}


def _chunk(line: bytes, place: int, before: Chunk | None) -> Chunk:
    """A message is a run of lines of one speaker."""
    value = _parsed(line)
    by = value.get("by")
    role = ROLES.get(by, "") if isinstance(by, str) else ""
    seq = place + 1
    same = before is not None and before.role == role and role == "assistant"
    index = (before.msg_idx or 0) if same and before else (-1 if before is None else before.msg_idx or 0) + 1
    within = (before.chunk_idx or 0) + 1 if same and before else 0
    call, result = value.get("call"), value.get("for")
    key = f"line:{place}"
    if not role:
        return Chunk(key, seq, "", Kind.UNREADABLE, {}, index, within, line, "not-a-line", "no line of Scribe's: it has no speaker")
    if isinstance(call, dict):
        payload = {"type": "tool-call", "toolCallId": call.get("id"), "toolName": call.get("name"), "input": call.get("args")}
        return Chunk(key, seq, role, Kind.TOOL_CALL, payload, index, within, line)
    if isinstance(result, str):
        payload = {"type": "tool-result", "toolCallId": result, "content": str(value.get("out", ""))}
        return Chunk(key, seq, role, Kind.TOOL_RESULT, payload, index, within, line)
    return Chunk(key, seq, role, Kind.TEXT, {"type": "text", "text": str(value.get("say", ""))}, index, within, line)


def _line(chunk: Chunk, number: int) -> bytes:
    by = next(name for name, role in ROLES.items() if role == chunk.role)
    value: dict[str, Any] = {"n": number, "by": by}
    if chunk.kind is Kind.TOOL_CALL:
        value["call"] = {"id": chunk.call_id, "name": chunk.tool_name, "args": chunk.payload.get("input")}
    elif chunk.kind is Kind.TOOL_RESULT:
        value |= {"for": chunk.call_id, "out": chunk.text}
    else:
        value["say"] = chunk.text
    return json.dumps(value, ensure_ascii=False).encode()


SCRIBE = Scribe()
