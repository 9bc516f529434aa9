"""What a projection yields: the prompt in a wire shape, with a source map back to chunks and everything lost on the way."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

from inspector.conversation.model import Chunk, Dropped, Message
from inspector.text.light import light_dataclass

# Every wire shape, by the name that projections, profiles and `show --as` share.
OPENAI_CHAT = "openai-chat"
OPENAI_RESPONSES = "openai-responses"
ANTHROPIC = "anthropic"
GEMINI = "gemini"
BEDROCK = "bedrock"
MISTRAL = "mistral"
AI_SDK = "ai-sdk"

AS_SENT = "as-sent"
"""The variant of a projection that merges nothing: each message as the reader has it is one message of the request."""


@light_dataclass(frozen=True, slots=True)
class PromptPart:
    """A piece of the prompt and the chunk that it came from; `path` counts inside the request (`messages.5.content`)."""

    path: str
    chunk: Chunk
    text: str


@light_dataclass(frozen=True, slots=True)
class WireMessage:
    """One element of the request's list. `source` is the message that it was made of; None for one that the projection added."""

    value: dict[str, Any]
    parts: Sequence[PromptPart]
    source: Message | None


class PromptValues(Sequence[dict[str, Any]]):
    """The list of a request, each message looked up when it is asked for: those of a long conversation are not all in memory."""

    def __init__(self, messages: Sequence[WireMessage]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (message.value for message in self._messages)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return [message.value for message in self._messages[place]] if isinstance(place, slice) else self._messages[place].value


@dataclass(frozen=True, slots=True)
class Prompt:
    """`root` is the name of the request's list (`messages`, `contents`, `input`), with which every path starts.

    `system` is what the wire shape keeps outside the list, as it is sent; its chunks are in `system_parts`, paths `system.0` and on.
    """

    projection: str
    messages: tuple[WireMessage, ...]
    lost: tuple[Dropped, ...]
    root: str = "messages"
    system: Any = None
    system_parts: tuple[PromptPart, ...] = ()
    as_words: tuple[int, ...] = ()
    """Seqs of thinking that is sent as words of the model's answer, untagged."""

    @property
    def values(self) -> list[dict[str, Any]]:
        return [message.value for message in self.messages]

    def sources(self, wanted: Container[int] | None = None) -> dict[str, list[int]]:
        """Path -> seqs of the chunks at that place; a message's own path names all of its chunks. Synthetic chunks have none.

        `wanted`: of these messages of the list alone, by their indexes.
        """
        paths: dict[str, dict[int, None]] = {}
        for part in self.system_parts:
            paths.setdefault("system", {})[part.chunk.seq] = None
            paths.setdefault(part.path, {})[part.chunk.seq] = None
        for index, message in enumerate(self.messages):
            if (wanted is not None and index not in wanted) or (message.source is not None and message.source.synthetic):
                continue
            for part in message.parts:
                for path in (f"{self.root}.{index}", part.path):
                    paths.setdefault(path, {})[part.chunk.seq] = None
        return {path: list(seqs) for path, seqs in paths.items()}


@dataclass(frozen=True, slots=True)
class Projection:
    """`wire` is the shape that it makes; several projections may make one shape (a client's own converter loses what the clean one keeps)."""

    name: str
    title: str
    note: str
    project: Callable[[Sequence[Message]], Prompt]
    variants: tuple[tuple[str, str], ...] = ()
    wire: str = OPENAI_CHAT


def with_as_sent(
    wire: str, title: str, note: str, convert: Callable[[str, bool, Sequence[Message]], Prompt], as_sent: str, as_sent_note: str
) -> tuple[Projection, Projection]:
    """The projection of a wire shape, and its variant that merges nothing. `convert` gets the name, and whether it is the variant."""
    name = f"{wire}+{AS_SENT}"
    return (
        Projection(wire, title, note, partial(convert, wire, False), ((AS_SENT, as_sent),), wire),
        Projection(name, f"{title}, as sent", as_sent_note, partial(convert, name, True), wire=wire),
    )


def without_cache_marks(value: Any) -> Any:
    """A value of a request without `cache_control`, which says what a provider keeps at hand and nothing to the model."""
    if isinstance(value, dict):
        return {name: without_cache_marks(inner) for name, inner in value.items() if name != "cache_control"}
    return [without_cache_marks(inner) for inner in value] if isinstance(value, list) else value
