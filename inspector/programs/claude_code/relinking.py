"""What repairs that lead lines to other parents have in common."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from inspector.conversation.edits import MOVED, Edit, Insert, Remove, Replace, between
from inspector.conversation.model import Chunk, Conversation
from inspector.conversation.tree import Entry
from inspector.rules.base import Case


def with_parents(tree: Conversation, lines: Iterable[tuple[Entry, str]]) -> Conversation:
    """The session as it is read where each of these lines names that parent."""
    parents = {chunk.key: parent for entry, parent in lines for chunk in entry.chunks}
    return replace(tree, chunks=tuple(_below(chunk, parents[chunk.key]) if chunk.key in parents else chunk for chunk in tree.chunks))


def _below(chunk: Chunk, parent: str) -> Chunk:
    return replace(chunk, payload={**chunk.payload, "entry": {**chunk.payload["entry"], "parentId": parent}}, parent=parent)


def path_edits(case: Case, before: Conversation, after: Conversation) -> Iterator[Edit]:
    """From the path that is read of `before` to that of `after`; what strategies before this one changed stays."""
    present = {chunk.key: chunk for chunk in case.conversation.chunks}
    old, new = case.view(before), case.view(after)
    for edit in between(old, _with_moved(old, new)):
        match edit:
            case Insert(_, chunk) if chunk.key not in present:
                yield edit
            case Remove(chunk) | Replace(chunk, _) if present.get(chunk.key) == chunk:
                yield edit


def _with_moved(before: Conversation, after: Conversation) -> Conversation:
    """`after`, where chunks that are in another order than before have the names of chunks that moved: as few of them as that takes."""
    place = {chunk.key: number for number, chunk in enumerate(before.chunks)}
    kept = [chunk.key for chunk in after.chunks if chunk.key in place]
    in_order = _longest_ascending([place[key] for key in kept])
    moved = {key for key in kept if place[key] not in in_order}
    if not moved:
        return after
    return replace(after, chunks=tuple(replace(chunk, key=MOVED + chunk.key) if chunk.key in moved else chunk for chunk in after.chunks))


def _longest_ascending(numbers: Sequence[int]) -> set[int]:
    """The most of different numbers that ascend in their order, by the usual search over the smallest last numbers."""
    lasts: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(lasts, number)
        before[number] = lasts[at - 1] if at else None
        lasts[at : at + 1] = [number]
    chosen: set[int] = set()
    number_or_none = lasts[-1] if lasts else None
    while number_or_none is not None:
        chosen.add(number_or_none)
        number_or_none = before[number_or_none]
    return chosen
