"""The rows that a page shows of a conversation: those that its filters let through, from one on, out of the blocks that hold them."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from inspector.presentation.conversation.placed import BLOCK, Block, PlacedChunk
from inspector.presentation.conversation.timeline import Window

LEAD, END = 3, 7
"""Rows shown before the one that an address names, and at the end of all at least: both fit into a first screen."""


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """What a block holds, without its rows: the highest seq, the range of positions in the file, and how many chunks there are of each kind and role.

    `counts` has a key `- kind role` for each pair, with `!` in place of `-` for those that a finding names.
    """

    number: int
    seq_high: int
    position_low: int
    position_high: int
    counts: Mapping[str, int]


class Blocks(Protocol):
    """The blocks of one analysis, wherever they are kept."""

    def summaries(self, choice: "Filter") -> Sequence[BlockSummary]:
        """In their order; those of blocks of which the choice lets no row through may be left out."""
        ...

    def reaching(self, seq: int) -> int | None:
        """The number of the first block with a seq that is not lower; None where none has."""
        ...

    def block(self, number: int) -> Block: ...


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows to show; "" lets all through. `positions`: only chunks at these places of the file, ascending; None = at any."""

    kind: str = ""
    role: str = ""
    only_findings: bool = False
    positions: Sequence[int] | None = None

    @property
    def is_any(self) -> bool:
        return bool(self.kind or self.role or self.only_findings or self.positions is not None)

    @property
    def words(self) -> tuple[str, ...]:
        """What the names of the counts of a block contain that has rows of this mark, kind and role, each by itself."""
        return tuple(
            word for word, chosen in (("! ", self.only_findings), (f" {self.kind} ", self.kind), (f" {self.role}", self.role)) if chosen
        )

    def lets(self, row: PlacedChunk) -> bool:
        return (
            (not self.kind or row.kind == self.kind)
            and (not self.role or row.role == self.role)
            and (not self.only_findings or row.is_marked)
            and (self.positions is None or _between(self.positions, row.position, row.position) > 0)
        )

    def count(self, summary: BlockSummary) -> int:
        """How many rows of a block it lets through, where `positions` is None."""
        kind, role, only_findings = self.kind, self.role, self.only_findings
        return sum([count for name, count in summary.counts.items() if _lets_all_of(name, kind, role, only_findings)])


@lru_cache(1_000)
def _lets_all_of(name: str, kind: str, role: str, only_findings: bool) -> bool:
    """Whether a filter lets the rows through that a count of this name is of. Ten thousand blocks have a few names."""
    own_mark, own_kind, own_role = name.split(" ", 2)
    return (not kind or own_kind == kind) and (not role or own_role == role) and (not only_findings or own_mark == "!")


@dataclass(frozen=True, slots=True)
class Shown:
    """`start`: place of the first row among the `matching` ones."""

    window: Window
    start: int
    matching: int


def summary(number: int, block: Block) -> BlockSummary:
    counts = Counter(f"{'!' if row.is_marked else '-'} {row.kind} {row.role}" for row in block.rows)
    positions = [row.position for row in block.rows]
    return BlockSummary(number, max(row.seq for row in block.rows), min(positions), max(positions), counts)


def shown(blocks: Blocks, total: int, choice: Filter, at: int | None, start: int | None, count: int = BLOCK) -> Shown:
    """At most `count` of the rows that `choice` lets through: from a little before the first whose seq is not lower than `at`, else from the one at `start`.

    `total` is the number of chunks. Where all seqs are lower than `at`, the last row is shown.
    """
    if not choice.is_any:
        first = _begin(_place(blocks, total, at), total, start)
        places = range(first, min(first + count, total))
        return Shown(_window(blocks, [(place // BLOCK, place % BLOCK) for place in places]), first, total)
    per_block = _per_block(blocks, choice)
    matching = sum(among for _, among in per_block)
    first = _begin(_place_among(blocks, choice, per_block, at), matching, start)
    return Shown(_window(blocks, list(_filtered(blocks, choice, per_block, first, count))), first, matching)


def _begin(named: int | None, total: int, start: int | None) -> int:
    if named is not None:
        return max(0, min(named - LEAD, total - END))
    start = start or 0
    return start if start < total else max(0, total - END)


def _place(blocks: Blocks, total: int, at: int | None) -> int | None:
    if at is None:
        return None
    number = blocks.reaching(at)
    if number is None:
        return total
    return number * BLOCK + next(place for place, row in enumerate(blocks.block(number).rows) if row.seq >= at)


def has_seq(blocks: Blocks, seq: int) -> bool:
    number = blocks.reaching(seq)
    return number is not None and any(row.seq == seq for row in blocks.block(number).rows)


def _per_block(blocks: Blocks, choice: Filter) -> list[tuple[int, int]]:
    """(number, rows that are let through) of each block that has such rows."""
    counted = [(summary.number, _count(blocks, choice, summary)) for summary in blocks.summaries(choice)]
    return [(number, among) for number, among in counted if among]


def _count(blocks: Blocks, choice: Filter, summary: BlockSummary) -> int:
    most = choice.count(summary)
    if choice.positions is None or not most:
        return most
    among = _between(choice.positions, summary.position_low, summary.position_high)
    size = sum(summary.counts.values())
    is_run = summary.position_high - summary.position_low + 1 == size
    if not among or (is_run and (most == size or among == size)):
        # Where it lets all kinds through, or all positions, the other alone says how many.
        return min(among, most)
    return sum(choice.lets(row) for row in blocks.block(summary.number).rows)


def _between(ascending: Sequence[int], low: int, high: int) -> int:
    return bisect_right(ascending, high) - bisect_left(ascending, low)


def _place_among(blocks: Blocks, choice: Filter, per_block: Sequence[tuple[int, int]], at: int | None) -> int | None:
    if at is None:
        return None
    before, reaching = 0, blocks.reaching(at)
    for number, among in per_block:
        if reaching is not None and number >= reaching:
            rows = [row for row in blocks.block(number).rows if choice.lets(row)]
            place = next((place for place, row in enumerate(rows) if row.seq >= at), None)
            if place is not None:
                return before + place
        before += among
    return before


def _filtered(blocks: Blocks, choice: Filter, per_block: Sequence[tuple[int, int]], first: int, count: int) -> Iterator[tuple[int, int]]:
    """(block, place in it) of the rows from the `first` that is let through."""
    skipped, taken = 0, 0
    for number, among in per_block:
        if skipped + among <= first:
            skipped += among
            continue
        for place, row in enumerate(blocks.block(number).rows):
            if not choice.lets(row):
                continue
            if skipped >= first:
                yield number, place
                taken += 1
                if taken == count:
                    return
            skipped += 1


def _window(blocks: Blocks, where: Sequence[tuple[int, int]]) -> Window:
    shown_blocks = {number: blocks.block(number) for number in dict.fromkeys(number for number, _ in where)}
    read = {index: message for block in shown_blocks.values() for index, message in block.read.items()}
    sent = {index: message for block in shown_blocks.values() for index, message in block.sent.items()}
    return Window(
        tuple(number * BLOCK + place for number, place in where),
        tuple(shown_blocks[number].rows[place] for number, place in where),
        read,
        sent,
    )


class InMemory:
    """Blocks that were just computed."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._summaries = [summary(number, block) for number, block in enumerate(blocks)]

    def summaries(self, choice: Filter) -> Sequence[BlockSummary]:
        return self._summaries

    def reaching(self, seq: int) -> int | None:
        return next((about.number for about in self._summaries if about.seq_high >= seq), None)

    def block(self, number: int) -> Block:
        return self._blocks[number]
