"""The branches of a session as rows for drawing, like a commit graph: straight runs folded, a window of rows, and rails beside them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from inspector.conversation.model import Kind
from inspector.reports.branch_model import LIVE, STORED, UNPLACED, Branches, Mark, Node
from inspector.reports.own_leaves import OwnLeaf
from inspector.reports.timeline import arguments, letter
from inspector.reports.visible import visible

WINDOW = 300
SMALL = 40
"""Nodes up to which nothing is folded."""
_FOLDED_FROM = 3
_STEP, _EDGE, _DOT = 13, 9, 14
_WORDS = 200
_CUTS = ("compaction", "branch_summary", "reset", "leaf")
STATES = {
    "live": "live",
    "link": "link",
    "lost": "lost",
    "not read": "not read",
    "replaced": "replaced",
    "other": "other branch",
}


@dataclass(frozen=True, slots=True)
class Rails:
    """What is drawn beside a row, in pixels: lines over its whole height, from above to the dot, in a curve to it, and from it down.

    Each line has the style of what it leads to: live, other, or cut (where no program goes along it); "" = no line.
    """

    width: int
    passing: tuple[tuple[int, str], ...]
    x: int
    above: str
    below: str
    curve: str
    curve_style: str


@dataclass(frozen=True, slots=True)
class To:
    """A link to another row: its anchor, and the page of rows that it is on (None = this one)."""

    node: int
    start: int | None
    words: str


@dataclass(frozen=True, slots=True)
class Noted:
    mark: Mark
    to: To | None


@dataclass(frozen=True, slots=True)
class Row:
    """An entry, or several folded ones (`folded` > 0: then `last_line` is that of the last). `leaf` is what the address calls it, "" where it can be no leaf.

    `seq` is that of its first chunk where the timeline shows it.
    """

    node: Node
    rails: Rails
    state: str
    state_words: str
    letter: str
    what: str
    words: str
    seq: int | None
    leaf: str
    tags: tuple[str, ...] = ()
    marks: tuple[Noted, ...] = ()
    folded: int = 0
    last_line: int = 0

    @property
    def shape(self) -> str:
        """Of its dot: a damaged or unread one is a cross, whatever its colour."""
        damaged = self.state in ("not read", "replaced") or any(noted.mark.is_damage and noted.mark.kind != "no result" for noted in self.marks)
        return "fold" if self.folded else "cross" if damaged else "dot"


@dataclass(frozen=True, slots=True)
class TreeView:
    """`start` is the row that the window begins with; `earlier` and `later` those of its neighbours, None where there are none."""

    branches: Branches
    rows: tuple[Row, ...]
    start: int
    total: int
    earlier: int | None
    later: int | None
    own: tuple[OwnLeaf, ...]
    reached: int
    entries: int
    leaves: int
    forks: int
    compactions: int
    lost: int
    unread: int
    damage: tuple[tuple[Row | None, Noted], ...]
    damaged: int
    missing: tuple[Noted, ...]
    lacking: int
    is_small: bool
    asked: str

    @property
    def share(self) -> str:
        return f"{self.reached:,} of {self.entries:,} {'entry' if self.entries == 1 else 'entries'}, {percent(self.reached, self.entries)}"

    @property
    def is_unknown(self) -> bool:
        """Whether the address asks for a leaf that this content has not."""
        return bool(self.asked) and not self.branches.chosen

    @property
    def differ(self) -> bool:
        return len(self.own) > 1

    @property
    def here(self) -> To | None:
        return None


SHOWN_DAMAGE = 6
NO_LEAF = "nothing is on its path"


def percent(part: int, whole: int) -> str:
    """Whole percents, and never 0 % or 100 % of what is not none or all."""
    if not whole or part in (0, whole):
        return "0 %" if not part else "100 %"
    share = 100 * part / whole
    return "under 1 %" if share < 1 else "over 99 %" if share > 99 else f"{share:.0f} %"


def tree_view(found: Branches, own: tuple[OwnLeaf, ...] = (), start: int = 0, unfolded: int | None = None, asked: str = "") -> TreeView:
    """`start`: the first row; `unfolded`: the first node of a run that is to be shown whole; `asked`: the leaf as the address has it."""
    runs = _runs(found, unfolded)
    start = max(0, min(start, len(runs) - 1)) if runs else 0
    places = {run[0]: at for at, run in enumerate(runs)}
    end = start + WINDOW

    def to(index: int | None, words: str) -> To | None:
        if index is None or index not in places:
            return None
        return To(index, None if start <= places[index] < end else places[index] // WINDOW * WINDOW, words)

    def noted(mark: Mark) -> Noted:
        return Noted(mark, to(mark.to, f"line {found.nodes[mark.to].line}") if mark.to is not None else None)

    rails = _rails(found)
    rows: list[Row] = []
    own_by_leaf = {key: each.readers for each in own if (key := each.leaf)}
    # The rails of a run are those of its first entry, walked up to it so that the lanes beside it are known.
    for at, run in enumerate(runs[:end]):
        drawn = [next(rails) for _ in run][0]
        if at >= start:
            marks = tuple(noted(mark) for mark in found.marks.get(run[0], ()))
            rows.append(_row(found, run, drawn, marks, own_by_leaf))
    damage = found.damage
    listed = [(mark, Noted(mark, to(index, f"line {found.nodes[index].line}"))) for index, mark in damage if mark.kind not in ("no result",)]
    lacking = [Noted(mark, to(mark.to, f"line {found.nodes[mark.to].line}") if mark.to is not None else to(index, f"line {found.nodes[index].line}")) for index, mark in damage if mark.kind == "no result"]
    states = Counter(found.state)
    return TreeView(
        found, tuple(rows), start, len(runs), max(0, start - WINDOW) if start else None, end if end < len(runs) else None, own,
        len(found.path), found.entries, len(found.leaves), forks(found), sum(node.type == "compaction" for node in found.nodes),
        states["lost"], states["not read"], tuple((None, each) for _, each in listed[:SHOWN_DAMAGE]), len(listed),
        tuple(lacking[:SHOWN_DAMAGE]), len(lacking), len(found.nodes) <= SMALL, asked,
    )  # fmt: skip
