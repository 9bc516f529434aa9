"""What a prompt lacks because damage cuts its path off: the last entries above the cut, and the lines there that no program reads."""

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from operator import attrgetter

from inspector.conversation.model import Chunk, Conversation
from inspector.presentation.prompt.side_by_side import by_design
from inspector.presentation.tree.model import LOST, UNREAD
from inspector.presentation.tree.view import OffshootEntry, TreeView


@dataclass(frozen=True, slots=True)
class EntryAboveCut:
    """`seqs` are those of its chunks. `is_lost`: not of what no program sends by design."""

    entry: OffshootEntry
    seqs: tuple[int, ...]
    why: str
    is_lost: bool


@dataclass(frozen=True, slots=True)
class AboveCut:
    """`rows` in the order of the path, a few; `more` entries are above them; `damaged` are the seqs of the lines that no program reads."""

    rows: tuple[EntryAboveCut, ...]
    more: int
    damaged: frozenset[int]

    @property
    def lost(self) -> list[int]:
        """Seqs of the rows, but of what is no loss."""
        return [seq for row in self.rows if row.is_lost for seq in row.seqs]


def above_cut(tree: Conversation, view: TreeView, sent: Collection[str]) -> AboveCut:
    """`tree` is the whole content, `view` its branches; `sent` are the keys of entries that a tried strategy puts on the path all the same."""
    damaged = [entry for entry in view.above_cut if entry.state == UNREAD]
    cut = f"above the cut at {view.unit} {damaged[-1].node.line}" if damaged else "above a cut"
    rows: list[EntryAboveCut] = []
    for entry in view.above_cut:
        if entry.node.key in sent:
            continue
        chunks = _chunks(tree, entry)
        settings = by_design(chunks[0]) if chunks else ""
        why = settings or (cut if entry.state == LOST else "no program reads it")
        rows.append(EntryAboveCut(entry, tuple(chunk.seq for chunk in chunks) or (entry.seq,), why, not settings))
    is_hidden = any(row.entry.state == LOST for row in rows)
    shown = sum(entry.state == LOST for entry in view.above_cut)
    return AboveCut(tuple(rows), view.lost - shown if is_hidden else 0, frozenset(entry.seq for entry in damaged))


def _chunks(tree: Conversation, entry: OffshootEntry) -> list[Chunk]:
    """Those of the entry; [] where the seqs of the file do not ascend. A file may have a hundred thousand: they are not gone through."""
    at = bisect_left(tree.chunks, entry.seq, key=attrgetter("seq"))
    chunks: list[Chunk] = []
    while at < len(tree.chunks) and entry.node.key in (tree.chunks[at].key.rpartition(".")[0], tree.chunks[at].key):
        chunks.append(tree.chunks[at])
        at += 1
    return chunks
