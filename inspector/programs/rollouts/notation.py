"""A session of rollouts out of the notation of cases: its lines as they are in the file, and members of its session.json."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from inspector.conversation.model import Conversation
from inspector.programs.formats import Cell, Record
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.text import jsontext

CLEAN_SESSION: dict[str, Any] = {
    "session_id": "20251223_152205_b0fba6",
    "parent_id": None,
    "branch_point": None,
    "endpoint": {"provider": "anthropic", "model": "m"},
    "environment": {"type": "none", "config": {}},
    "environment_state": None,
    "status": "completed",
    "reward": None,
    "tags": {},
    "created_at": "2025-12-23T15:22:05.000000",
    "updated_at": "2025-12-23T15:22:05.000000",
}


def session_of(lines: Iterable[str], session: Iterable[str], extra: Conversation) -> Conversation:
    """A rollouts session of these lines, with the facts given next to them."""
    members = {**CLEAN_SESSION, **{name: value for text in session for name, value in jsontext.parse(text).items()}}
    session_json = {name: value for name, value in members.items() if value is not None or name not in ("endpoint", "environment")}
    folder = f"sessions/{CLEAN_SESSION['session_id']}"
    files = {
        f"{folder}/session.json": jsontext.encode(jsontext.compact(session_json)),
        f"{folder}/messages.jsonl": b"".join(jsontext.encode(line) + b"\n" for line in lines),
    }
    read = next(iter(ROLLOUTS.read(Record(key, Cell(data, "file")) for key, data in files.items()))).conversation
    return replace(read, facts={**read.facts, **extra.facts})
