"""A list of Anthropic messages as its API pairs it: neighbors of one role are one turn of blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.profiles.bodies import entries, entry, word

THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class TurnBlock:
    """`n` and `m` are its indexes as error texts count them; a plain string as content is a text block with the path of the content."""

    n: int
    m: int
    path: str
    value: dict[str, Any]
    kind: str

    @property
    def call_id(self) -> str:
        """Of a call or of a result; "" where it is missing or no string."""
        return word(self.value.get("id" if self.kind == "tool_use" else "tool_use_id"))


@dataclass(frozen=True, slots=True)
class SpeakerTurn:
    role: str
    blocks: list[TurnBlock] = field(default_factory=list)


def turns(messages: Sequence[Any]) -> list[SpeakerTurn]:
    """In order; a message without blocks belongs to a turn all the same, so that it keeps its neighbors of that role together."""
    grouped: list[SpeakerTurn] = []
    for n, message in enumerate(map(entry, messages)):
        role = word(message.get("role"))
        if not grouped or grouped[-1].role != role:
            grouped.append(SpeakerTurn(role))
        grouped[-1].blocks.extend(_blocks(n, message.get("content")))
    return grouped


def _blocks(n: int, content: Any) -> Iterator[TurnBlock]:
    if isinstance(content, str) and content:
        yield TurnBlock(n, 0, f"messages.{n}.content", {"type": "text", "text": content}, "text")
    for m, value in enumerate(entries(content)):
        yield TurnBlock(n, m, f"messages.{n}.content.{m}", value, word(value.get("type")))
