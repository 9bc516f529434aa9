"""What a projection yields: the prompt in a wire shape, with a source map back to chunks and everything lost on the way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Chunk, Dropped, Message


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the prompt and the chunk that it came from; `path` counts inside the request (`messages.5.content`)."""

    path: str
    chunk: Chunk
    text: str


@dataclass(frozen=True, slots=True)
class WireMessage:
    value: dict[str, Any]
    parts: tuple[Part, ...]
    source: Message | None


@dataclass(frozen=True, slots=True)
class Prompt:
    projection: str
    messages: tuple[WireMessage, ...]
    lost: tuple[Dropped, ...]

    @property
    def values(self) -> list[dict[str, Any]]:
        return [message.value for message in self.messages]

    def sources(self) -> dict[str, list[int]]:
        """Path -> seqs of the chunks that stand there; a message's own path names all of its chunks. Made-up chunks have none."""
        paths: dict[str, dict[int, None]] = {}
        for index, message in enumerate(self.messages):
            if message.source is not None and message.source.synthetic:
                continue
            for part in message.parts:
                for path in (f"messages.{index}", part.path):
                    paths.setdefault(path, {})[part.chunk.seq] = None
        return {path: list(seqs) for path, seqs in paths.items()}


@dataclass(frozen=True, slots=True)
class Projection:
    name: str
    title: str
    note: str
    project: Callable[[Sequence[Message]], Prompt]
    variants: tuple[tuple[str, str], ...] = ()
