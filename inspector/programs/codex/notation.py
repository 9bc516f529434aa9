"""A thread of Codex out of the notation of cases: the lines of its rollout file."""

from collections.abc import Iterable
from dataclasses import replace

from inspector.conversation.model import Conversation
from inspector.programs.codex.format import CODEX
from inspector.programs.formats import Cell, Record
from inspector.text import jsontext

KEY = "sessions/rollout-2026-08-01T10-00-00-0199aaaa-0000-7000-8000-000000000001.jsonl"


def session_of(lines: Iterable[str], session: Iterable[str], extra: Conversation) -> Conversation:
    """A thread of these lines, with the facts given next to them."""
    data = b"".join(jsontext.encode(line) + b"\n" for line in lines)
    read = next(iter(CODEX.read([Record(KEY, Cell(data, "file"))]))).conversation
    return replace(read, facts={**read.facts, **extra.facts})
