"""Session files in the spelling of pi's writer: headers, entries with ids and parents, and records as the folder source gives them."""

import json
from collections.abc import Mapping
from typing import Any

from inspector.conversation.model import Conversation
from inspector.programs.formats import Cell, Record, Stored
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.pi import PI

ID = "0e6bd2a4-0000-4000-8000-000000000001"
HEADER = {"type": "session", "version": 3, "id": ID, "timestamp": "2026-11-20T17:33:07.691Z", "cwd": "/home/dev/my app"}
WHEN = "2026-11-20T17:33:08.000Z"


def header(**changed: Any) -> dict[str, Any]:
    """A value of `...` leaves the key out."""
    return {name: value for name, value in (HEADER | changed).items() if value is not ...}


def entry(kind: str, id_: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": id_, "parentId": parent, "timestamp": WHEN, **more}


def u(id_: str, parent: str | None, content: Any = "go", **more: Any) -> dict[str, Any]:
    return entry("message", id_, parent, message={"role": "user", "content": content, "timestamp": 1700000000000, **more})


def a(id_: str, parent: str | None, *blocks: Any, **more: Any) -> dict[str, Any]:
    about = {"api": "anthropic-messages", "provider": "anthropic", "model": "m", "usage": {"output": 1}, "stopReason": "toolUse"}
    return entry(
        "message", id_, parent, message={"role": "assistant", "content": list(blocks), **about, "timestamp": 1700000000001, **more}
    )


def r(id_: str, parent: str | None, call_id: str, words: str = "done", **more: Any) -> dict[str, Any]:
    about = {"toolCallId": call_id, "toolName": "bash", "content": [{"type": "text", "text": words}], "isError": False}
    return entry("message", id_, parent, message={"role": "toolResult", **about, "timestamp": 1700000000002, **more})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id_: str, **given: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id_, "name": "bash", "arguments": given}


def line(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def lines(*values: Any) -> bytes:
    """Values as lines of a file; bytes stay as they are."""
    return b"".join(line(value) + b"\n" for value in values)


def records(files: Mapping[str, bytes]) -> list[Record]:
    return [Record(key, Cell(data, "file")) for key, data in sorted(files.items())]


def pi(data: bytes, key: str = "s.jsonl") -> Conversation:
    (found,) = PI.read(records({key: data}))
    assert [record.value.data for record in found.records] == [data]
    return found.conversation


def openclaw(files: Mapping[str, bytes]) -> dict[str, Stored]:
    return {found.conversation.native_id: found for found in OPENCLAW.read(records(files))}


def keys(found: Conversation) -> list[str]:
    return [chunk.key for chunk in found.chunks]
