"""A list of Anthropic messages as its API pairs it: neighbors of one role are one turn of blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.profiles.bodies import entries, entry, word

THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Block:
    """`n` and `m` are its indexes as error texts count them; a plain string as content is a text block with the path of the content."""

    n: int
    m: int
    path: str
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        return word(self.value.get("type"))

    @property
    def call_id(self) -> str:
        """Of a call or of a result; "" where it is missing or no string."""
        return word(self.value.get("id" if self.kind == "tool_use" else "tool_use_id"))


@dataclass(frozen=True, slots=True)
class Turn:
    role: str
    blocks: list[Block] = field(default_factory=list)


def turns(messages: Sequence[Any]) -> list[Turn]:
    """In order; a message without blocks belongs to a turn all the same, so that it keeps its neighbors of that role together."""
    found: list[Turn] = []
    for n, message in enumerate(map(entry, messages)):
        role = word(message.get("role"))
        if not found or found[-1].role != role:
            found.append(Turn(role))
        found[-1].blocks.extend(_blocks(n, message.get("content")))
    return found


def _blocks(n: int, content: Any) -> Iterator[Block]:
    if isinstance(content, str) and content:
        yield Block(n, 0, f"messages.{n}.content", {"type": "text", "text": content})
    for m, value in enumerate(entries(content)):
        yield Block(n, m, f"messages.{n}.content.{m}", value)
