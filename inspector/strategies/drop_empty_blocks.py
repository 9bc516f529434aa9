"""Removes texts without anything in them, and messages that hold nothing."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def is_empty(chunk: Chunk) -> bool:
    if chunk.kind is Kind.TEXT:
        return not chunk.text.strip()
    if chunk.kind is Kind.THINKING:
        return not chunk.text.strip() and not chunk.payload.get("signature")
    return chunk.kind is Kind.CONTROL and "empty" in chunk.payload


def propose(case: Case) -> Iterator[Edit]:
    keeping = set(case.program.calls.keeping(case))
    return (Remove(chunk) for chunk in case.conversation.chunks if is_empty(chunk) and chunk.key not in keeping)


STRATEGY = Strategy(
    name="drop-empty-blocks",
    safety=frozenset({Safety.LOSSY}),
    summary="removes texts that hold nothing but white space, and messages without any content",
    cost="Nothing that was said is lost; that a message was there, and was empty, can no longer be seen.",
    user_visible_effect="Empty bubbles are gone.",
    pros="Providers refuse empty and blank texts, at any place and permanently.",
    cons="An empty answer is evidence of a stream that ended early. Where two messages of one role meet afterwards, some templates refuse that.",
    write_kind="W2",
    propose=propose,
    manual_only=True,
    order=500,
)
