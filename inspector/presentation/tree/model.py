"""A session file as branches: nodes, the parent of each and how it is known, and the marks to show."""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.conversation.model import Chunk
from inspector.programs.registry import program_or_default

ROOT, STORED, REBASED, CUT, DANGLING, CYCLE, UNPLACED = "root", "stored", "rebased", "cut", "dangling", "cycle", "unplaced"
"""How an entry hangs on the one above it: as stored, as the reader goes on, or only as we recover it where no program does."""
LIVE, LINK, LOST, UNREAD, REPLACED, OTHER = "live", "link", "lost", "not read", "replaced", "other"


_COUNTING = re.compile(r"line:(\d{1,9})((?:/\d+)?)")


def counted(format_name: str) -> tuple[str, int]:
    """What the places of a session are called, and what is added to the number of the model: editors count the header as line 1, rows have a `seq`."""
    return program_or_default(format_name).places.get(format_name, ("line", 1))


@dataclass(frozen=True, slots=True)
class Node:
    """An entry, or a line that is none. `key` is that of its chunks without the block; `is_read`: some program takes it for an entry.

    `line` is counted as `counted` says. `id` and `parent` of a torn line are those that its bytes still name.
    """

    index: int
    key: str
    id: str
    parent: str | None
    type: str
    about: Mapping[str, Any]
    chunks: tuple[Chunk, ...]
    is_entry: bool
    is_read: bool
    line: int

    @property
    def shown(self) -> str:
        """What it is called for a person: its key, but where that only counts lines as keys do, from 0, the line as editors count."""
        counts = _COUNTING.fullmatch(self.key)
        return f"line {self.line}{counts[2]}" if counts and int(counts[1]) + 1 == self.line else self.key


@dataclass(frozen=True, slots=True)
class Mark:
    """Something about an entry that must be seen. `to` is the index of the node that it is about, where there is one."""

    kind: str
    text: str
    to: int | None = None
    is_damage: bool = True


@dataclass(frozen=True, slots=True)
class MissingResult:
    """A call of the path without a result on it. `result` is the node that has its result, None = nowhere in the file."""

    call: Chunk
    node: int
    result: int | None
    where: str


def indexes(initial: int = 0, count: int = 0) -> "array[int]":
    """So many times `initial`. Of half a million nodes a list takes five times as much."""
    return array("q", [initial]) * count


@dataclass(slots=True)
class Branches:
    """`up` and `link` say per node what it is drawn below (-1 = nothing) and how; `order` is depth first, the way on last; `path` from its root.

    `heavy` is the child by which a node's lane goes on (-1 = none), `forks` are the children of nodes that have several, `lane` counts from 0.
    `summarized` are path nodes that a compaction replaces.
    """

    reader: str
    nodes: tuple[Node, ...]
    path: tuple[int, ...] = ()
    up: "array[int]" = field(default_factory=indexes)
    link: list[str] = field(default_factory=list)
    heavy: "array[int]" = field(default_factory=indexes)
    forks: dict[int, list[int]] = field(default_factory=dict)
    lane: "array[int]" = field(default_factory=indexes)
    order: "array[int]" = field(default_factory=indexes)
    place: "array[int]" = field(default_factory=indexes)
    """Per node, its place in the order, and in `end` that of the last node below it: all between them is its branch."""
    end: "array[int]" = field(default_factory=indexes)
    state: list[str] = field(default_factory=list)
    summarized: frozenset[int] = frozenset()
    marks: dict[int, list[Mark]] = field(default_factory=dict)
    missing: tuple[MissingResult, ...] = ()
    above_cut: int | None = None
    """The node directly above a cut in the path, up from which a cut hides what is; None without a cut."""
    last_lost: int | None = None
    """The entry to which a person can read what a cut hides."""
    unit: str = "line"
    """What `line` of a node counts."""
    chosen: str = ""
    """The key of the leaf that a person chose; "" = what the reader takes."""

    @property
    def leaf(self) -> int | None:
        return self.path[-1] if self.path else None

    @property
    def leaf_shown(self) -> str:
        return self.nodes[self.path[-1]].shown if self.path else ""

    @property
    def entries(self) -> int:
        return sum(node.is_entry for node in self.nodes)

    @property
    def leaves(self) -> list[int]:
        """Entries without stored children, in the order of the file. Rows that only choose a leaf are none."""
        return [
            node.index
            for node in self.nodes
            if node.is_entry and node.is_read and node.type != "leaf" and self.state[node.index] != REPLACED and not self.below(node.index)
        ]

    def upward(self, index: int | None) -> Iterator[int]:
        """A node and what it is drawn below, up to a root."""
        at = -1 if index is None else index
        while at >= 0:
            yield at
            at = self.up[at]

    def children(self, index: int) -> Sequence[int]:
        if index in self.forks:
            return self.forks[index]
        return () if self.heavy[index] < 0 else (self.heavy[index],)

    def below(self, index: int) -> list[int]:
        """Children as the programs see them: not those that only we place there."""
        return [child for child in self.children(index) if self.link[child] not in (CUT, UNPLACED)]

    def ends(self, index: int) -> bool:
        """Whether a program can take it for its leaf."""
        node = self.nodes[index]
        return node.is_entry and node.is_read and bool(node.id) and self.state[index] != REPLACED

    def mark(self, index: int, kind: str, text: str, to: int | None = None, is_damage: bool = True) -> None:
        self.marks.setdefault(index, []).append(Mark(kind, text, to, is_damage))

    @property
    def damage(self) -> list[tuple[int, Mark]]:
        return [(index, mark) for index in sorted(self.marks) for mark in self.marks[index] if mark.is_damage]


def name_of(tree: Branches, index: int) -> str:
    return f"{tree.unit} {tree.nodes[index].line}"


def short(id_: str) -> str:
    return id_ if len(id_) <= 40 else f"{id_[:40]}…"
