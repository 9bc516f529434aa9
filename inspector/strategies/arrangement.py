"""Chunks in another order or number, as edits: what every strategy shares that moves, joins or inserts outside of Dispatch."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.conversation.edits import Edit, Insert, Remove, apply, between
from inspector.conversation.model import Chunk
from inspector.conversation.numbering import is_stored
from inspector.programs.registry import wire_of
from inspector.projections.base import AI_SDK, ANTHROPIC, BEDROCK, GEMINI
from inspector.rules.base import Case
from inspector.strategies.insertion import inserted
from inspector.strategies.numbering import renumbered

_BATCHED = (ANTHROPIC, BEDROCK, GEMINI, AI_SDK)
"""Wire shapes in which the results of one batch are in one message."""
_WITH_USER_TEXT = (ANTHROPIC, BEDROCK)
"""Of these, the ones in which the user's words may follow results in the same message."""


def by_message(case: Case) -> bool:
    return case.program.numbering.by_message


def is_tree(case: Case) -> bool:
    return case.program.numbering.by_place


def entry_of(chunk: Chunk) -> dict[str, Any]:
    """What a payload must keep that says something else from now on: which entry of the file it is a block of."""
    return {"entry": chunk.payload["entry"]} if is_stored(chunk) else {}


def arranged(case: Case, chunks: Sequence[Chunk]) -> Iterator[Edit]:
    """The edits that give the conversation exactly `chunks`, numbered again; the fewest chunks that change places come as new ones (`moved:KEY`)."""
    moved = _moved(case.conversation.chunks, chunks)
    named = tuple(replace(chunk, key=f"moved:{chunk.key}") if chunk.key in moved else chunk for chunk in chunks)
    yield from between(case.conversation, renumbered(replace(case.conversation, chunks=named)))


def _moved(before: Sequence[Chunk], after: Sequence[Chunk]) -> set[str]:
    """Keys outside of the longest run of chunks whose order is kept."""
    place = {chunk.key: number for number, chunk in enumerate(before)}
    order = [place[chunk.key] for chunk in after if chunk.key in place]
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for number, at in enumerate(order):
        length = bisect_left(ends, at)
        previous.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(at)
            last.append(number)
        else:
            ends[length], last[length] = at, number
    kept_places: set[int] = set()
    number = last[-1] if last else -1
    while number >= 0:
        kept_places.add(order[number])
        number = previous[number]
    return {before[at].key for at in order if at not in kept_places}


def placed(case: Case, results: Sequence[tuple[str, Chunk]], without: Mapping[str, Chunk]) -> Iterator[Edit]:
    """`results`, each after the chunk with the key next to it, in messages as the shape of the conversation wants them; `without` goes first.

    Several results after one chunk keep their order. Keys of `results` must be new. Where the chunk itself goes, what is before it counts:
    two results may each be in the other's place.
    """
    results = list(_after_stored(case, results, without))
    if by_message(case):
        base = case.conversation
        cleared = case.with_conversation(apply(base, [Remove(chunk) for chunk in without.values()]))
        final = apply(cleared.conversation, inserted(cleared, [(after, (chunk,)) for after, chunk in results]))
        yield from between(base, final)
        return
    if case.program.repairs.place_results is not None:
        yield from case.program.repairs.place_results(case, results, without)
        return
    wire = wire_of(case.conversation.format)
    results_after: dict[str, list[Chunk]] = {}
    for after, chunk in results:
        results_after.setdefault(after, []).append(chunk)
    remaining = [chunk for chunk in case.conversation.chunks if chunk.key not in without]
    spare = max((chunk.msg_idx or 0 for chunk in (*remaining, *(case.tree.chunks if case.tree else ()))), default=0)
    edits: list[Edit] = [Remove(chunk) for chunk in without.values()]
    for number, chunk in enumerate(remaining):
        spare += 1
        new = results_after.get(chunk.key)
        if new is None:
            continue
        following = remaining[number + 1] if number + 1 < len(remaining) else None
        shared = _shared_number(wire, chunk, following)
        for at, result in enumerate(new):
            number_of_message: int | None = shared if shared is not None else spare
            if is_tree(case) and is_stored(result):
                # What moves is still the line that it was.
                number_of_message = result.msg_idx
            if wire not in _BATCHED:
                spare += 1
            edits.append(Insert(chunk.key if at == 0 else new[at - 1].key, replace(result, msg_idx=number_of_message)))
    yield from between(case.conversation, renumbered(apply(case.conversation, edits)))


def _after_stored(case: Case, results: Sequence[tuple[str, Chunk]], without: Mapping[str, Chunk]) -> Iterator[tuple[str, Chunk]]:
    stays: dict[str, str] = {}
    last = ""
    for chunk in case.conversation.chunks:
        if chunk.key not in without:
            last = chunk.key
        stays[chunk.key] = last
    for after, chunk in results:
        yield stays.get(after, after) or after, chunk


def _shared_number(wire: str, before: Chunk, following: Chunk | None) -> int | None:
    """The number of the message that a result after `before` joins; None where it is one of its own."""
    if wire in _BATCHED and before.role == "tool":
        return before.msg_idx
    if wire in _BATCHED and following is not None and following.role == "tool":
        return following.msg_idx
    if wire in _WITH_USER_TEXT and following is not None and following.role == "user":
        return following.msg_idx
    return None


def speaker(case: Case, chunk: Chunk) -> str:
    """Whose message the chunk is in, as its shape sees it: to Anthropic and Bedrock a result is part of the user's message."""
    wire = wire_of(case.conversation.format)
    return "user" if chunk.role == "tool" and wire in _WITH_USER_TEXT else chunk.role
