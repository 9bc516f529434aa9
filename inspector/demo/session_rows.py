"""Rows of example session files of pi and OpenClaw, encoded byte for byte as those programs write them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from inspector.text import jsontext
from inspector.text.js_json import stringify

MODEL = "claude-opus-4-6"
_NAMES = ("targetId", "firstKeptEntryId")
_LAST_IDS = ("custom", "custom_message")


@dataclass(frozen=True, slots=True)
class SeedRow:
    """An entry by a `name` of ours, from which its id follows. `after`: the name of its parent, else the row before it; no row need have that name.

    `seconds` pass since the row before it.
    """

    name: str
    type: str
    own: Mapping[str, Any]
    after: str = ""
    seconds: int = 4


@dataclass(frozen=True, slots=True)
class SeedSession:
    """`start` is ISO 8601 with milliseconds, in UTC."""

    id: str
    cwd: str
    start: str
    rows: tuple[SeedRow, ...]


def entry_id(session: str, name: str) -> str:
    """Eight hexadecimal digits, the same on each machine."""
    return hashlib.sha256(f"{session} {name}".encode()).hexdigest()[:8]


def session_lines(session: SeedSession) -> list[bytes]:
    """The header and each row, without line ends."""
    time = datetime.fromisoformat(session.start)
    lines = [{"type": "session", "version": 3, "id": session.id, "timestamp": session.start, "cwd": session.cwd}]
    before: str | None = None
    for row in session.rows:
        time += timedelta(seconds=row.seconds)
        lines.append(_entry(session.id, row, row.after or before, time))
        before = row.name
    return [jsontext.encode(stringify(line)) for line in lines]


def file_of(lines: Sequence[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def milliseconds(iso: str) -> int:
    return int(datetime.fromisoformat(iso).timestamp() * 1000)


def _entry(session: str, row: SeedRow, parent: str | None, time: datetime) -> dict[str, Any]:
    iso = f"{time.astimezone(UTC).isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"
    ids = {"id": entry_id(session, row.name), "parentId": entry_id(session, parent) if parent else None, "timestamp": iso}
    own = {name: entry_id(session, value) if name in _NAMES else value for name, value in row.own.items()}
    if row.type == "message":
        own = {"message": {**own, "timestamp": milliseconds(iso) - 6}}
    return {"type": row.type, **own, **ids} if row.type in _LAST_IDS else {"type": row.type, **ids, **own}


def user(name: str, words: str, after: str = "", seconds: int = 60) -> SeedRow:
    return SeedRow(name, "message", {"role": "user", "content": [_text(words)]}, after, seconds)


def assistant(name: str, words: str, *calls: Mapping[str, Any], after: str = "", seconds: int = 7) -> SeedRow:
    blocks = [*([_text(words)] if words else []), *calls]
    tokens = {"input": 3, "output": 20 + len(words) // 4, "cacheRead": 18211, "cacheWrite": 412}
    cost = {"input": 0.00003, "output": 0.0011, "cacheRead": 0.0091, "cacheWrite": 0.0026, "total": 0.01283}
    about = {"api": "anthropic-messages", "provider": "anthropic", "model": MODEL}
    usage = {**tokens, "totalTokens": sum(tokens.values()), "cost": cost}
    stop = "toolUse" if calls else "stop"
    return SeedRow(name, "message", {"role": "assistant", "content": blocks, **about, "usage": usage, "stopReason": stop}, after, seconds)


def call(id_: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": f"toolu_01{id_}", "name": tool, "arguments": arguments}


def result(name: str, id_: str, tool: str, words: str, after: str = "", seconds: int = 2) -> SeedRow:
    about = {"role": "toolResult", "toolCallId": f"toolu_01{id_}", "toolName": tool, "content": [_text(words)]}
    return SeedRow(name, "message", {**about, "isError": False}, after, seconds)


def first_rows(thinking: str = "off") -> tuple[SeedRow, ...]:
    return (
        SeedRow("model", "model_change", {"provider": "anthropic", "modelId": MODEL}, seconds=0),
        SeedRow("level", "thinking_level_change", {"thinkingLevel": thinking}, seconds=0),
    )


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}
