"""The words of a row of the timeline: the letter of its role, its text, its call, and whether a tool returned it."""

from collections.abc import Mapping

from inspector.conversation.model import Chunk, Kind
from inspector.presentation.visible import beginning
from inspector.rules.synthetic_texts import is_synthetic
from inspector.text import jsontext

_RAW_SHOWN, _RAW_READ = 2000, 2400
"""Bytes that are no text: characters that are shown, and bytes that are read for them."""
ROLE_LETTERS = {
    "user": "u", "assistant": "a", "tool": "t", "system": "s", "model": "a", "developer": "s", "reasoning": "a",
    "function_call": "a", "function_call_output": "t",
}  # fmt: skip
"""Roles of chunks, and what other wire shapes say in their place; an item of the Responses shape has a type."""


def letter(role: str) -> str:
    return ROLE_LETTERS.get(role, "x")


def hue(chunk: Chunk) -> str:
    """The letter of its role; what a session stores next to its messages has none, and that is no damage."""
    return "c" if chunk.kind is Kind.CONTROL and not chunk.role else letter(chunk.role)


def arguments(chunk: Chunk) -> str:
    value = chunk.payload.get("input")
    return value if isinstance(value, str) else jsontext.compact(value) if chunk.kind is Kind.TOOL_CALL else ""


def words(chunk: Chunk) -> str:
    """The text of a chunk, or why it cannot be read."""
    if chunk.kind is Kind.UNREADABLE:
        return f"{chunk.reason}\n{beginning(chunk.raw[:_RAW_READ].decode('utf-8', 'replace'), _RAW_SHOWN)}"
    return chunk.text or _entry_words(chunk)


def in_one_line(chunk: Chunk) -> str:
    """What was called with what, or its text."""
    called = arguments(chunk)
    return f"{chunk.tool_name} {called}" if called else words(chunk) or "(empty)"


# The fields of an entry without a message, the most telling first.
_ENTRY_FIELDS = ("summary", "label", "name", "modelId", "thinkingLevel", "customType", "targetId", "firstKeptEntryId", "reason")


def _entry_words(chunk: Chunk) -> str:
    """`model change: modelId m`, of a control row of a session; "" for anything else."""
    about = chunk.payload.get("entry") if chunk.kind is Kind.CONTROL else None
    if not isinstance(about, Mapping) or not isinstance(about.get("type"), str):
        return ""
    fields = ", ".join(f"{name} {beginning(value, 200)}" for name in _ENTRY_FIELDS if isinstance(value := about.get(name), str) and value)
    return f"{about['type'].replace('_', ' ')}{f': {fields}' if fields else ''}"


def synthetic(chunk: Chunk) -> str:
    """Why a stored result is not from a tool; "" for all others. The texts compared are those of Dispatch's kernel, complete."""
    if chunk.kind is not Kind.TOOL_RESULT:
        return ""
    if is_synthetic(chunk):
        return "not from a tool: a placeholder for a missing result"
    if chunk.is_error and chunk.text == "Aborted":
        return "not from a tool: the turn was stopped"
    if chunk.is_error and chunk.text == f"Unknown tool: {chunk.tool_name}":
        return "not from a tool: there is none of that name"
    return ""
