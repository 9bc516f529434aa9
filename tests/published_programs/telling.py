"""A message of ours in one line of words, as telling.mjs says it of the programs' messages."""

import json
from collections.abc import Sequence
from typing import Any

from inspector.conversation import tree
from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.formats import Format
from inspector.rules.base import case_of
from tests.programs.pi_openclaw.session_files import records

KEY = "sessions/s.jsonl"
_ROLES = {"tool": "toolResult"}


def told(messages: Sequence[Message]) -> list[str]:
    return [
        f"{_who(message)}: {' | '.join(_words(chunk) for chunk in message.chunks if chunk.kind is not Kind.CONTROL)}"
        for message in messages
    ]


def read(data: bytes, form: Format, reader: str) -> dict[str, Any]:
    """What our reader makes of a session file: {"path": its ids, "context", "sent"}, or {"stops": why} where the program would not get through."""
    (found,) = form.read(records({KEY: data}))
    case = case_of(found.conversation, reader)
    if case.reading.failure:
        return {"stops": case.reading.failure}
    path = " ".join(entry.id or str(entry.about.get("id") or "") for entry in tree.entries(case.conversation))
    return {"path": path, "context": told(case.reading.grouped), "sent": told(case.reading.messages)}


def _who(message: Message) -> str:
    first = message.chunks[0]
    whose = f"[{first.call_id}]{' failed' if first.is_error else ''}" if message.role == "tool" else ""
    return _ROLES.get(message.role, message.role) + whose


def _words(chunk: Chunk) -> str:
    if chunk.kind is Kind.TOOL_CALL:
        given = json.dumps(chunk.payload.get("input"), ensure_ascii=False, separators=(",", ":"))
        return f"{chunk.tool_name}[{chunk.call_id}] {given}"
    return f"(thinks) {chunk.text}" if chunk.kind is Kind.THINKING else chunk.text
