"""Texts that OpenClaw puts in for a turn, or for a block of one, of which nothing was left (TOOL402)."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case, Hit

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


def placeholders(case: Case) -> Iterator[Hit]:
    by_text: dict[tuple[str, str], list[Chunk]] = {}
    for message in case.messages:
        for chunk in message.chunks:
            if program := placeholder_of(chunk):
                by_text.setdefault((program, chunk.text.strip()), []).append(chunk)
    for (program, text), chunks in by_text.items():
        what = "A text stands" if len(chunks) == 1 else f"{len(chunks)} texts stand"
        yield Hit(
            chunks,
            f"{what} in the place of something that was lost or refused (seq {queries.span_text([chunk.seq for chunk in chunks])}): {program} puts {text!r} there, nobody said it.",
        )
