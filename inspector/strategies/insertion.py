"""Whole messages put between stored ones, as edits: what every inserting strategy shares."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from inspector.conversation.edits import Edit, Insert, apply, between
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.numbering import renumbered

Placed = tuple[str | None, Sequence[Chunk]]
"""A message of at least one chunk, and the key of the stored chunk that it follows (None = at the front)."""


def inserted(case: Case, messages: Iterable[Placed]) -> Iterator[Edit]:
    """The edits that put `messages` in; those for one place keep their order. Messages are renumbered with it: an inserted row must not share a msgIdx."""
    # A number that no neighbor has, so that the renumbering sees messages of their own.
    spare = max((chunk.msg_idx or 0 for chunk in case.conversation.chunks), default=0) + 1
    seqs = {chunk.key: chunk.seq for chunk in case.conversation.chunks}
    inserts: list[Edit] = []
    for number, (after, chunks) in enumerate(messages):
        # Counted up to the row it follows: whoever repairs the counter in the same plan must not take a new row for the last one.
        first = (seqs[after] if after is not None else 0) + 1 - len(chunks)
        inserts += [Insert(after, replace(chunk, seq=first + at, msg_idx=spare + number, chunk_idx=at)) for at, chunk in enumerate(chunks)]
    if inserts:
        yield from between(case.conversation, renumbered(apply(case.conversation, inserts)))


def end_of_results(case: Case, index: int) -> str:
    """Key of the last chunk of the results that the message at `index` has, or of the message itself."""
    end = case.messages[index].chunks[-1]
    for at in range(index + 1, len(case.messages)):
        message = case.messages[at]
        if message.role != "tool" or not all(chunk.kind is Kind.TOOL_RESULT for chunk in message.chunks):
            break
        end = message.chunks[-1]
    return end.key


def before(case: Case, chunk: Chunk) -> str | None:
    """Key of the stored chunk right before `chunk`, unreadable ones included; None where it is the first."""
    previous: str | None = None
    for other in case.conversation.chunks:
        if other.key == chunk.key:
            break
        previous = other.key
    return previous
