"""What repairs that lead lines to other parents have in common."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Insert, Remove, Replace, between
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
    for edit in between(case.view(before), case.view(after)):
        match edit:
            case Insert(_, chunk) if chunk.key not in present:
                yield edit
            case Remove(chunk) | Replace(chunk, _) if present.get(chunk.key) == chunk:
                yield edit
