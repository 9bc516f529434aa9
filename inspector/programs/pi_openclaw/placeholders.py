"""Texts that OpenClaw puts in for a turn, or for a block of one, of which nothing was left (TOOL402)."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind
from inspector.programs.base import SyntheticResult
from inspector.programs.pi_openclaw.readers.result_pairing import MISSING, NO_RESULT, is_openclaw_placeholder
from inspector.rules.base import Case, Match

PI_WORDS = SyntheticResult(NO_RESULT)
OPENCLAW_WORDS = SyntheticResult(MISSING, {"openclawSyntheticMissingToolResult": True, "reason": "missing_tool_result"}, "unknown", "pi")
PLACEHOLDERS = {
    "[assistant reasoning omitted]": "OpenClaw",
    "[tool calls omitted]": "OpenClaw",
    "[assistant turn failed before producing content]": "OpenClaw",
    "[image omitted: corrupted base64 payload]": "OpenClaw",
    "(continue)": "OpenClaw",
    "(session bootstrap)": "OpenClaw",
}


def placeholder_of(chunk: Chunk) -> str:
    """The program that put the text in for something that was not there; "" where somebody may have said it."""
    return PLACEHOLDERS.get(chunk.text.strip(), "") if chunk.kind is Kind.TEXT else ""


def placeholders(case: Case) -> Iterator[Match]:
    by_text: dict[tuple[str, str], list[Chunk]] = {}
    for message in case.messages:
        for chunk in message.chunks:
            if program := placeholder_of(chunk):
                by_text.setdefault((program, chunk.text.strip()), []).append(chunk)
    for (program, text), chunks in by_text.items():
        what = "A text is" if len(chunks) == 1 else f"{len(chunks)} texts are"
        yield Match(
            chunks,
            f"{what} in the place of something that was lost or refused (seq {queries.span_text([chunk.seq for chunk in chunks])}): {program} puts {text!r} there, nobody said it.",
        )


_OPENCLAW = "missing tool result in session history; inserted synthetic error result for transcript repair."
_RESULTS = {
    NO_RESULT: "pi",
    f"[openclaw] {_OPENCLAW}": "OpenClaw",
    f"[moltbot] {_OPENCLAW}": "OpenClaw (as Moltbot)",
    f"[clawdbot] {_OPENCLAW}": "OpenClaw (as Clawdbot)",
    "[tool results omitted]": "OpenClaw",
}
_AS_ERRORS = {"aborted": "OpenClaw (for OpenAI's Responses)"}
"""Words that a tool may say as well: synthetic only where the result is marked as an error."""


def placeholder_author(result: Chunk) -> str:
    """The program that wrote the result as a placeholder, by its words or by the details that OpenClaw keeps with it."""
    text = result.text.strip()
    if is_openclaw_placeholder(result):
        return _RESULTS.get(text, "OpenClaw")
    return _RESULTS.get(text) or (_AS_ERRORS.get(text, "") if result.is_error else "")
