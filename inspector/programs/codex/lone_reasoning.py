"""Reasoning in the history that a provider may refuse: without the item that it led to, or with content that OpenAI takes from nobody."""

from collections.abc import Iterator, Mapping

from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case, Severity

OPENAI = ("", "openai", "azure")


def extra_of(chunk: Chunk) -> Mapping[str, object]:
    extra = chunk.payload.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def without_follower(case: Case) -> Iterator[tuple[Chunk, str]]:
    """Reasoning with an id that what the client says follows, and who that is; "" where nothing follows it."""
    messages = case.reading.messages
    # What is sent of reasoning may lack its content: an edit needs what is stored.
    stored = {chunk.key: chunk for chunk in case.conversation.chunks if chunk.kind is Kind.THINKING}
    for number, message in enumerate(messages):
        chunk = message.chunks[0]
        if chunk.kind is not Kind.THINKING or not extra_of(chunk).get("id"):
            continue
        following = messages[number + 1].role if number + 1 < len(messages) else ""
        if following != "assistant" and not (case.running and not following):
            yield stored[chunk.key], following


def with_content(case: Case) -> Iterator[Chunk]:
    for message in case.reading.messages:
        content = extra_of(message.chunks[0]).get("content")
        parts = content if message.chunks[0].kind is Kind.THINKING and isinstance(content, list) else []
        if any(isinstance(part, dict) and part.get("type") == "reasoning_text" for part in parts):
            yield message.chunks[0]


def severity(case: Case) -> Severity | None:
    """Other providers than OpenAI take it, as far as is known."""
    return None if (case.conversation.fact("provider") or "") in OPENAI else Severity.NOTE
