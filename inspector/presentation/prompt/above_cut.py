"""What a prompt lacks because of damage: the last entries above a cut in its path, and the lines that no program reads."""

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
    """`seqs` are those of its chunks. `is_lost`: not of what no program sends by design. `is_above`: not of a line elsewhere in the file."""

    entry: OffshootEntry
    seqs: tuple[int, ...]
    why: str
    is_lost: bool
    is_above: bool


@dataclass(frozen=True, slots=True)
class AboveCut:
    """`rows` in the order of the file, a few; `more` entries above the cut and `more_lines` that no program reads are in the tree only.

    `cut` is the seq of the line directly above the path that no program reads; None where there is none.
    """

    rows: tuple[EntryAboveCut, ...]
    more: int
    more_lines: int
    cut: int | None

    @property
    def lost(self) -> list[int]:
        """Seqs of the rows above the cut, but of what is no loss."""
        return [seq for row in self.rows if row.is_lost and row.is_above for seq in row.seqs]


def above_cut(tree: Conversation, view: TreeView, sent: Collection[str]) -> AboveCut:
    """`tree` is the whole content, `view` its branches; `sent` are the keys of entries that a tried strategy puts on the path all the same."""
    last = view.above_cut[-1] if view.above_cut and view.above_cut[-1].state == UNREAD else None
    why = f"above the cut at {view.unit} {last.node.line}" if last else "above a cut"
    above = {entry.node.index for entry in view.above_cut}
    # A path that a person chose lacks nothing of a line that is not on it.
    elsewhere = () if view.chosen else tuple(entry for entry in view.damaged_lines if entry.node.index not in above)
    shown = [entry for entry in (*view.above_cut, *elsewhere) if entry.node.key not in sent]
    rows = [_row(tree, entry, why, entry.node.index in above) for entry in shown]
    hidden, lines = (sum(entry.state == state for entry in shown) for state in (LOST, UNREAD))
    return AboveCut(
        tuple(sorted(rows, key=lambda row: row.seqs)),
        view.lost - sum(entry.state == LOST for entry in view.above_cut) if hidden else 0,
        0 if view.chosen else max(0, view.unread - lines),
        last.seq if last else None,
    )


def _row(tree: Conversation, entry: OffshootEntry, cut: str, is_above: bool) -> EntryAboveCut:
    chunks = _chunks(tree, entry)
    # What has words of its own is sent, as the summary of a compaction is.
    settings = by_design(chunks[0]) if chunks and not chunks[0].text else ""
    why = settings or (cut if entry.state == LOST else "no program reads it")
    return EntryAboveCut(entry, tuple(chunk.seq for chunk in chunks) or (entry.seq,), why, not settings, is_above)


def _chunks(tree: Conversation, entry: OffshootEntry) -> list[Chunk]:
    """Those of the entry; [] where the seqs of the file do not ascend. A file may have a hundred thousand: they are not gone through."""
    at = bisect_left(tree.chunks, entry.seq, key=attrgetter("seq"))
    chunks: list[Chunk] = []
    while at < len(tree.chunks) and entry.node.key in (tree.chunks[at].key.rpartition(".")[0], tree.chunks[at].key):
        chunks.append(tree.chunks[at])
        at += 1
    return chunks
