"""Rows as Dispatch's `append()` numbers them: seq counts on, msgIdx and chunkIdx start at 0 in every call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from inspector.programs.dispatch.format import INDEX, TABLE, chunk_key, fact_key
from inspector.text import jsontext

NAMESPACE = TABLE.where[0][1]

Row = tuple[str, str, str]
"""Namespace, key and value text of one row of `kv`."""

Payload = dict[str, Any]
Append = Sequence[tuple[str, Sequence[Payload]]]
"""One call of `append()`: messages as (role, chunks)."""


def text(words: str) -> Payload:
    return {"type": "text", "text": words}


def thinking(words: str) -> Payload:
    return {"type": "thinking", "text": words}


def error(message: str, code: str) -> Payload:
    return {"type": "error", "message": message, "code": code}


def call(call_id: str, tool: str, arguments: Any, step_id: str = "") -> Payload:
    """`step_id` is left out where it is empty: rows older than that field have none."""
    return _with_step({"type": "tool-call", "toolCallId": call_id, "toolName": tool, "input": arguments}, step_id)


def result(call_id: str, tool: str, content: str, is_error: bool = False, step_id: str = "") -> Payload:
    payload = {"type": "tool-result", "toolCallId": call_id, "toolName": tool, "content": content, "isError": is_error}
    return _with_step(payload, step_id)


def _with_step(payload: Payload, step_id: str) -> Payload:
    return {**payload, "stepId": step_id} if step_id else payload


def chunk_rows(native_id: str, appends: Iterable[Append]) -> Iterator[Row]:
    seq = 0
    for messages in appends:
        for msg_idx, (role, chunks) in enumerate(messages):
            for chunk_idx, chunk in enumerate(chunks):
                seq += 1
                value = {"chunk": chunk, "role": role, "msgIdx": msg_idx, "chunkIdx": chunk_idx}
                yield NAMESPACE, chunk_key(native_id, seq), jsontext.compact(value)


def conversation_rows(
    native_id: str, appends: Sequence[Append], created_at: int, last_activity_at: int, facts: Mapping[str, str]
) -> list[Row]:
    """Chunk rows, counter and meta row of one idle conversation, and `facts` as they are. Times are epoch milliseconds."""
    rows = list(chunk_rows(native_id, appends))
    meta = {
        "createdAt": created_at,
        "lastActivityAt": last_activity_at,
        "title": _title(appends),
        "status": "idle",
        "workspaceId": "default",
    }
    values = {"seq": str(len(rows)), "meta": jsontext.compact(meta), **facts}
    return rows + [(NAMESPACE, fact_key(native_id, name), value) for name, value in values.items()]


def index_row(native_ids: Sequence[str]) -> Row:
    return NAMESPACE, INDEX, jsontext.compact(list(native_ids))


def workspace_row(title: str, cwd: str, created_at: int, last_activity_at: int) -> Row:
    value = {
        "title": title,
        "defaultCwd": cwd,
        "defaultComputerId": None,
        "starred": False,
        "createdAt": created_at,
        "lastActivityAt": last_activity_at,
    }
    return NAMESPACE, f"workspace:{title}", jsontext.compact(value)


def _title(appends: Iterable[Append]) -> str:
    # Upstream cuts at 80 UTF-16 units; examples are written in characters of one unit.
    users = (chunk for messages in appends for role, chunks in messages if role == "user" for chunk in chunks if chunk["type"] == "text")
    first: str = next(users)["text"]
    return first if len(first) <= 80 else first[:80] + "…"
