"""The leaf that each reader of a format takes by itself, where nobody chose one: programs differ, and the last line is not always it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import groupby

from inspector.conversation.model import Conversation
from inspector.conversation.tree import LEAF, PATH
from inspector.presentation.tree.model import counted
from inspector.readers.catalogue import clients, reader, reader_of


@dataclass(frozen=True, slots=True)
class OwnLeaf:
    """Readers with one path. `leaf` is the id of its last entry, "" where nothing is on it; `line` is counted as the tree view counts."""

    readers: tuple[str, ...]
    leaf: str
    line: int | None
    reached: int


def own_leaves(tree: Conversation, format_name: str) -> tuple[OwnLeaf, ...]:
    """In the order of the catalogue, readers that reach the same entries together. Each path through the tree is walked once."""
    unchosen = _unchosen(tree)
    walks: dict[Callable[[Conversation], Conversation], tuple[str, ...]] = {}
    for name in clients(format_name):
        if (path := reader(name).path) is not None:
            walks[path] = (*walks.get(path, ()), name)
    leaves: dict[str, OwnLeaf] = {}
    for path, readers in walks.items():
        conversation = path(unchosen)
        reached, entries = 0, sha256()
        for key, _ in groupby(chunk.key.rpartition(".")[0] for chunk in conversation.chunks):
            reached += 1
            entries.update(f"{len(key)} {key}".encode("utf-8", "surrogatepass"))
        same = entries.hexdigest()
        line = (conversation.chunks[-1].msg_idx or 0) + counted(format_name)[1] if conversation.chunks else None
        before = leaves[same].readers if same in leaves else ()
        leaves[same] = OwnLeaf((*before, *readers), conversation.fact(PATH) or "", line, reached)
    return tuple(leaves.values())


def unless_own(tree: Conversation, reader_name: str) -> Conversation:
    """Without the leaf that a person chose, where the reader takes that path by itself: of one path pages say the same. Raises UnknownReader."""
    leaf = tree.fact(LEAF)
    path = reader_of(reader_name, tree.format).path if leaf else None
    if path is None:
        return tree
    unchosen = _unchosen(tree)
    own = path(unchosen).chunks
    return unchosen if own and own[-1].key.rpartition(".")[0] == leaf and own == path(tree).chunks else tree


def _unchosen(tree: Conversation) -> Conversation:
    return replace(tree, facts={name: fact for name, fact in tree.facts.items() if name != LEAF})
