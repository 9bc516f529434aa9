"""Puts results first in the user's messages, and calls last in the assistant's."""

from collections.abc import Iterator
from itertools import groupby

from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.arrangement import arranged, by_message
from inspector.strategies.base import Strategy


def _rank(chunk: Chunk) -> int:
    return -1 if chunk.kind is Kind.TOOL_RESULT else 1 if chunk.kind is Kind.TOOL_CALL else 0


def propose(case: Case) -> Iterator[Edit]:
    """Inside of a message only; what is equal in rank keeps its order."""
    if by_message(case):
        return
    chunks: list[Chunk] = []
    for _, message_chunks in groupby(case.conversation.chunks, key=lambda chunk: chunk.msg_idx):
        chunks += sorted(message_chunks, key=_rank)
    if any(new is not old for new, old in zip(chunks, case.conversation.chunks, strict=True)):
        yield from arranged(case, chunks)


STRATEGY = Strategy(
    name="order-blocks",
    safety=frozenset(),
    summary="puts results before the user's words, and calls after the assistant's, inside of one message",
    cost="No content changes: only the order of blocks in a message.",
    user_visible_effect="Words that were after a call in an answer are shown before it.",
    pros="Anthropic wants results first and calls last, and answers with the text of a missing result where they are not.",
    cons="Where thinking was after a call, its place in the latest answer changes, which the provider may notice.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=510,
)
