"""For rules about the order of a history, the smallest one that is rejected and one that is accepted, so that nobody has to picture them."""

from dataclasses import dataclass
from typing import NamedTuple

_UNANSWERED = "user: text | assistant: text, call a! | user: text", "user: text | assistant: text, call a | user: result a+, text"
_ORPHAN = "user: text | assistant: text | user: result a!", "user: text | assistant: text, call a+ | user: result a"
_MERGED = (
    "user: text | assistant: thinking, call a, thinking!, call b | user: result b",
    "user: text | assistant: thinking, call a | user: result a+ | assistant: thinking, call b | user: result b",
)
_UNANSWERED_BY_TOOL = "user: text | assistant: call a! | user: text", "user: text | assistant: call a | tool: result a+ | user: text"
_ORPHAN_OF_TOOL = "user: text | tool: result a!", "user: text | assistant: call a+ | tool: result a"
_UNANSWERED_BY_PART = "user: text | model: call a! | user: text", "user: text | model: call a | user: result a+ | model: text"

SHAPES: dict[str, tuple[str, str]] = {
    "AN-1": _UNANSWERED,
    "AN-2": _ORPHAN,
    "AN-3": ("user: text | assistant: call a | user: text, result a!", "user: text | assistant: call a | user: result a, text+"),
    "AN-4": ("user: text | assistant: call a, text! | user: result a", "user: text | assistant: text+, call a | user: result a"),
    "AN-4t": _MERGED,
    "AN-6": ("user: text | assistant: call a | user: result a, result a!", "user: text | assistant: call a | user: result a"),
    "AN-16": _MERGED,
    "BR-1": _UNANSWERED,
    "BR-2": _ORPHAN,
    "GE-2": ("user: text | model: call a | user: text | user: result a!", "user: text | model: call a | user: result a+ | user: text"),
    "GE-3": _UNANSWERED_BY_PART,
    "MI-1": (
        "user: text | assistant: call a! | user: text",
        "user: text | assistant: call a | tool: result a+ | assistant: text | user: text",
    ),
    "OC-1": _UNANSWERED_BY_TOOL,
    "OC-2": _ORPHAN_OF_TOOL,
    "OV-1": _UNANSWERED_BY_TOOL,
}
"""Rule -> a history that it rejects and one that it accepts. Messages are between bars; `!` marks the block that is wrong, `+` the one that makes it right."""


class ShapeBlock(NamedTuple):
    words: str
    mark: str
    """`!`, `+` or nothing."""


class ShapeMessage(NamedTuple):
    role: str
    blocks: tuple[ShapeBlock, ...]


@dataclass(frozen=True, slots=True)
class ShapePair:
    rejected: tuple[ShapeMessage, ...]
    accepted: tuple[ShapeMessage, ...]


def shape_pair(rule_id: str) -> ShapePair | None:
    """None for a rule that is about something else than the order of a history."""
    shapes = SHAPES.get(rule_id)
    return ShapePair(*map(_messages, shapes)) if shapes else None


def _messages(shape: str) -> tuple[ShapeMessage, ...]:
    messages = (message.split(": ") for message in shape.split(" | "))
    return tuple(ShapeMessage(role, tuple(map(_block, blocks.split(", ")))) for role, blocks in messages)


def _block(text: str) -> ShapeBlock:
    words = text.rstrip("!+")
    return ShapeBlock(words, text[len(words) :])
