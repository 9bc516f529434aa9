"""What the passes of OpenClaw's pipeline have in common: messages in, messages out, and what was left out on the way.

Read off the published package 2026.9.6 (`sanitizeSessionHistory`, `validateReplayTurns`). A text that takes the place of content keeps the key and the
place of the first chunk that it replaces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation.model import Chunk, Dropped, Kind, Message

THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)


@dataclass(slots=True)
class Passed:
    """`counts` are ours: the program keeps a report of its pairing only."""

    messages: list[Message] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, name: str, number: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def left_out(self, chunks: Sequence[Chunk], why: str) -> None:
        if chunks:
            self.dropped.append(Dropped(tuple(chunks), why))


def with_chunks(message: Message, chunks: Sequence[Chunk]) -> Message:
    """The same answer with other content: what is known of the turn is kept at its first chunk, and stays there."""
    first = chunks[0]
    about = message.chunks[0].payload.get("entry")
    if first.payload.get("entry") is not about:
        first = with_members(first, {"entry": about})
    return replace(message, chunks=(first, *chunks[1:]))


def with_members(chunk: Chunk, members: Mapping[str, Any]) -> Chunk:
    return replace(chunk, payload={**chunk.payload, **members})


def as_text(chunk: Chunk, words: str) -> Chunk:
    """A text in the place of `chunk`."""
    return replace(
        chunk, kind=Kind.TEXT, payload={"type": "text", "text": words, "entry": chunk.payload.get("entry")}, damage="", reason=""
    )


def nothing(chunk: Chunk) -> Chunk:
    """The content `[]` in the place of `chunk`."""
    return replace(
        chunk, kind=Kind.CONTROL, payload={"type": "control", "empty": "[]", "entry": chunk.payload.get("entry")}, damage="", reason=""
    )


def is_empty(chunk: Chunk) -> bool:
    """Whether it represents empty content."""
    return chunk.kind is Kind.CONTROL and "empty" in chunk.payload
