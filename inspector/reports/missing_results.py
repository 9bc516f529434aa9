"""Where the result of a call really stands that the path lacks: on another branch, on a line that no program reads, before its call, or nowhere."""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import groupby

from inspector.conversation.model import Chunk, Kind
from inspector.reports.branch_model import Branches, Missing, name_of, short

_NEAREST = 8
NOWHERE = "it is nowhere in the file"
NO_RESULT = "no result"


def find_missing(found: Branches) -> None:
    """Calls of the path without a result after them on it, marked on both ends. A result below its call is its own, on whichever branch."""
    open_calls, early = _on_path(found)
    elsewhere = _elsewhere(found, {id_ for id_, calls in open_calls.items() if calls})
    missing = [
        Missing(chunk, index, *_stands(found, chunk, found.place[index], found.end[index], early, elsewhere))
        for calls in open_calls.values()
        for chunk, index in calls
    ]
    found.missing = tuple(sorted(missing, key=lambda each: each.call.seq))
    held = set(found.path)
    for node, together in groupby(found.missing, key=lambda each: each.node if each.result is None else None):
        if node is not None:
            _mark_nowhere(found, node, list(together))
            continue
        for each in together:
            _mark_both_ends(found, each, held)


def _mark_nowhere(found: Branches, node: int, missing: Sequence[Missing]) -> None:
    """One mark for all such calls of one answer: an interrupted batch is one thing to look at."""
    more = len(missing) - 1
    calls = f"{_name(missing[0])}{f' and {more:,} more' if more else ''}"
    ended = found.nodes[node].about.get("stopReason")
    said = f"; the answer ended as {ended!r}, and newer programs leave it out" if ended in ("aborted", "error") else ""
    found.mark(node, NO_RESULT, f"{calls} {'have' if more else 'has'} no result on this path: {missing[0].where}{said}")


def _mark_both_ends(found: Branches, each: Missing, held: set[int]) -> None:
    name = _name(each)
    found.mark(each.node, NO_RESULT, f"{name} has no result on this path: {each.where}", each.result)
    if each.result is not None and each.result not in held:
        said = f"it answers {name} of {name_of(found, each.node)}, and the path does not reach it"
        found.mark(each.result, "missing result", said, each.node, is_damage=False)


def _name(missing: Missing) -> str:
    return f"{missing.call.tool_name[:40] or 'the call'} ({short(missing.call.call_id)})"


def _on_path(found: Branches) -> tuple[dict[str, deque[tuple[Chunk, int]]], dict[str, int]]:
    """Calls without a result by their id, and the first result of an id that had no call open: where ids are used again, each call has its own."""
    open_calls: dict[str, deque[tuple[Chunk, int]]] = {}
    early: dict[str, int] = {}
    for index in found.path:
        for chunk in found.nodes[index].chunks:
            if chunk.kind is Kind.TOOL_CALL:
                open_calls.setdefault(chunk.call_id, deque()).append((chunk, index))
            elif chunk.kind is Kind.TOOL_RESULT:
                if waiting := open_calls.get(chunk.call_id):
                    waiting.popleft()
                else:
                    early.setdefault(chunk.call_id, index)
    return open_calls, early


def _elsewhere(found: Branches, wanted: set[str]) -> dict[str, tuple[list[int], list[int]]]:
    """By call id, the nodes off the path that hold a result of it, with their places in the order, ascending."""
    held = set(found.path)
    result: dict[str, tuple[list[int], list[int]]] = {}
    for at, index in enumerate(found.order):
        if index in held:
            continue
        for chunk in found.nodes[index].chunks:
            if chunk.kind is Kind.TOOL_RESULT and chunk.call_id in wanted:
                places, nodes = result.setdefault(chunk.call_id, ([], []))
                places.append(at)
                nodes.append(index)
    return result


def _stands(
    found: Branches, chunk: Chunk, at: int, end: int, early: Mapping[str, int], elsewhere: Mapping[str, tuple[list[int], list[int]]]
) -> tuple[int | None, str]:
    places, nodes = elsewhere.get(chunk.call_id, ([], []))
    first = bisect_right(places, at)
    below: Sequence[int] = [nodes[near] for near in range(first, min(first + _NEAREST, len(nodes))) if places[near] <= end]
    if below:
        index = next((each for each in below if found.nodes[each].is_read), below[0])
        where = "on another branch" if found.nodes[index].is_read else "on a line that no program reads"
        return index, f"it stands {where}, {name_of(found, index)}"
    if chunk.call_id in early:
        return early[chunk.call_id], f"it stands before its call, {name_of(found, early[chunk.call_id])}"
    if len(nodes) == 1:
        return nodes[0], f"one with its id stands elsewhere, not below the call, {name_of(found, nodes[0])}"
    return None, NOWHERE
