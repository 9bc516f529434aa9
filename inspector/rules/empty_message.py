"""MSG402: a message that says nothing."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def _is_empty(chunk: Chunk) -> bool:
    return (chunk.kind is Kind.TEXT and not chunk.text.strip()) or (chunk.kind is Kind.CONTROL and "empty" in chunk.payload)


def check(case: Case) -> Iterator[Match]:
    for message in case.messages:
        if message.role not in ("user", "assistant") or not _is_empty(message.chunks[0]):
            continue
        # Programs leave a failed answer out of requests, whatever is in it.
        if all(map(_is_empty, message.chunks)) and not case.program.calls.has_failed(message):
            first = message.chunks[0]
            is_text = first.kind is Kind.TEXT
            word = "blank text" if is_text and first.text else '""' if is_text else str(first.payload["empty"])
            content = {"missing": "no content at all", "": '""'}.get(word, word)
            text = f"The {message.role}'s message at seq {span_text(message.seqs)} says nothing: its content is {content}."
            accepted = is_text and Trait.EMPTY_TEXT_ACCEPTED in case.program.traits.get(case.conversation.format, ())
            yield Match(message.chunks, f"{text} Gemini takes it." if accepted else text, severity=Severity.NOTE if accepted else None)


RULE = Rule(
    code="MSG402",
    state="RO15",
    name="empty-message",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="a message has no content, or blank text only",
    why="Anthropic and providers like it reject empty and blank texts in any place, and a converter may fail on content that is null or an empty list, on every later turn.",
    example='@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 control payload={"type":"control","empty":"null"}\n3 user 2.0 text and?',
    check=check,
    trait=Trait.EMPTY_MESSAGES,
    references=("AN-12 to AN-14 of the rules on Anthropic", "rollouts providers/anthropic.py 0779491: assertion on empty content"),
    repaired_by=("drop-empty-blocks",),
    fixed_in_code="Do not store an answer in which nothing arrived; say that the stream ended instead.",
)
