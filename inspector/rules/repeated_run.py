"""MSG404: a stretch of the history occurs in it a second time."""

from collections.abc import Iterator, Sequence

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import span_text
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.jsontext import compact

SHORTEST = 3
"""Messages: a question and its answer may well be the same twice."""


def check(case: Case) -> Iterator[Match]:
    messages = case.messages
    for first, second, length in runs([_message_content(message) for message in messages]):
        repetition = messages[second : second + length]
        if {"user", "assistant"} <= {message.role for message in repetition}:
            chunks = [chunk for message in repetition for chunk in message.chunks]
            before = [chunk.seq for message in messages[first : first + length] for chunk in message.chunks]
            yield Match(
                chunks,
                f"{length} messages (seq {span_text([chunk.seq for chunk in chunks])}) repeat those at seq {span_text(before)}, role by role and word for word: "
                "a resume wrote the history again.",
            )


def runs(contents: Sequence[object]) -> Iterator[tuple[int, int, int]]:
    """Start, start of the repetition, and length; each run is compared with the first place of its first message, so that it takes one pass."""
    first_at: dict[object, int] = {}
    at = 0
    while at < len(contents):
        start = first_at.setdefault(contents[at], at)
        length = 0
        while start < at and at + length < len(contents) and start + length < at and contents[start + length] == contents[at + length]:
            length += 1
        if length >= SHORTEST:
            yield start, at, length
            at += length
        else:
            at += 1


def _message_content(message: Message) -> object:
    return message.role, tuple(_content(chunk) for chunk in message.chunks)


def _content(chunk: Chunk) -> object:
    try:
        called = compact(chunk.payload.get("input")) if chunk.kind is Kind.TOOL_CALL else ""
    except (ValueError, RecursionError):
        called = chunk.key
    return chunk.kind, chunk.text, chunk.call_id, chunk.tool_name, called


RULE = Rule(
    code="MSG404",
    state="RO18",
    name="repeated-run",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a stretch of the history was written a second time",
    why=(
        "Before 90b03d7 a resume could write the loaded messages after themselves. The model reads everything twice, and call ids that occur twice are refused."
    ),
    example="@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 text done\n3 user 2.0 text more\n4 user 3.0 text go\n5 assistant 4.0 text done\n6 user 5.0 text more",
    check=check,
    trait=Trait.REPEATED_RUNS,
    references=("rollouts 90b03d7, 2025-12-18: duplicates are left out on resume",),
    no_repair_reason="Which of the two stretches the later messages go on from, and whether somebody really said it twice, is for a person to say.",
    fixed_in_code="Append by identity and not by position, so that what was loaded is never written again.",
)
