"""Which lines of a session a resume reaches, by the version of the program: the chain of parents from the last message, and what belongs to it.

Results of parallel calls hang below their own call, so that all but one of them are off the chain. Lines of one answer share `message.id` and need not be
neighbors. Measured with published versions from 1.0.72 to 2.1.332 (`tests/published_programs/claude_code.py`); each constant is the oldest measured one that
does it, and the newest that does not is in its comment.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from operator import itemgetter

from inspector.conversation.model import Conversation, Fact, Kind
from inspector.conversation.tree import LEAF, Entry, as_path, entries, walk
from inspector.programs.claude_code.kept import Kept, is_boundary, kept
from inspector.programs.claude_code.leaf import answer_of, calls_in, is_message, is_side, leaf
from inspector.programs.claude_code.lines import SPOKEN, SYSTEM
from inspector.text.at_hand import AtHand

ENDS = "pathEnds"
"""The fact that says why the chain ends early: `dangling` (its first line names a parent that is nowhere) or `cycle`."""


JOINS = (2, 0, 76)  # not 1.0.124
JOINS_ACROSS = (2, 1, 75)  # not 2.1.12
FETCHES = (2, 1, 81)  # not 2.1.75
MERGES = (2, 1, 332)  # not 2.1.200
FETCHES_BY_CALL = (2, 1, 332)  # not 2.1.200
BRIDGES = (2, 1, 92)  # not 2.1.86
BRIDGES_MAIN = (2, 1, 112)  # not 2.1.96
READS_FIRST_OF_LINE = (2, 1, 126)  # not 2.1.112
BRIDGED = 5_000
"""Milliseconds: a line whose parent is nowhere hangs below the last line that is at most so much older, measured at 5,000 and 5,001."""
_PROGRESS = "progress"
_LEADING = (*SPOKEN, "attachment", SYSTEM, _PROGRESS)
"""Types of lines by which a resume goes on to their parents, also where they hold no message: a line below any other one names a parent that is nowhere."""


@dataclass(frozen=True, slots=True)
class Loader:
    """`since`: the versions that load so. `version`: the one that was measured for them.

    From ENDS_LAST on the path ends with the last message of the file, before with the newest one, from ENDS_AT_CHECKPOINTS on with the line at which the session
    was left. From KEEPS on what a compaction keeps by naming it follows its summary. From JOINS on pieces of one answer with results between them are one message, from FETCHES on results of the chain's calls on other branches are read,
    from BRIDGES on a line whose parent is nowhere hangs below the line that was written just before it (from BRIDGES_MAIN on not below an agent's), from
    READS_FIRST_OF_LINE on the first record of a line that several share is read. Each is the oldest measured version that does it.
    """

    name: str
    since: str
    version: tuple[int, int, int]
    does: str
    """In words, for whoever chooses it."""
    resumes: bool = True
    """False of the program that still runs: it sends what it stored, and what a resume leaves out or fills in comes with the next start."""
    read: AtHand[tuple[tuple[Entry, ...], str]] = field(default_factory=lambda: AtHand(2), compare=False, repr=False)
    """The paths that were read last: the facts of a session and its case ask for the same one."""


def path_as(loader: Loader) -> Callable[[Conversation], Conversation]:
    return lambda tree: live_path(tree, loader)


def live_path(tree: Conversation, loader: Loader) -> Conversation:
    """What `loader` resumes, in the order in which it is sent, and above it what compactions took out of the context."""
    if tree.fact(LEAF) == "":
        return as_path(tree, ())
    chain, why = live_entries(tree, loader)
    path = as_path(tree, chain)
    # The path ends with the leaf, wherever its line is put.
    facts = {**path.facts, **({ENDS: Fact(ENDS, why)} if why else {})}
    return replace(path, facts=facts)


def live_entries(tree: Conversation, loader: Loader) -> tuple[tuple[Entry, ...], str]:
    """The lines of the path, and why it ends early."""
    return _chain(tree, loader) if tree.fact(LEAF) else loader.read.of(tree.chunks, lambda: _chain(tree, loader))


def _chain(tree: Conversation, loader: Loader) -> tuple[tuple[Entry, ...], str]:
    lines = tuple(entry if entry.id else _with_key(entry) for entry in entries(tree))
    most = _most_on_line(loader.version)
    loaded = tuple(entry for entry in lines if place_on_line(entry) <= most and leads_on(entry))
    # Of several lines with one id the last counts, in every version.
    by_id = {entry.id: entry for entry in loaded}
    of_compaction = kept(by_id, loader.version)
    parent_of = _parent_of(by_id, of_compaction)
    end = _chosen(tree, loaded) or leaf(lines, loaded, by_id, of_compaction.parents, loader.version)
    chain, why = walk(
        by_id, end, _bridging(parent_of, by_id, of_compaction.gone, loader.version) if loader.version >= BRIDGES else parent_of
    )
    if loader.version >= FETCHES:
        chain = tuple(_with_branches(chain, by_id, loader.version))
    return tuple(_joined(chain, loader.version)) if loader.version >= JOINS else chain, why


def loaded_entries(tree: Conversation, version: tuple[int, int, int] = READS_FIRST_OF_LINE) -> tuple[Entry, ...]:
    """Lines with an id, in the order of the file; of records that share a line only the first is read, and none before READS_FIRST_OF_LINE."""
    most = _most_on_line(version)
    return tuple(entry for entry in entries(tree) if entry.id and place_on_line(entry) <= most)


def _most_on_line(version: tuple[int, int, int]) -> int:
    """The place of the last record of a line that is read."""
    return 1 if version >= READS_FIRST_OF_LINE else 0


def _with_key(entry: Entry) -> Entry:
    """Of a line without a uuid: none can name it, and yet it is loaded, so that a resume ends with it, and bridges to it."""
    return replace(entry, id=f"\0{entry.about.get('uuid')!r}")


@dataclass(slots=True)
class _Moments:
    """The lines of one conversation, or of all its agents, by their time; of lines of one time the first in the file comes last."""

    times: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    before: list[int] = field(default_factory=list)

    def last(self, at: int, walked: Set[str]) -> str | None:
        """The newest line that is not newer than `at`, and not walked over; None where it is too old."""
        place = bisect_right(self.times, at) - 1
        skipped: list[int] = []
        while place >= 0 and self.ids[place] in walked:
            skipped.append(place)
            place = self.before[place]
        for number in skipped:
            self.before[number] = place
        return self.ids[place] if place >= 0 and at - self.times[place] <= BRIDGED else None


def _bridging(
    parent_of: Callable[[Entry], str | None], by_id: Mapping[str, Entry], gone: Set[str], version: tuple[int, int, int]
) -> Callable[[Entry], str | None]:
    """For one walk upward: of a line whose parent is nowhere, or was walked over, the line that takes its place."""
    walked: set[str] = set()
    of_side: dict[bool, _Moments] = {}

    def side(entry: Entry) -> bool:
        return version >= BRIDGES_MAIN and is_side(entry)

    def above(entry: Entry) -> str | None:
        walked.add(entry.id)
        name, at = parent_of(entry), entry.chunks[0].at
        if name is None or at is None or (name in by_id and name not in walked):
            return name
        if not of_side:
            lines = [line for line in by_id.values() if line.id not in gone and line.type != _PROGRESS]
            timed = [(time, -number, line) for number, line in enumerate(lines) if (time := line.chunks[0].at) is not None]
            for time, _, line in sorted(timed, key=itemgetter(0, 1)):
                moments = of_side.setdefault(side(line), _Moments())
                moments.before.append(len(moments.times) - 1)
                moments.times.append(time)
                moments.ids.append(line.id)
        return of_side.get(side(entry), _Moments()).last(at, walked) or name

    return above


def _parent_of(by_id: Mapping[str, Entry], of_compaction: Kept) -> Callable[[Entry], str | None]:
    """The line above a line: its parent, or what a compaction puts in its place; above a compaction's boundary the line that it was put after."""
    ids = frozenset(of_compaction.ids)

    def parent_of(entry: Entry) -> str | None:
        above = of_compaction.parents.get(entry.id) or entry.parent
        if above is None and is_boundary(entry.about):
            # It names no parent, and elsewhere the line that it was put after.
            before = entry.about.get("logicalParentUuid")
            above = before if isinstance(before, str) and before in by_id else None
        if above in ids and (entry.id in of_compaction.gone or is_boundary(entry.about)):
            # What was kept comes after the boundary, and not once more where it was said.
            for _ in ids:
                above = by_id[above].parent if above in ids and above in by_id else above
        return above

    return parent_of


def apart(tree: Conversation) -> frozenset[str]:
    """Keys of lines that hold no message and lead to none: settings, snapshots, progress, records of requests."""
    leading: set[object] = set()
    others: set[str] = set()
    # A line comes after its parent, so that who leads to a message is known before it is met.
    for entry in reversed(entries(tree)):
        if is_message(entry) or entry.chunks[0].kind is not Kind.CONTROL or (entry.id and entry.id in leading):
            before = entry.about.get("logicalParentUuid")
            leading |= {entry.parent, before if isinstance(before, str) else None}
        else:
            others.add(entry.chunks[0].key.rpartition(".")[0])
    return frozenset(others)


def place_on_line(entry: Entry) -> int:
    """Of a record that is on one line with others, from 1; 0 of any other. Those that a repair gives lines of their own are numbered below zero until it is
    written."""
    number = entry.about.get("fused")
    return max(number, 0) if isinstance(number, int) else 0


def shares_line(entry: Entry) -> bool:
    return place_on_line(entry) > 0


def leads_on(entry: Entry) -> bool:
    """Whether a resume goes on from the line to its parent."""
    return entry.type in _LEADING or is_message(entry)


def results_in(entry: Entry) -> list[str]:
    return [chunk.call_id for chunk in entry.chunks if chunk.kind is Kind.TOOL_RESULT]


def has_results_only(entry: Entry) -> bool:
    return all(chunk.kind is Kind.TOOL_RESULT for chunk in entry.chunks)


def _chosen(tree: Conversation, loaded: Sequence[Entry]) -> Entry | None:
    leaf = tree.fact(LEAF)
    return next((entry for entry in loaded if entry.id == leaf), None) if leaf else None


def _with_branches(chain: Sequence[Entry], by_id: Mapping[str, Entry], version: tuple[int, int, int]) -> Sequence[Entry]:
    """The chain with what belongs to its answers on other branches: further pieces of an answer, and results that hang below one of its pieces."""
    on_chain = {entry.id for entry in chain}
    others = [entry for id_, entry in by_id.items() if id_ not in on_chain and is_message(entry)]
    if not others:
        return chain
    pieces: dict[str, list[Entry]] = {}
    below: dict[str, list[Entry]] = {}
    for entry in others:
        if answer := answer_of(entry):
            pieces.setdefault(answer, []).append(entry)
        elif entry.parent is not None and results_in(entry):
            below.setdefault(entry.parent, []).append(entry)
    places: dict[str, list[int]] = {}
    for number, entry in enumerate(chain):
        if answer := answer_of(entry):
            places.setdefault(answer, []).append(number)
    elsewhere = _results_elsewhere(chain, by_id, others) if version >= FETCHES_BY_CALL else {}
    taken: set[str] = set()
    regions: list[tuple[int, int, list[Entry]]] = []
    for answer, own in places.items():
        of_answer = [*(chain[number] for number in own), *pieces.get(answer, ())]
        results = [result for piece in of_answer for result in below.get(piece.id, ()) if result.id not in taken]
        taken.update(result.id for result in results)
        results += [result for piece in of_answer for result in elsewhere.get(piece.id, ()) if result.id not in taken]
        taken.update(result.id for result in results)
        if lines := [*_by_time(pieces.get(answer, ())), *_by_time(results)]:
            regions.append((own[0], own[-1], lines))
    return _merged(chain, regions, by_id) if version >= MERGES else _after_answers(chain, regions)


def _by_time(lines: Iterable[Entry]) -> list[Entry]:
    return sorted(lines, key=lambda entry: entry.chunks[0].at or 0)


def _results_elsewhere(chain: Sequence[Entry], by_id: Mapping[str, Entry], others: Sequence[Entry]) -> dict[str, list[Entry]]:
    """By id of a line with a call: results off the chain that hang below another line, where the call has no result yet, and is in one answer only."""
    owners: dict[str, Entry | None] = {}
    for entry in by_id.values():
        for call_id in calls_in(entry):
            owner = owners.get(call_id, entry)
            owners[call_id] = entry if owner is not None and answer_of(owner) == answer_of(entry) else None
    answered = {id_ for entry in chain for id_ in results_in(entry)}
    by_call: dict[str, list[Entry]] = {}
    for entry in others:
        parent = by_id.get(entry.parent or "")
        own = set(calls_in(parent)) if parent is not None else set()
        if own.issuperset(results_in(entry)):
            answered.update(results_in(entry))
            continue
        for id_ in results_in(entry):
            owner = owners.get(id_)
            if owner is not None and id_ not in answered and is_side(owner) == is_side(entry):
                by_call.setdefault(owner.id, []).append(entry)
                answered.update(results_in(entry))
                break
    return by_call


def _after_answers(chain: Sequence[Entry], regions: Sequence[tuple[int, int, list[Entry]]]) -> list[Entry]:
    """The lines of other branches behind the last piece of their answer."""
    fetched = {end: lines for _, end, lines in regions}
    return [line for number, entry in enumerate(chain) for line in (entry, *fetched.get(number, ()))]


def _merged(chain: Sequence[Entry], regions: Sequence[tuple[int, int, list[Entry]]], by_id: Mapping[str, Entry]) -> list[Entry]:
    """The lines of other branches among the lines from its answer to the last of its results, in the order of the file."""
    position = {id_: place for place, id_ in enumerate(by_id)}
    merged: list[Entry] = []
    waiting: list[tuple[int, Entry]] = []
    done = 0

    def before(place: int) -> None:
        while waiting and waiting[0][0] < place:
            merged.append(heappop(waiting)[1])

    for start, last, lines in sorted(regions, key=itemgetter(0)):
        if start >= done:
            before(len(position))
            merged += chain[done : start + 1]
            done = start + 1
        for line in lines:
            heappush(waiting, (position[line.id], line))
        answer, end = answer_of(chain[start]), last + 1
        while end < len(chain) and _belongs(chain[end], answer):
            end += 1
        for entry in chain[done:end]:
            before(position[entry.id])
            merged.append(entry)
        done = max(done, end)
    before(len(position))
    return [*merged, *chain[done:]]


def _belongs(entry: Entry, answer: str) -> bool:
    """Whether the line goes on with an answer: a piece, a result, or what the program put between."""
    if is_message(entry):
        return answer_of(entry) == answer if answer_of(entry) else bool(results_in(entry)) or entry.about.get("isMeta") is True
    return not is_boundary(entry.about)


def _joined(chain: Iterable[Entry], version: tuple[int, int, int]) -> list[Entry]:
    """Pieces of one answer next to each other, before the results that are between them, and from JOINS_ACROSS on before other answers, but not across what
    the person said."""
    groups: list[list[Entry]] = []
    pieces_of: dict[str, list[Entry]] = {}
    for entry in chain:
        answer = answer_of(entry)
        if answer in pieces_of:
            pieces_of[answer].append(entry)
            continue
        groups.append([entry])
        if answer:
            if version < JOINS_ACROSS:
                pieces_of.clear()
            pieces_of[answer] = groups[-1]
        elif is_message(entry) and not has_results_only(entry):
            pieces_of.clear()
    return [entry for group in groups for entry in group]
