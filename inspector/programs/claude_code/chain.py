"""The chain of parents of a session as rules and repairs see it: lines that a resume loads, their compaction segments, and where the chain is wrong."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.tree import Entry, about_of, chain_above, entries
from inspector.programs.claude_code.kept import is_boundary, keeps
from inspector.programs.claude_code.leaf import answer_of, calls_in, is_message, is_side
from inspector.programs.claude_code.path import has_results_only, loaded_entries, results_in, shares_line
from inspector.rules.base import Case, cached_per_case


@dataclass(frozen=True)
class Chain:
    """`lines` are those that have an id, in the order of the file; of several with one id the last is in `by_id`. `path` is what a resume sends
    of them, from the last compaction on, in the reader's order and as a strategy may have changed it; `on_path` are the indexes of its lines. `shared_ids` are of records that share a line
    with others. `segments`: by index of a line, how many compactions were before it.
    """

    lines: tuple[Entry, ...]
    by_id: Mapping[str, Entry]
    path: tuple[Entry, ...]
    on_path: frozenset[int]
    shared_ids: frozenset[str]
    segments: Mapping[int, int]

    def parent(self, entry: Entry) -> Entry | None:
        return None if entry.parent is None else self.by_id.get(entry.parent)

    @cached_property
    def is_agent(self) -> bool:
        """Whether all messages of the file are of agents: it is the copy that an agent got of a session, or what an agent said."""
        return all(is_side(entry) for entry in self.lines if is_message(entry))

    @cached_property
    def messages(self) -> tuple[Entry, ...]:
        """Those of the conversation itself: of the agent, where the file is an agent's."""
        return tuple(entry for entry in self.lines if is_message(entry) and is_side(entry) is self.is_agent)

    @cached_property
    def reach(self) -> str:
        reached = sum(entry.index in self.on_path for entry in self.messages)
        return f"a resume reaches {reached:,} of {len(self.messages):,} messages"

    def reach_below(self, entry: Entry, parent: Entry) -> str:
        """How much of the session a resume reaches where `entry`, a line of the path, names `parent`; results on other branches come on top."""
        at = next((place for place, line in enumerate(self.path) if line.index == entry.index), 0)
        above = chain_above(self.by_id, parent, entry.index, set())
        start = next((place for place in range(len(above) - 1, -1, -1) if is_boundary(above[place].about)), 0)
        own = {line.index for line in self.messages}
        reached = {line.index for line in (*above[start:], *self.path[at:])} & own
        return f"a resume reaches {len(reached):,} of {len(own):,} messages"

    @cached_property
    def missing(self) -> tuple[Entry, ...]:
        """Lines whose parent is in no line, but for those whose parent shares its line with others, which STORE802 reports."""
        return tuple(
            entry
            for entry in self.lines
            if entry.parent is not None and entry.parent not in self.by_id and entry.parent not in self.shared_ids
        )

    @cached_property
    def repeated_ids(self) -> frozenset[str]:
        """Of several lines each: TREE203 and TREE208 say what that leads to."""
        return frozenset(id_ for id_, times in Counter(entry.id for entry in self.lines).items() if times > 1)

    @cached_property
    def bridged(self) -> frozenset[int]:
        """Indexes of lines of the path that hang below another line than the parent that they name, which is in no line."""
        lost = {entry.index for entry in self.missing}
        # A result that is fetched from its branch leads to nothing.
        leading = {line.parent for line in self.path}
        return frozenset(line.index for line in self.path[1:] if line.index in lost and (line.id in leading or not has_results_only(line)))

    @cached_property
    def first_bridged(self) -> int:
        return min(self.bridged, default=-1)

    @cached_property
    def oldest_segment(self) -> int:
        """The number of the first compaction segment that the path has lines of."""
        return min((self.segments[line.index] for line in self.path if line.index in self.segments), default=0)

    @cached_property
    def loops(self) -> tuple[tuple[Entry, ...], ...]:
        """Each closed chain of parents once, in the order of the file; not those that a uuid of several lines closes."""
        walk_of: dict[int, int] = {}
        closed: list[tuple[Entry, ...]] = []
        for number, start in enumerate(self.lines):
            chain: list[Entry] = []
            at: Entry | None = start
            while at is not None and at.index not in walk_of:
                walk_of[at.index] = number
                chain.append(at)
                at = self.parent(at)
            if at is not None and walk_of[at.index] == number and any(entry.index == at.index for entry in chain):
                first = next(place for place, entry in enumerate(chain) if entry.index == at.index)
                loop = chain[first:]
                if self.repeated_ids.isdisjoint(entry.id for entry in loop):
                    closed.append(tuple(sorted(loop, key=lambda entry: entry.index)))
        return tuple(closed)

    @cached_property
    def stale(self) -> Entry | None:
        """The line of the path that names a parent from before a compaction that it was written after; None where there is none.

        Not where the compaction kept messages by naming them: these are before its boundary and belong after it. Nor where the path leads through its
        boundary all the same, with lines in another order.
        """
        for entry in self.path:
            parent = self.parent(entry)
            if parent is None or is_boundary(entry.about) or self.segments.get(parent.index, 0) >= self.segments.get(entry.index, 0):
                continue
            later = (line for line in self.lines if parent.index < line.index < entry.index and line.index not in self.on_path)
            between = [line for line in later if is_boundary(line.about)]
            if between and not any(keeps(line) for line in between):
                return entry
        return None

    def parent_for(self, entry: Entry) -> tuple[Entry, str] | None:
        """The line that `entry`, whose own parent leads nowhere, belongs below, and what shows it: its call, its answer, or the order of the file.

        Of its own compaction segment and conversation, and with a chain that leads up to a root; None where there is none. Where the reader goes on
        by itself, it is the line that it goes on with, whose chain it has read: below another one messages that are sent today would be lost.
        """
        if entry.index in self.bridged:
            place = next(place for place, line in enumerate(self.path) if line.index == entry.index)
            return self.path[place - 1], "the line that Claude Code goes on with by itself"
        dead: set[int] = set()
        segment = self.segments[entry.index]
        candidates = [
            line
            for line in reversed(self.lines[: self._place[entry.index]])
            if self.segments[line.index] == segment and is_side(line) is is_side(entry) and (is_message(line) or is_boundary(line.about))
        ]
        answered = set(results_in(entry))
        answer = answer_of(entry)
        shown = [(line, "the call that it answers") for line in candidates if answered.intersection(calls_in(line))]
        shown += [(line, "the piece of the same answer before it") for line in candidates if answer and answer_of(line) == answer]
        shown += [(line, "the line before it in its own compaction segment") for line in candidates]
        return next(((line, why) for line, why in shown if chain_above(self.by_id, line, entry.index, dead)), None)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {entry.index: place for place, entry in enumerate(self.lines)}


@cached_per_case
def split_tree(case: Case) -> Conversation:
    """The whole file as it is once each line has been split of which a repair put a record on the path: all records of that line are lines then."""
    whole = case.tree or case.conversation
    path = case.conversation.chunks
    lines = {chunk.msg_idx for chunk in path if isinstance(number := about_of(chunk).get("fused"), int) and number < 0}
    if not lines:
        return whole
    split = (apart_from_line(chunk) if chunk.msg_idx in lines and "entry" in chunk.payload else chunk for chunk in whole.chunks)
    return replace(whole, chunks=tuple(split))


def apart_from_line(chunk: Chunk) -> Chunk:
    """The chunk of a record that shares its line, once the record has a line of its own."""
    about = chunk.payload["entry"]
    return replace(chunk, payload={**chunk.payload, "entry": {**about, "fused": -abs(about["fused"])}}) if "fused" in about else chunk


@cached_per_case
def chain_of(case: Case) -> Chain:
    whole = split_tree(case)
    stored = loaded_entries(whole)
    places = {entry.chunks[0].key: entry.index for entry in stored}
    whole_path = tuple(_at(entry, places.get(entry.chunks[0].key, -1)) for entry in entries(case.conversation))
    start = next((at for at in range(len(whole_path) - 1, -1, -1) if is_boundary(whole_path[at].about)), 0)
    path = whole_path[start:]
    # A repair may have led a line of the path to another parent.
    relinked = {entry.index: entry for entry in whole_path}
    lines = tuple(_as_on_path(entry, relinked) for entry in stored)
    by_id: dict[str, Entry] = {}
    segments: dict[int, int] = {}
    number = 0
    for entry in lines:
        # One that is written again is the same compaction.
        number += is_boundary(entry.about) and entry.id not in by_id
        by_id[entry.id] = entry
        segments[entry.index] = number
    shared = frozenset(entry.id for entry in entries(whole) if shares_line(entry) and entry.id)
    return Chain(lines, by_id, path, frozenset(entry.index for entry in path if entry.index >= 0), shared, segments)


def _at(entry: Entry, index: int) -> Entry:
    return entry if entry.index == index else replace(entry, index=index)


def _as_on_path(entry: Entry, path: Mapping[int, Entry]) -> Entry:
    on_path = path.get(entry.index)
    return on_path if on_path is not None and on_path.parent != entry.parent else entry


def has_words(entry: Entry) -> bool:
    """Whether somebody typed it, or the program put it where a person types: no line of results."""
    return entry.chunks[0].role == "user" and not has_results_only(entry)


def first_results(case: Case) -> Iterator[Chunk]:
    """Results at the beginning of a path whose first line names a parent that is nowhere: their calls were said before it."""
    chain = chain_of(case)
    if not chain.path or chain.path[0].parent is None or chain.path[0].parent in chain.by_id:
        return
    for entry in chain.path:
        if entry.chunks[0].role == "assistant":
            return
        yield from (chunk for chunk in entry.chunks if chunk.kind is Kind.TOOL_RESULT)


def name(entry: Entry) -> str:
    return f"{entry.id[:40]!r} (line {(entry.chunks[0].msg_idx or 0) + 1:,})"


def chunks_of(group: Sequence[Entry]) -> list[Chunk]:
    return [chunk for entry in group for chunk in entry.chunks]
