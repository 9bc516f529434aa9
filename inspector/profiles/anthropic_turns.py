"""A list of Anthropic messages as its API pairs it: neighbors of one role are one turn of blocks."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from inspector.profiles.bodies import entries, entry, word
from inspector.text.light import light_dataclass

THINKING = frozenset({"thinking", "redacted_thinking"})


@light_dataclass(frozen=True, slots=True)
class TurnBlock:
    """`n` and `m` are its indexes as error texts count them; `call_id` is that of a call or of a result, "" where it is missing or no string."""

    n: int
    m: int
    kind: str
    call_id: str
    messages: Sequence[Any] = field(repr=False, compare=False)

    @property
    def value(self) -> dict[str, Any]:
        """Looked up in its message, which need not be in memory."""
        content = entry(self.messages[self.n]).get("content")
        return (
            {"type": "text", "text": content} if isinstance(content, str) else entry(content[self.m]) if isinstance(content, list) else {}
        )

    @property
    def path(self) -> str:
        """A plain string as content is a text block with the path of the content."""
        is_plain = isinstance(entry(self.messages[self.n]).get("content"), str)
        return f"messages.{self.n}.content" if is_plain else f"messages.{self.n}.content.{self.m}"


@light_dataclass(frozen=True, slots=True)
class SpeakerTurn:
    role: str
    blocks: list[TurnBlock] = field(default_factory=list)


def turns(messages: Sequence[Any]) -> list[SpeakerTurn]:
    """In order; a message without blocks belongs to a turn all the same, so that it keeps its neighbors of that role together."""
    grouped: list[SpeakerTurn] = []
    for n, message in enumerate(map(entry, messages)):
        role, content = word(message.get("role")), message.get("content")
        if not grouped or grouped[-1].role != role:
            grouped.append(SpeakerTurn(role))
        if isinstance(content, str) and content:
            grouped[-1].blocks.append(TurnBlock(n, 0, "text", "", messages))
        for m, value in enumerate(entries(content)):
            kind = word(value.get("type"))
            call_id = value.get("id" if kind == "tool_use" else "tool_use_id")
            grouped[-1].blocks.append(TurnBlock(n, m, kind, word(call_id), messages))
    return grouped
