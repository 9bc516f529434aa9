"""Moves the pointer of a compaction to where no pair of call and result is cut."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Kind
from inspector.conversation.tree import Entry, entries, last_by_id, walk
from inspector.programs.pi_openclaw.readers.rows import PI
from inspector.programs.pi_openclaw.rules.session_tree import key_of
from inspector.rules.base import Case, answered
from inspector.strategies.arrangement import is_tree
from inspector.strategies.base import Strategy

POINTER = "firstKeptEntryId"


def propose(case: Case) -> Iterator[Edit]:
    """Only of the last compaction on the path, which is the one that counts.

    What no line holds cannot be kept, and every program keeps nothing then, so that the compaction names itself: what they read stays as it is.
    """
    path = entries(case.conversation) if is_tree(case) else ()
    bounds = ("compaction",) if case.conversation.format == PI else ("compaction", "reset")
    at = next((number for number in range(len(path) - 1, -1, -1) if path[number].type in bounds), None)
    if at is None or path[at].type != "compaction" or not isinstance(path[at].about.get(POINTER), str):
        return
    compaction = path[at]
    first = _first(case, path, at)
    # What it keeps may only begin at an entry that has an id to name; none is kept where it names itself.
    id_ = path[at if first is None else _whole(case, path, first, at)].id
    if id_ and id_ != compaction.about[POINTER]:
        about = {**compaction.about, POINTER: id_}
        yield from (Replace(chunk, replace(chunk, payload={**chunk.payload, "entry": about})) for chunk in compaction.chunks)


def _first(case: Case, path: Sequence[Entry], at: int) -> int | None:
    """Index on the path where the pointer leads: of an entry on another branch, after the fork. None where it is nowhere in the file."""
    places = {entry.id: number for number, entry in enumerate(path[: at + 1]) if entry.id}
    pointer = str(path[at].about[POINTER])
    if pointer in places or case.tree is None:
        return places.get(pointer)
    by_id = last_by_id(entries(case.tree))
    above, why = walk(by_id, by_id.get(pointer))
    fork = next((places[entry.id] for entry in reversed(above) if entry.id in places), None)
    return None if fork is None or why else min(fork + 1, at)


def _whole(case: Case, path: Sequence[Entry], first: int, at: int) -> int:
    """Back to the earliest call that a kept result answers; without one, forward past results of no call."""
    number = {key_of(chunk): place for place, entry in enumerate(path) for chunk in entry.chunks}
    owner = {result.key: number[key_of(answer.call)] for answer in answered(case) for result in answer.results}
    results = [chunk for entry in path[first:] for chunk in entry.chunks if chunk.kind is Kind.TOOL_RESULT]
    # Each call that comes back brings only results after it, and those of its own message: one look up the path is enough per step.
    while cut := [owner[chunk.key] for chunk in results if owner.get(chunk.key, first) < first]:
        lower = min(cut)
        results = [chunk for entry in path[lower:first] for chunk in entry.chunks if chunk.kind is Kind.TOOL_RESULT]
        first = lower
    while first < at and all(chunk.kind is Kind.TOOL_RESULT and chunk.key not in owner for chunk in path[first].chunks):
        first += 1
    return first


STRATEGY = Strategy(
    name="fix-compaction-pointer",
    safety=frozenset({Safety.INVENTED}),
    summary="moves the pointer of the last compaction back to the call of a result that it keeps, past results of no call, or onto the path; one that leads nowhere to the compaction itself",
    cost=(
        "One value in one line. The model gets a few messages more or less than the compaction meant to keep; of a pointer that is in no line none of them, "
        "which is what every program makes of it now."
    ),
    user_visible_effect="Nothing, but that the session answers again.",
    pros="A compaction that cuts between a call and its result makes every later request fail; with the pointer at the call the pair is whole, and no output is lost.",
    cons=(
        "The summary was written for another cut: what it says may now be there twice. Of a pointer to another branch the place after the fork is a guess. "
        "What a pointer that is in no line meant to keep is not known: it stays in the file and out of every request, and afterwards no rule says so any more."
    ),
    write_kind="W3",
    propose=propose,
    order=320,
)
