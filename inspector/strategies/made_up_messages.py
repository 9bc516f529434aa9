"""Messages that nobody wrote, put in where a provider insists on one: what the strategies share that do so."""

from collections.abc import Iterator, Sequence

from inspector.conversation.edits import Edit, Insert, apply, between
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.arrangement import by_message
from inspector.strategies.insertion import inserted
from inspector.strategies.numbering import renumbered

Made = tuple[str | None, str, str]
"""The key that it follows (None = at the front), its role and its words."""


def said(case: Case, messages: Sequence[Made]) -> Iterator[Edit]:
    chunks = [(after, _chunk(case, number, after, role, words)) for number, (after, role, words) in enumerate(messages)]
    if not chunks:
        return
    if by_message(case):
        yield from inserted(case, [(after, (chunk,)) for after, chunk in chunks])
        return
    yield from between(case.conversation, renumbered(apply(case.conversation, [Insert(after, chunk) for after, chunk in chunks])))


def _chunk(case: Case, number: int, after: str | None, role: str, words: str) -> Chunk:
    spare = max((chunk.msg_idx or 0 for chunk in case.conversation.chunks), default=0) + 1 + number
    return Chunk(f"new:{role}:{after or 'front'}", 0, role, Kind.TEXT, {"type": "text", "text": words}, spare, 0)
