"""Sessions in the spelling of Claude Code's writer: one content block a line, linked by parentUuid."""

import json
import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspector.conversation.model import Conversation
from inspector.programs.claude_code.format import CLAUDE_CODE
from inspector.programs.formats import Cell, Record, Stored
from inspector.rules.base import Case, case_of

ID = "9d1f6f6e-0000-4000-8000-000000000001"
OTHER = "9d1f6f6e-0000-4000-8000-000000000002"
PROJECT = "projects/-home-dev-app"
ENVELOPE = {
    "isSidechain": False,
    "userType": "external",
    "cwd": "/home/dev/app",
    "sessionId": ID,
    "version": "2.1.128",
    "gitBranch": "main",
}
MODEL = "claude-sonnet-4-5"
LONG_AGO = 1_785_000_000


def line(kind: str, id_: str, parent: str | None, message: Mapping[str, Any] | None, minute: int = 0, **more: Any) -> dict[str, Any]:
    """A line; `more` adds to its envelope or changes it."""
    content = {} if message is None else {"message": dict(message)}
    when = f"2026-08-01T10:{minute:02d}:00.000Z"
    return {"parentUuid": parent, **ENVELOPE, **content, "type": kind, "uuid": id_, "timestamp": when, **more}


def u(id_: str, parent: str | None, content: Any = "go", minute: int = 0, **more: Any) -> dict[str, Any]:
    return line("user", id_, parent, {"role": "user", "content": content}, minute, **more)


def a(id_: str, parent: str | None, answer: str, block: Mapping[str, Any], minute: int = 0, **more: Any) -> dict[str, Any]:
    """One block of an answer; lines of one answer share its id."""
    about = {"id": answer, "type": "message", "role": "assistant", "model": MODEL, "content": [dict(block)]}
    return line(
        "assistant", id_, parent, {**about, "stop_reason": None, "usage": {"output_tokens": 1}}, minute, requestId=f"req_{answer}", **more
    )


def r(id_: str, parent: str | None, call_id: str, words: str = "done", minute: int = 0, **more: Any) -> dict[str, Any]:
    """The result of a call: a line of the user's, as the program writes it."""
    block = {"tool_use_id": call_id, "type": "tool_result", "content": words}
    return line(
        "user",
        id_,
        parent,
        {"role": "user", "content": [block]},
        minute,
        toolUseResult={"stdout": words},
        sourceToolAssistantUUID=parent,
        **more,
    )


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thinking(words: str = "well", signature: str = "EqQB") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def call(id_: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": given}


def image(data: str, media_type: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def png(width: int, height: int, size: int = 33) -> dict[str, Any]:
    """An image of `size` bytes, of which only the header is one of PNG."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return image(b64encode(head.ljust(size, b"\0")).decode())


def result_of(call_id: str, *blocks: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool_use_id": call_id, "type": "tool_result", "content": [dict(block) for block in blocks]}


def boundary(id_: str, **more: Any) -> dict[str, Any]:
    about = {"subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": {"trigger": "auto"}}
    return line("system", id_, None, None, **{**about, **more})


def encoded(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def lines(*values: Any) -> bytes:
    """Values as lines of a file; bytes stay as they are."""
    return b"".join(encoded(value) + b"\n" for value in values)


def stored(*values: Any, key: str = f"{PROJECT}/{ID}.jsonl") -> Stored:
    (session,) = CLAUDE_CODE.read([Record(key, Cell(lines(*values), "file"))])
    return session


def case(*values: Any, reader: str = "claude-code") -> Case:
    return case_of(stored(*values).conversation, reader)


def said(conversation: Conversation) -> list[str]:
    """Each chunk of a path that is a message, as the first letters of its kind and its words or call."""
    return [f"{chunk.role}:{chunk.text or chunk.call_id}" for chunk in conversation.chunks if chunk.role]


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Files that nobody wrote to for long: one that was just written is left alone."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder
