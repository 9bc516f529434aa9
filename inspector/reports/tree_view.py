"""The branches of a session as rows for drawing, like a commit graph: straight runs folded, one window of rows, and the rails beside them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.conversation.model import Chunk, Conversation
from inspector.reports.branch_model import CUT, LINK, LIVE, LOST, REBASED, REPLACED, STORED, UNPLACED, UNREAD, Branches, Mark, Node
from inspector.reports.entry_words import what, words
from inspector.reports.missing_results import NO_RESULT
from inspector.reports.own_leaves import OwnLeaf
from inspector.reports.row_words import letter
from inspector.reports.timeline import Timeline
from inspector.reports.visible import visible

WINDOW = 300
SMALL = 40
"""Nodes up to which nothing is folded but what a compaction stands for."""
CROWDED = 100
"""Rows up to which every branch is shown; beyond, one that holds nothing to be noted is one row."""
SHOWN_MARKS = 5
"""Damages, and calls without result, that stand above the tree; it says how many there are."""
_FOLDED_FROM = 3
_LAST = 4
"""Entries before the end of the path that are always shown."""
_STEP, _EDGE, _DOT = 13, 10, 14
_BOUNDS = ("compaction", "branch_summary", "reset", "leaf")


@dataclass(frozen=True, slots=True)
class Rails:
    """What is drawn beside a row, in pixels: lines over its whole height, from above to its dot, in a curve to it, and from it down.

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
class Noted:
    """A mark, the node it stands on, and the row to look at: its node, and the page of rows where that is another one."""

    mark: Mark
    node: int
    to: int | None
    line: int
    start: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """An entry, or `folded` ones of a straight run up to `last_line`. `leaf` is what the address calls it, "" where it can be no leaf.

    `seq` is that of its first chunk where the timeline shows it.
    """

    node: Node
    rails: Rails
    state: str
    letter: str
    what: str
    words: str
    seq: int | None
    leaf: str
    at: int | None
    tags: tuple[str, ...] = ()
    marks: tuple[Noted, ...] = ()
    folded: int = 0
    last_line: int = 0
    is_summarised: bool = False
    is_leaf: bool = False
    leaves: int = 0
    """Of a whole branch that is folded."""

    @property
    def shape(self) -> str:
        """Of its dot: cross for what a program cannot read or trips over, ring for what is not on the path."""
        if self.folded:
            return "fold"
        if any(noted.mark.is_damage and noted.mark.kind != NO_RESULT for noted in self.marks):
            return "cross"
        return "leaf" if self.is_leaf else "dot" if self.state == LIVE else "ring"

    @property
    def said(self) -> str:
        """Its state in words."""
        return "after compaction" if self.is_summarised else "other branch" if self.state == "other" else self.state


@dataclass(frozen=True, slots=True)
class TreeView:
    """`start` is the row that the window begins with; `earlier` and `later` begin its neighbors, None where there is none."""

    branches: Branches
    rows: tuple[Row, ...]
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
    unread: int
    damage: tuple[Noted, ...]
    damaged: int
    missing: tuple[Noted, ...]
    lacking: int
    leaf: Noted | None
    lost_leaf: str
    """What addresses call the last of the lost entries."""
    asked: str

    @property
    def see(self) -> str:
        return f"see {self.branches.unit}"

    @property
    def reached(self) -> int:
        return len(self.branches.path)

    @property
    def share(self) -> str:
        return share(self.reached, self.entries)

    @property
    def is_unknown(self) -> bool:
        """Whether the address asks for a leaf that this content does not have."""
        return bool(self.asked) and not self.branches.chosen


def share(part: int, whole: int) -> str:
    """`37 of 189 entries, 20 %`: never 0 % or 100 % of what is not none or all."""
    percents = 100 * part / whole if whole else 0
    said = f"{percents:.0f} %" if part in (0, whole) or 1 <= percents <= 99 else "under 1 %" if percents < 1 else "over 99 %"
    return f"{part:,} of {whole:,} {'entry' if whole == 1 else 'entries'}, {said}"


def forks(found: Branches) -> list[int]:
    return [node.index for node in found.nodes if len(found.below(node.index)) > 1]


def tree_view(found: Branches, own: tuple[OwnLeaf, ...] = (), start: int = 0, unfolded: int | None = None, asked: str = "") -> TreeView:
    """`start`: the first row; `unfolded`: the first node of a run that is to be shown whole; `asked`: the leaf as the address has it."""
    kept = {each.leaf for each in own}
    runs = _runs(found, unfolded, kept)
    start = min(start, max(0, len(runs) - 1))
    window = runs[start : start + WINDOW]
    places = {index: at for at, run in enumerate(runs) for index in (run[0], run[-1])}

    def noted(index: int, mark: Mark, looks: int | None) -> Noted:
        at = places.get(looks) if looks is not None else None
        page = None if at is None or start <= at < start + WINDOW else at // WINDOW * WINDOW
        return Noted(mark, index, looks if at is not None else None, found.nodes[index if looks is None else looks].line, page)

    rails = _rails(found, {index for run in window for index in (run[0], run[-1])}, max((found.lane[run[0]] for run in window), default=0))
    readers: dict[str, tuple[str, ...]] = {}
    for each in own:
        readers[each.leaf] = (*readers.get(each.leaf, ()), *each.readers)
    rows = tuple(
        _row(found, run, rails, tuple(noted(run[0], mark, mark.to) for mark in found.marks.get(run[0], ())), readers) for run in window
    )
    # Records of one line have the same fate: what befell the line is said once.
    said = {
        (mark.kind, mark.text, found.nodes[index].line): (index, mark) for index, mark in reversed(found.damage) if mark.kind != NO_RESULT
    }
    damage = list(reversed(said.values()))
    missing = [(index, mark) for index, mark in found.damage if mark.kind == NO_RESULT]
    leaf = None if found.leaf is None else noted(found.leaf, Mark("leaf", "", found.leaf, False), found.leaf)
    states = Counter(found.state)
    return TreeView(
        found, rows, start, len(runs), max(0, start - WINDOW) if start else None, start + WINDOW if start + WINDOW < len(runs) else None,
        own, found.entries, len(found.leaves), len(forks(found)), sum(node.type == "compaction" for node in found.nodes),
        states[LOST], states[UNREAD],
        tuple(noted(index, mark, index) for index, mark in damage[:SHOWN_MARKS]), len(damage),
        tuple(noted(index, mark, index if mark.to is None else mark.to) for index, mark in missing[:SHOWN_MARKS]), len(missing), leaf,
        "" if found.last_lost is None else visible(found.nodes[found.last_lost].key), asked,
    )  # fmt: skip


def _runs(found: Branches, unfolded: int | None, kept: set[str]) -> list[tuple[int, ...]]:
    """The nodes in the order of drawing: straight runs stand together, and where that is still too much, whole branches beside the way."""
    runs = _straight(found, found.order, unfolded)
    if len(runs) <= CROWDED:
        return runs
    noted = [0] * (len(found.order) + 1)
    for at, index in enumerate(found.order):
        noted[at + 1] = noted[at] + (index in found.marks or index == unfolded or (found.nodes[index].id in kept))
    result: list[tuple[int, ...]] = []
    at, rest = 0, 0
    while at < len(found.order):
        index = found.order[at]
        end = found.end[index] + 1
        if found.lane[index] == 1 and end - at >= _FOLDED_FROM and noted[end] == noted[at] and found.heavy[found.up[index]] != index:
            result += [*_straight(found, found.order[rest:at], unfolded), tuple(found.order[at:end])]
            at = rest = end
        else:
            at += 1
    return result + _straight(found, found.order[rest:], unfolded)


def _straight(found: Branches, order: Sequence[int], unfolded: int | None) -> list[tuple[int, ...]]:
    """What goes straight on and needs no look of its own stands together."""
    fold = len(found.nodes) > SMALL
    runs: list[tuple[int, ...]] = []
    held: list[int] = []

    def close() -> None:
        runs.extend([tuple(held)] if len(held) >= _FOLDED_FROM and held[0] != unfolded else [(index,) for index in held])
        held.clear()

    for index in order:
        if (not fold and index not in found.summarised) or _stands_out(found, index):
            close()
            runs.append((index,))
            continue
        if held and _looks(found, held[-1]) != _looks(found, index):
            close()
        held.append(index)
    close()
    return runs


def _looks(found: Branches, index: int) -> tuple[str, bool]:
    return found.state[index], index in found.summarised


def _stands_out(found: Branches, index: int) -> bool:
    """First of a branch, fork, leaf, compaction, damage: what a straight run must not hide."""
    above = found.up[index]
    begins = above < 0 or found.heavy[above] != index or found.link[index] not in (STORED, REBASED)
    ends = len(found.children[index]) != 1 or not found.below(index) or index in found.path[-_LAST:]
    return begins or ends or index in found.marks or found.nodes[index].type in _BOUNDS


def _style(found: Branches, index: int) -> str:
    """Of the line that leads to a node."""
    how = found.link[index]
    if how in (CUT, UNPLACED):
        return "cut"
    way = (LIVE, LINK)
    if found.state[index] in way and found.up[index] >= 0 and found.state[found.up[index]] in way:
        return "led" if how == REBASED else "live"
    return "other"


def _rails(found: Branches, wanted: set[int], widest: int) -> dict[int, Rails]:
    """One walk over all nodes: `pending` is, for each lane, the style of what still comes in it further down."""
    pending: list[str] = []
    result: dict[int, Rails] = {}
    for index in found.order:
        lane = found.lane[index]
        del pending[lane:]
        if index in wanted:
            result[index] = _rail(found, index, pending, widest)
        heavy = found.heavy[index]
        pending.append(_style(found, heavy) if heavy >= 0 else "")
    return result


def _rail(found: Branches, index: int, pending: Iterable[str], widest: int) -> Rails:
    lane, above, heavy = found.lane[index], found.up[index], found.heavy[index]
    x = _EDGE + _STEP * lane
    straight = above >= 0 and found.heavy[above] == index
    curve = f"M{x - _STEP} 0C{x - _STEP} {_DOT - 4} {x} 2 {x} {_DOT}" if above >= 0 and not straight else ""
    style = _style(found, index)
    passing = tuple((_EDGE + _STEP * at, each) for at, each in enumerate(pending) if each)
    below = _style(found, heavy) if heavy >= 0 else ""
    return Rails(2 * _EDGE + _STEP * widest, x, passing, style if straight else "", below, curve, style if curve else "")


def _row(
    found: Branches, run: tuple[int, ...], rails: Mapping[int, Rails], marks: tuple[Noted, ...], readers: Mapping[str, tuple[str, ...]]
) -> Row:
    index = run[0]
    node, state = found.nodes[index], found.state[index]
    first = node.chunks[0]
    row = Row(
        node, rails[index], state, letter(_role(first)), what(node), words(node), first.seq if state == LIVE else None,
        visible(found.nodes[run[-1]].key) if found.ends(run[-1]) else "", first.at, marks=marks, is_summarised=index in found.summarised,
        is_leaf=index == found.leaf,
    )  # fmt: skip
    if len(run) == 1:
        return replace(row, tags=tuple(_tags(found, index, readers)))
    counts = Counter(what(found.nodes[each]) for each in run).most_common()
    said = ", ".join(f"{count:,} {name}" for name, count in counts[:5]) + (", …" if len(counts) > 5 else "")
    last = max(found.nodes[each].line for each in run)
    is_branch = found.place[run[-1]] == found.end[index]
    leaves = sum(not found.below(each) for each in run) if is_branch else 0
    return replace(row, rails=replace(row.rails, below=rails[run[-1]].below), words=said, folded=len(run), last_line=last, leaves=leaves)


def _role(chunk: Chunk) -> str:
    return chunk.role or "system"


def _tags(found: Branches, index: int, readers: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    node = found.nodes[index]
    below = found.below(index)
    is_last = found.state[index] != REPLACED
    if index == found.leaf:
        yield "leaf, chosen by you" if found.chosen else "live leaf"
    elif not below and node.is_entry and node.is_read and is_last and node.type != "leaf":
        yield "leaf"
    taken = readers.get(node.id, ()) if is_last else ()
    if taken and (index != found.leaf or found.chosen):
        yield f"leaf of {taken[0] if len(taken) == 1 else f'{len(taken)} readers'}"
    if len(below) > 1:
        yield f"fork: {len(below)} branches"


def of_tree(shown: Timeline, tree: Conversation | None, found: Branches | None) -> Timeline:
    """The rows of a path as chunks of the whole file: their places in it, and for a call where its result stands on another branch."""
    if tree is None or found is None:
        return shown
    places = {chunk.key: at for at, chunk in enumerate(tree.chunks)}
    elsewhere = {each.call.key: (each.result, each.where) for each in found.missing if each.result is not None}
    lines = {chunk.key: node.line for node in found.nodes for chunk in node.chunks}
    rows = tuple(
        replace(
            row,
            position=places.get(row.chunk.key, row.position),
            elsewhere=elsewhere.get(row.chunk.key),
            line=lines.get(row.chunk.key),
        )
        for row in shown.rows
    )
    return replace(shown, rows=rows)
