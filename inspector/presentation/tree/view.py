"""The branches of a session as rows for drawing, like a commit graph: straight runs folded, one window of rows, and the rails next to them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.presentation.conversation.placed import TreePlaces
from inspector.presentation.conversation.row_words import letter
from inspector.presentation.packed import LATER
from inspector.presentation.tree.entry_words import what, words
from inspector.presentation.tree.missing_results import NO_RESULT
from inspector.presentation.tree.model import (
    CUT,
    LINK,
    LIVE,
    LOST,
    OTHER,
    REBASED,
    REPLACED,
    STORED,
    UNPLACED,
    UNREAD,
    Branches,
    Mark,
    Node,
)
from inspector.presentation.tree.own_leaves import OwnLeaf
from inspector.presentation.visible import visible
from inspector.text.json_lines import NOT_OBJECT

WINDOW = 300
SMALL = 40
"""Nodes up to which only what a compaction replaces is folded."""
CROWDED = 100
"""Rows up to which every branch is shown; beyond, a branch without marks is one row."""
OFFSHOOTS = 200
"""Branches that the rows of the path name."""
DAMAGED_LINES = 20
"""Lines that no program reads, each of which the prompt names."""
ABOVE_CUT, NEAR_CUT = 5, 200
"""Of so many lines above a cut, the lost entries, and on the timeline the lines that no program reads, that have rows of their own; the tree has the others."""
SHOWN_MARKS = 5
"""Damages, and calls without result, that are listed above the tree, with their number."""
_FOLDED_FROM = 3
_LAST = 4
"""Entries before the end of the path that are always shown."""
_STEP, _EDGE, _DOT = 13, 10, 14
_BOUNDS = ("compaction", "branch_summary", "reset", "leaf")


@dataclass(frozen=True, slots=True)
class Rails:
    """What is drawn next to a row, in pixels: lines over its whole height, from above to its dot, in a curve to it, and from it down.

    A line has the style of what it leads to: live, led (where the reader goes on against the stored parents), other, cut (where no program
    goes along it); "" = no line.
    """

    width: int
    x: int
    passing: tuple[tuple[int, str], ...]
    above: str
    below: str
    curve: str
    curve_style: str


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """A mark, its node, and the row to look at: its node, and the page of rows where that is another one."""

    mark: Mark
    node: int
    to: int | None
    line: int
    start: int | None


@dataclass(frozen=True, slots=True)
class RowNode:
    """What a row shows of its node."""

    index: int
    key: str
    shown: str
    line: int


@dataclass(frozen=True, slots=True)
class TreeRow:
    """An entry, or `folded` ones of a straight run up to `last_line`. `leaf` is what the address calls it, "" where it can be no leaf.

    `seq` is that of its first chunk where the timeline shows it.
    """

    node: RowNode
    rails: Rails
    state: str
    letter: str
    what: str
    words: str
    seq: int | None
    leaf: str
    at: int | None
    tags: tuple[str, ...] = ()
    marks: tuple[PlacedMark, ...] = ()
    folded: int = 0
    last_line: int = 0
    is_summarized: bool = False
    is_leaf: bool = False
    leaves: int = 0
    """Of a whole branch that is folded."""

    @property
    def shape(self) -> str:
        """Of its dot: cross for what a program cannot read or trips over, ring for what is not on the path."""
        if self.folded:
            return "fold"
        if any(placed.mark.is_damage and placed.mark.kind != NO_RESULT for placed in self.marks):
            return "cross"
        return "leaf" if self.is_leaf else "dot" if self.state == LIVE else "ring"

    @property
    def state_words(self) -> str:
        return "after compaction" if self.is_summarized else "other branch" if self.state == "other" else self.state


@dataclass(frozen=True, slots=True)
class OffshootEntry:
    """What a row shows of an entry next to the path. `state` is that in the tree, `seq` that of its first chunk."""

    node: RowNode
    state: str
    seq: int
    what: str
    words: str
    letter: str


@dataclass(frozen=True, slots=True)
class Offshoot:
    """A branch that leaves the path at an entry, whose last chunk is at `seq`: its ends, and how many entries it has. `last` is None where it has one.

    `leaf` is what the address calls its last entry, "" where that can be no leaf.
    """

    seq: int
    first: OffshootEntry
    last: OffshootEntry | None
    entries: int
    leaf: str


@dataclass(frozen=True, slots=True)
class TreeView:
    """`start` is the row that the window begins with; `earlier` and `later` begin its neighbors, None where there is none. `unit` is what lines count."""

    unit: str
    chosen: str
    leaf_shown: str
    reached: int
    rows: tuple[TreeRow, ...]
    start: int
    total: int
    earlier: int | None
    later: int | None
    own: tuple[OwnLeaf, ...]
    entries: int
    leaves: int
    forks: int
    compactions: int
    lost: int
    """Entries above a cut in the path: it would reach them if the file were whole."""
    damaged_lines: tuple[OffshootEntry, ...]
    """The last lines whose content no program reads, in the order of the file, and how many there are."""
    unread: int
    damage: tuple[PlacedMark, ...]
    damaged: int
    missing: tuple[PlacedMark, ...]
    lacking: int
    leaf: PlacedMark | None
    offshoots: tuple[Offshoot, ...]
    """The last of them, in the order of the path."""
    lost_leaf: str
    """What addresses call the last of the lost entries."""
    above_cut: tuple[OffshootEntry, ...]
    """The last of the lost entries, and a line between them and the path that no program reads, in the order of the path."""
    requested_leaf: str
    rebased: Mapping[int, str] = field(default_factory=dict, metadata=LATER)
    """Seq of each entry of the path whose parent is in no line -> what the reader does there."""

    @property
    def see(self) -> str:
        return f"see {self.unit}"

    @property
    def share(self) -> str:
        return share(self.reached, self.entries)

    @property
    def off_path(self) -> str:
        off = self.entries - self.reached
        return f"{off:,}/{self.entries:,} entries off path" if off > 0 else "all on this path"

    @property
    def is_unknown(self) -> bool:
        """Whether the address asks for a leaf that this content does not have."""
        return bool(self.requested_leaf) and not self.chosen


def share(part: int, whole: int) -> str:
    """`37 of 189 entries, 20 %`: never 0 % or 100 % of what is not none or all."""
    percent = 100 * part / whole if whole else 0
    percentage = f"{percent:.0f} %" if part in (0, whole) or 1 <= percent <= 99 else "under 1 %" if percent < 1 else "over 99 %"
    return f"{part:,} of {whole:,} {'entry' if whole == 1 else 'entries'}, {percentage}"


def forks(tree: Branches) -> list[int]:
    return [node.index for node in tree.nodes if len(tree.below(node.index)) > 1]


def tree_view(
    tree: Branches, own: tuple[OwnLeaf, ...] = (), start: int = 0, unfolded: int | None = None, requested_leaf: str = ""
) -> TreeView:
    """`start`: the first row; `unfolded`: the first node of a run that is to be shown whole; `requested_leaf`: as the address has it."""
    leaf_ids = {own_leaf.leaf for own_leaf in own}
    runs = _runs(tree, unfolded, leaf_ids)
    start = min(start, max(0, len(runs) - 1))
    window = runs[start : start + WINDOW]
    places = {index: at for at, run in enumerate(runs) for index in (run[0], run[-1])}

    def placed(index: int, mark: Mark, looks: int | None) -> PlacedMark:
        at = places.get(looks) if looks is not None else None
        page = None if at is None or start <= at < start + WINDOW else at // WINDOW * WINDOW
        return PlacedMark(mark, index, looks if at is not None else None, tree.nodes[index if looks is None else looks].line, page)

    rails = _rails(tree, {index for run in window for index in (run[0], run[-1])}, max((tree.lane[run[0]] for run in window), default=0))
    readers: dict[str, tuple[str, ...]] = {}
    for own_leaf in own:
        readers[own_leaf.leaf] = (*readers.get(own_leaf.leaf, ()), *own_leaf.readers)
    rows = tuple(
        _row(tree, run, rails, tuple(placed(run[0], mark, mark.to) for mark in tree.marks.get(run[0], ())), readers) for run in window
    )
    # Records of one line share its damage, which is listed once.
    damage_by_line = {
        (mark.kind, mark.text, tree.nodes[index].line): (index, mark) for index, mark in reversed(tree.damage) if mark.kind != NO_RESULT
    }
    damage = list(reversed(damage_by_line.values()))
    missing = [(index, mark) for index, mark in tree.damage if mark.kind == NO_RESULT]
    leaf = None if tree.leaf is None else placed(tree.leaf, Mark("leaf", "", tree.leaf, False), tree.leaf)
    states = Counter(tree.state)
    unread = [index for index, state in enumerate(tree.state) if state == UNREAD and _has_content(tree.nodes[index])]
    # The path that the reader takes by itself is nobody's choice.
    requested_leaf = "" if tree.leaf is not None and visible(tree.nodes[tree.leaf].key) == requested_leaf else requested_leaf
    return TreeView(
        tree.unit, tree.chosen, tree.leaf_shown, len({index for index in tree.path if tree.nodes[index].is_entry}), rows, start, len(runs), max(0, start - WINDOW) if start else None, start + WINDOW if start + WINDOW < len(runs) else None,
        own, tree.entries, len(tree.leaves), len(forks(tree)), sum(node.type == "compaction" for node in tree.nodes),
        states[LOST], tuple(_offshoot_entry(tree, index) for index in unread[-DAMAGED_LINES:]), len(unread),
        tuple(placed(index, mark, index) for index, mark in damage[:SHOWN_MARKS]), len(damage),
        tuple(placed(index, mark, index if mark.to is None else mark.to) for index, mark in missing[:SHOWN_MARKS]), len(missing), leaf, _offshoots(tree),
        "" if tree.last_lost is None else visible(tree.nodes[tree.last_lost].key), _above_cut(tree), requested_leaf,
        {tree.nodes[index].chunks[0].seq: mark.text for index, marks in tree.marks.items() for mark in marks if mark.kind == REBASED},
    )  # fmt: skip


def _has_content(node: Node) -> bool:
    """Of a line that no program reads: a header has none, nor has a value that is no object."""
    return node.is_entry or (node.chunks[0].kind is Kind.UNREADABLE and node.chunks[0].damage != NOT_OBJECT)


def _offshoots(tree: Branches) -> tuple[Offshoot, ...]:
    offshoots: list[Offshoot] = []
    for index in reversed([index for index in tree.path if index in tree.forks or index == tree.leaf]):
        offshoots += [_offshoot(tree, index, child) for child in reversed(tree.below(index)) if tree.state[child] == OTHER]
        if len(offshoots) >= OFFSHOOTS:
            break
    return tuple(reversed(offshoots[:OFFSHOOTS]))


def _above_cut(tree: Branches) -> tuple[OffshootEntry, ...]:
    near = list(islice(tree.upward(tree.above_cut), NEAR_CUT))
    shown = ((LOST, ABOVE_CUT), (UNREAD, DAMAGED_LINES))
    lost, unread = ([index for index in near if tree.state[index] == state][:most] for state, most in shown)
    return tuple(_offshoot_entry(tree, index) for index in reversed(near) if index in {*lost, *unread})


def _offshoot(tree: Branches, index: int, child: int) -> Offshoot:
    last = child
    while tree.heavy[last] >= 0:
        last = tree.heavy[last]
    return Offshoot(
        tree.nodes[index].chunks[-1].seq, _offshoot_entry(tree, child), _offshoot_entry(tree, last) if last != child else None,
        tree.end[child] - tree.place[child] + 1, visible(tree.nodes[last].key) if tree.ends(last) else "",
    )  # fmt: skip


def _offshoot_entry(tree: Branches, index: int) -> OffshootEntry:
    node = tree.nodes[index]
    return OffshootEntry(
        RowNode(index, node.key, node.shown, node.line),
        tree.state[index],
        node.chunks[0].seq,
        what(node),
        words(node),
        letter(_role(node.chunks[0])),
    )


def _runs(tree: Branches, unfolded: int | None, leaf_ids: set[str]) -> list[tuple[int, ...]]:
    """The nodes in the order of drawing: straight runs are folded, and where that is still too much, whole branches off the path."""
    runs = _straight(tree, tree.order, unfolded)
    if len(runs) <= CROWDED:
        return runs
    noted = [0] * (len(tree.order) + 1)
    for at, index in enumerate(tree.order):
        noted[at + 1] = noted[at] + (index in tree.marks or index == unfolded or (tree.nodes[index].id in leaf_ids))
    result: list[tuple[int, ...]] = []
    at, pending_from = 0, 0
    while at < len(tree.order):
        index = tree.order[at]
        end = tree.end[index] + 1
        if tree.lane[index] == 1 and end - at >= _FOLDED_FROM and noted[end] == noted[at] and tree.heavy[tree.up[index]] != index:
            result += [*_straight(tree, tree.order[pending_from:at], unfolded), tuple(tree.order[at:end])]
            at = pending_from = end
        else:
            at += 1
    return result + _straight(tree, tree.order[pending_from:], unfolded)


def _straight(tree: Branches, order: Sequence[int], unfolded: int | None) -> list[tuple[int, ...]]:
    """Runs of nodes that go straight on and need no row of their own."""
    fold = len(tree.nodes) > SMALL
    runs: list[tuple[int, ...]] = []
    run: list[int] = []

    def close() -> None:
        runs.extend([tuple(run)] if len(run) >= _FOLDED_FROM and run[0] != unfolded else [(index,) for index in run])
        run.clear()

    for index in order:
        if (not fold and index not in tree.summarized) or _is_distinct(tree, index):
            close()
            runs.append((index,))
            continue
        if run and _looks(tree, run[-1]) != _looks(tree, index):
            close()
        run.append(index)
    close()
    return runs


def _looks(tree: Branches, index: int) -> tuple[str, bool]:
    return tree.state[index], index in tree.summarized


def _is_distinct(tree: Branches, index: int) -> bool:
    """First of a branch, fork, leaf, compaction, damage: what a straight run must not hide."""
    above = tree.up[index]
    begins = above < 0 or tree.heavy[above] != index or tree.link[index] not in (STORED, REBASED)
    ends = len(tree.children(index)) != 1 or not tree.below(index) or index in tree.path[-_LAST:]
    return begins or ends or index in tree.marks or tree.nodes[index].type in _BOUNDS


def _style(tree: Branches, index: int) -> str:
    """Of the line that leads to a node."""
    how = tree.link[index]
    if how in (CUT, UNPLACED):
        return "cut"
    path_states = (LIVE, LINK)
    if tree.state[index] in path_states and tree.up[index] >= 0 and tree.state[tree.up[index]] in path_states:
        return "led" if how == REBASED else "live"
    return "other"


def _rails(tree: Branches, shown: set[int], widest: int) -> dict[int, Rails]:
    """One walk over all nodes: `pending` is, for each lane, the style of what still comes in it further down."""
    pending: list[str] = []
    result: dict[int, Rails] = {}
    for index in tree.order:
        lane = tree.lane[index]
        del pending[lane:]
        if index in shown:
            result[index] = _rail(tree, index, pending, widest)
        heavy = tree.heavy[index]
        pending.append(_style(tree, heavy) if heavy >= 0 else "")
    return result


def _rail(tree: Branches, index: int, pending: Iterable[str], widest: int) -> Rails:
    lane, above, heavy = tree.lane[index], tree.up[index], tree.heavy[index]
    x = _EDGE + _STEP * lane
    straight = above >= 0 and tree.heavy[above] == index
    curve = f"M{x - _STEP} 0C{x - _STEP} {_DOT - 4} {x} 2 {x} {_DOT}" if above >= 0 and not straight else ""
    style = _style(tree, index)
    passing = tuple((_EDGE + _STEP * at, line_style) for at, line_style in enumerate(pending) if line_style)
    below = _style(tree, heavy) if heavy >= 0 else ""
    return Rails(2 * _EDGE + _STEP * widest, x, passing, style if straight else "", below, curve, style if curve else "")


def _row(
    tree: Branches, run: tuple[int, ...], rails: Mapping[int, Rails], marks: tuple[PlacedMark, ...], readers: Mapping[str, tuple[str, ...]]
) -> TreeRow:
    index = run[0]
    node, state = tree.nodes[index], tree.state[index]
    first = node.chunks[0]
    row = TreeRow(
        RowNode(node.index, node.key, node.shown, node.line), rails[index], state, letter(_role(first)), what(node), words(node), first.seq if state == LIVE else None,
        visible(tree.nodes[run[-1]].key) if tree.ends(run[-1]) else "", first.at, marks=marks, is_summarized=index in tree.summarized,
        is_leaf=index == tree.leaf,
    )  # fmt: skip
    if len(run) == 1:
        return replace(row, tags=tuple(_tags(tree, index, readers)))
    counts = Counter(what(tree.nodes[member]) for member in run).most_common()
    summary = ", ".join(f"{count:,} {name}" for name, count in counts[:5]) + (", …" if len(counts) > 5 else "")
    last = max(tree.nodes[member].line for member in run)
    is_branch = tree.place[run[-1]] == tree.end[index]
    leaves = sum(not tree.below(member) for member in run) if is_branch else 0
    return replace(row, rails=replace(row.rails, below=rails[run[-1]].below), words=summary, folded=len(run), last_line=last, leaves=leaves)


def _role(chunk: Chunk) -> str:
    return chunk.role or "system"


def _tags(tree: Branches, index: int, readers: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    node = tree.nodes[index]
    below = tree.below(index)
    is_last = tree.state[index] != REPLACED
    if index == tree.leaf:
        yield "leaf, chosen by you" if tree.chosen else "live leaf"
    elif not below and node.is_entry and node.is_read and is_last and node.type != "leaf":
        yield "leaf"
    leaf_readers = readers.get(node.id, ()) if is_last else ()
    if leaf_readers and (index != tree.leaf or tree.chosen):
        yield f"leaf of {leaf_readers[0] if len(leaf_readers) == 1 else f'{len(leaf_readers)} readers'}"
    if len(below) > 1:
        yield f"fork: {len(below)} branches"


def tree_places(tree: Conversation, branches: Branches) -> TreePlaces:
    """Of the chunks of a path: their places in the whole file, and for a call where its result is on another branch."""
    return TreePlaces(
        {chunk.key: at for at, chunk in enumerate(tree.chunks)},
        {chunk.key: node.line for node in branches.nodes for chunk in node.chunks},
        {gap.call.key: (gap.result, gap.where) for gap in branches.missing if gap.result is not None},
    )
