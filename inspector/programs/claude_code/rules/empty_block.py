"""MSG406: an empty or blank text next to other content of a message."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import span_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for message in case.messages:
        empty = list(_rejected(message))
        # Where there is nothing else, MSG402 says it.
        if not empty or all(chunk.kind is Kind.TEXT and not chunk.text.strip() for chunk in message.chunks):
            continue
        cached = any("cache_control" in extra for chunk in empty if isinstance(extra := chunk.payload.get("extra"), dict))
        word = "A blank text" if empty[0].text else "An empty text"
        rule = "AN-24" if cached else "AN-14" if empty[0].text else "AN-13"
        yield Match(
            empty,
            f"{word} is next to other content of the {message.role}'s message (seq {span_text([chunk.seq for chunk in empty])})"
            f"{', with cache_control' if cached else ''}: Anthropic rejects it ({rule}).",
        )


def _rejected(message: Message) -> Iterator[Chunk]:
    """A blank text before a call of the same answer is accepted."""
    last_call = max((at for at, chunk in enumerate(message.chunks) if chunk.kind is Kind.TOOL_CALL), default=-1)
    for at, chunk in enumerate(message.chunks):
        if chunk.kind is Kind.TEXT and not chunk.text.strip() and not (chunk.text and at < last_call):
            yield chunk


RULE = Rule(
    code="MSG406",
    state="CC8",
    name="empty-block",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="an empty or blank text is next to other content of a message",
    why=(
        "An image without a caption, the empty output of a hook, or an answer that was interrupted leaves a text without words. "
        "Anthropic rejects it wherever it is, and with a cache marker on it in other words."
    ),
    example='@format claude-code\n1 user 1.0 text go\n2 user 1.1 text ""\n3 assistant 2.0 text hi',
    check=check,
    references=(
        "anthropics/claude-code #24662, #52057, #55302",
        "AN-13, AN-14 and AN-24 of the rules on Anthropic",
        "formats/claude_code_codex.md, F7 and F8",
    ),
    repaired_by=("drop-empty-blocks",),
    fixed_in_code="Leave a text without words out of the message before it is stored and sent.",
)
