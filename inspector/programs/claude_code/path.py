"""Which lines of a session a resume reaches, by the version of the program: the chain of parents from the last message, and what belongs to it.

Results of parallel calls hang below their own call, so that all but one of them are off the chain. Lines of one answer share `message.id` and need not be
neighbors. Measured with published versions from 1.0.72 to 2.1.332 (`tests/published_programs/claude_code.py`); each constant is the oldest measured one that
does it, and the newest that does not is in its comment.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation.model import Conversation, Fact, Kind
from inspector.conversation.tree import LEAF, Entry, as_path, entries, walk
from inspector.programs.claude_code.lines import ASSISTANT, BOUNDARY, SYSTEM
from inspector.text.at_hand import AtHand

ENDS = "pathEnds"
"""The fact that says why the chain ends early: `dangling` (its first line names a parent that is nowhere) or `cycle`."""


JOINS = (2, 0, 76)  # not 1.0.124
FETCHES = (2, 1, 81)  # not 2.1.75
ENDS_LAST = (2, 1, 92)  # not 2.1.86
BRIDGES = (2, 1, 92)  # not 2.1.86
BRIDGES_MAIN = (2, 1, 112)  # not 2.1.96
READS_FIRST_OF_LINE = (2, 1, 126)  # not 2.1.112
BRIDGED = 5_000
"""Milliseconds: a line whose parent is nowhere hangs below the last line that is at most so much older, measured at 5,000 and 5,001."""
_LEADING = ("attachment", SYSTEM, "progress")
"""Types of lines besides messages by which a resume goes on to their parents: a line below any other one names a parent that is nowhere."""


@dataclass(frozen=True, slots=True)
class Loader:
    """`since`: the versions that load so. `version`: the one that was measured for them.

    From ENDS_LAST on the path ends with the last message of the file, before with the newest one. From JOINS on pieces of one answer with results between them are one message, from FETCHES on results of the chain's calls on other branches are read,
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
    loaded = tuple(entry for entry in loaded_entries(tree, loader.version) if leads_on(entry))
    # Of several lines with one id the last counts, in every version.
    by_id = {entry.id: entry for entry in loaded}
    leaf = _chosen(tree, loaded) or (last_message(loaded) if loader.version >= ENDS_LAST else _newest_message(loaded))
    bridged = _bridges(loaded, by_id, loader.version) if loader.version >= BRIDGES else {}
    chain, why = walk(by_id, leaf, lambda entry: bridged.get(entry.index) or _above(entry, by_id))
    if loader.version >= FETCHES:
        chain = tuple(_with_branches(chain, loaded))
    return tuple(_joined(chain)) if loader.version >= JOINS else chain, why


def loaded_entries(tree: Conversation, version: tuple[int, int, int] = READS_FIRST_OF_LINE) -> tuple[Entry, ...]:
    """Lines with an id, in the order of the file; of records that share a line only the first is read, and none before READS_FIRST_OF_LINE."""
    most = 1 if version >= READS_FIRST_OF_LINE else 0
    return tuple(entry for entry in entries(tree) if entry.id and place_on_line(entry) <= most)


def _bridges(loaded: Sequence[Entry], by_id: Mapping[str, Entry], version: tuple[int, int, int]) -> dict[int, str]:
    """Of each line whose parent is nowhere the id of the line that takes its place, by its index: the newest of those that are not newer."""
    lost = [entry for entry in loaded if entry.parent is not None and entry.parent not in by_id]
    bridges: dict[int, str] = {}
    by_side: dict[bool, list[tuple[int, int, str]]] = {}
    for entry in loaded if lost else ():
        if (at := entry.chunks[0].at) is not None:
            by_side.setdefault(version >= BRIDGES_MAIN and is_side(entry), []).append((at, entry.index, entry.id))
    for moments in by_side.values():
        moments.sort()
    for entry in lost:
        at = entry.chunks[0].at
        moments = by_side.get(version >= BRIDGES_MAIN and is_side(entry), [])
        place = bisect_left(moments, (at, entry.index, "")) if at is not None else 0
        if at is not None and place and at - moments[place - 1][0] <= BRIDGED:
            bridges[entry.index] = moments[place - 1][2]
    return bridges


def is_boundary(about: Mapping[str, Any]) -> bool:
    """Whether a line of these members is where a compaction begins the context again: nothing above it is sent."""
    return about.get("subtype") == BOUNDARY


def _above(entry: Entry, by_id: Mapping[str, Entry]) -> str | None:
    """The parent of a line; of a compaction's boundary, which names none, the line that it was put after, as far as the file holds it."""
    if not is_boundary(entry.about) or entry.parent is not None:
        return entry.parent
    before = entry.about.get("logicalParentUuid")
    return before if isinstance(before, str) and before in by_id else None


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


def last_message(loaded: Sequence[Entry]) -> Entry | None:
    """The last message: of the main conversation, or of the agent where the file is an agent's."""
    spoken_lines = [entry for entry in loaded if is_message(entry)]
    return next((entry for entry in reversed(spoken_lines) if not is_side(entry)), spoken_lines[-1] if spoken_lines else None)


def _newest_message(loaded: Sequence[Entry]) -> Entry | None:
    """By its time, the first of several, as versions before ENDS_LAST chose the end."""
    spoken_lines = [entry for entry in loaded if is_message(entry) and not is_side(entry)]
    return max(spoken_lines, key=lambda entry: entry.chunks[0].at or 0) if spoken_lines else last_message(loaded)


def is_message(entry: Entry) -> bool:
    """Whether the line holds a message, of whoever."""
    return bool(entry.chunks[0].role)


def leads_on(entry: Entry) -> bool:
    """Whether a resume goes on from the line to its parent."""
    return is_message(entry) or entry.type in _LEADING


def is_side(entry: Entry) -> bool:
    """Whether it is a line of an agent that the conversation started."""
    return entry.about.get("isSidechain") is True


def answer_of(entry: Entry) -> str:
    """The id of the answer that a line is a piece of; "" of every other line."""
    message = entry.about.get("message")
    id_ = message.get("id") if entry.chunks[0].role == ASSISTANT and isinstance(message, dict) else None
    return id_ if isinstance(id_, str) else ""


def results_in(entry: Entry) -> list[str]:
    return [chunk.call_id for chunk in entry.chunks if chunk.kind is Kind.TOOL_RESULT]


def calls_in(entry: Entry) -> list[str]:
    return [chunk.call_id for chunk in entry.chunks if chunk.kind is Kind.TOOL_CALL]


def has_results_only(entry: Entry) -> bool:
    return all(chunk.kind is Kind.TOOL_RESULT for chunk in entry.chunks)


def _chosen(tree: Conversation, loaded: Sequence[Entry]) -> Entry | None:
    leaf = tree.fact(LEAF)
    return next((entry for entry in loaded if entry.id == leaf), None) if leaf else None


def _with_branches(chain: Sequence[Entry], loaded: Sequence[Entry]) -> Iterable[Entry]:
    """The chain, and after each answer on it: its pieces that hang elsewhere, and results of its calls that the chain has none of."""
    on_chain, seen_ids = {entry.index for entry in chain}, {entry.id for entry in chain}
    others = [entry for entry in loaded if entry.index not in on_chain and entry.id not in seen_ids]
    if not others:
        yield from chain
        return
    place = {answer: number for number, entry in enumerate(chain) if (answer := answer_of(entry))}
    own = {entry.id: answer for entry in chain if (answer := answer_of(entry))}
    calls_at = {id_: place[answer_of(entry)] for entry in chain for id_ in calls_in(entry) if answer_of(entry)}
    calls_at |= {id_: number for number, entry in enumerate(chain) for id_ in calls_in(entry) if id_ not in calls_at}
    answered = {id_ for entry in chain for id_ in results_in(entry)}
    fetched: dict[int, list[Entry]] = {}
    side = is_side(chain[-1]) if chain else False
    for entry in others:
        if entry.id in seen_ids or is_side(entry) != side:
            continue
        answer = answer_of(entry)
        if answer in place and own.get(entry.parent or "") == answer and not any(id_ in calls_at for id_ in calls_in(entry)):
            fetched.setdefault(place[answer], []).append(entry)
            own[entry.id] = answer
            calls_at |= dict.fromkeys(calls_in(entry), place[answer])
            seen_ids.add(entry.id)
        elif has_results_only(entry) and (at := next((calls_at[id_] for id_ in results_in(entry) if id_ in calls_at), None)) is not None:
            if not answered.isdisjoint(results_in(entry)):
                continue
            fetched.setdefault(at, []).append(entry)
            answered.update(results_in(entry))
            seen_ids.add(entry.id)
    for number, entry in enumerate(chain):
        yield entry
        yield from fetched.get(number, ())


def _joined(chain: Iterable[Entry]) -> Iterable[Entry]:
    """Pieces of one answer next to each other, before the results that are between them."""
    answer, pieces, between = "", list[Entry](), list[Entry]()
    for entry in chain:
        own = answer_of(entry)
        if answer and own == answer:
            pieces.append(entry)
        elif answer and (has_results_only(entry) or not is_message(entry)):
            between.append(entry)
        else:
            yield from pieces
            yield from between
            answer, pieces, between = own, [entry], []
    yield from pieces
    yield from between
