"""Texts that programs and repairs put in the place of a tool result that nobody has: recognised, so that none is taken for a real one."""

from inspector.conversation.model import Chunk
from inspector.readers.dispatch import INTERRUPTED

OURS = "The tool call was interrupted before a result was recorded."
ROLLOUTS = "[interrupted - no result provided]"

# Text -> the program that writes it.
KNOWN = {
    OURS: "Inspector",
    INTERRUPTED: "Dispatch",
    ROLLOUTS: "rollouts",
    "[interrupted]": "rollouts, on a cancel of 2025-12-23",
    "No result provided": "pi",
    "The tool call was interrupted before a result was produced.": "pydantic-ai",
    "Tool was interrupted.": "strands",
}
# litellm writes the name of the tool into it.
_LITELLM = "[System: Tool execution skipped/interrupted by user. No result provided for tool "


def written_by(result: Chunk) -> str:
    """The program whose made-up text it is; "" where it may be real."""
    text = result.text.strip()
    return "litellm" if text.startswith(_LITELLM) else KNOWN.get(text, "")


def is_synthetic(result: Chunk) -> bool:
    return bool(written_by(result))
