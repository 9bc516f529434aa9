"""Texts that programs and repairs put in the place of a tool result that nobody has: recognised, so that none is taken for a real one."""

import re

from inspector.conversation.model import Chunk
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.programs.gbrain.readers import FAILED, RECOVERED, UNAVAILABLE
from inspector.programs.pi_openclaw.readers.result_pairing import is_made_up

OURS = "The tool call was interrupted before a result was recorded."
ROLLOUTS = "[interrupted - no result provided]"

_OPENCLAW = "missing tool result in session history; inserted synthetic error result for transcript repair."

# Text -> the program that writes it.
KNOWN = {
    OURS: "Inspector",
    INTERRUPTED: "Dispatch",
    ROLLOUTS: "rollouts",
    "[interrupted]": "rollouts, on a cancel of 2025-12-23",
    "No result provided": "pi",
    f"[openclaw] {_OPENCLAW}": "OpenClaw",
    f"[moltbot] {_OPENCLAW}": "OpenClaw (as Moltbot)",
    f"[clawdbot] {_OPENCLAW}": "OpenClaw (as Clawdbot)",
    "[tool results omitted]": "OpenClaw",
    "The tool call was interrupted before a result was produced.": "pydantic-ai",
    "Tool was interrupted.": "strands",
    UNAVAILABLE: "gbrain (pull request 1934)",
    RECOVERED: "gbrain",
}
_AS_ERRORS = {"aborted": "OpenClaw (for OpenAI's Responses)", FAILED: "gbrain, for a failed run without words"}
"""Words that a tool may say as well: made up only where the result is marked as an error."""
# Of a tool that the job may not use: none ran. Names are cut, so that no text is searched for long.
_UNREGISTERED = re.compile(r'tool "[^"]{0,200}" is not (?:in the registry for this subagent|available)')
# litellm writes the name of the tool into it.
_LITELLM = "[System: Tool execution skipped/interrupted by user. No result provided for tool "


def written_by(result: Chunk) -> str:
    """The program whose made-up result it is; "" where it may be real."""
    text = result.text.strip()
    if text.startswith(_LITELLM):
        return "litellm"
    if result.is_error and _UNREGISTERED.fullmatch(text):
        return "gbrain, for a tool that is not registered"
    if is_made_up(result):
        return KNOWN.get(text, "OpenClaw")
    return KNOWN.get(text) or (_AS_ERRORS.get(text, "") if result.is_error else "")


def is_synthetic(result: Chunk) -> bool:
    return bool(written_by(result))
