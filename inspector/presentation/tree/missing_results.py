"""Where the result of a call is that the path lacks: on another branch, on a line that no program reads, before its call, or nowhere."""

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import groupby

from inspector.conversation.model import Chunk, Kind
from inspector.presentation.tree.model import Branches, MissingResult, name_of, short
from inspector.presentation.visible import beginning

_NEAREST = 8
NOWHERE = "it is nowhere in the file"
NO_RESULT = "no result"


def find_missing(tree: Branches) -> None:
    """Calls of the path without a result after them on it, marked on both ends. A result below its call is its own, on whichever branch."""
    open_calls, early = _on_path(tree)
    elsewhere = _elsewhere(tree, {id_ for id_, calls in open_calls.items() if calls})
    missing = [
        MissingResult(chunk, index, *_result_place(tree, chunk, tree.place[index], tree.end[index], early, elsewhere))
        for calls in open_calls.values()
        for chunk, index in calls
    ]
    tree.missing = tuple(sorted(missing, key=lambda gap: gap.call.seq))
    path_nodes = set(tree.path)
    for node, together in groupby(tree.missing, key=lambda gap: gap.node if gap.result is None else None):
        if node is not None:
            _mark_nowhere(tree, node, list(together))
            continue
        for gap in together:
            _mark_both_ends(tree, gap, path_nodes)


def _mark_nowhere(tree: Branches, node: int, missing: Sequence[MissingResult]) -> None:
    """One mark for all such calls of one answer: an interrupted batch is one thing to look at."""
    more = len(missing) - 1
    calls = f"{_name(missing[0])}{f' and {more:,} more' if more else ''}"
    ended = tree.nodes[node].about.get("stopReason")
    ending = f"; the answer ended as {ended!r}, and newer programs leave it out" if ended in ("aborted", "error") else ""
    tree.mark(node, NO_RESULT, f"{calls} {'have' if more else 'has'} no result on this path: {missing[0].where}{ending}")


def _mark_both_ends(tree: Branches, gap: MissingResult, path_nodes: set[int]) -> None:
    name = _name(gap)
    tree.mark(gap.node, NO_RESULT, f"{name} has no result on this path: {gap.where}", gap.result)
    if gap.result is not None and gap.result not in path_nodes:
        text = f"it answers {name} of {name_of(tree, gap.node)}, and the path does not reach it"
        tree.mark(gap.result, "missing result", text, gap.node, is_damage=False)


def _name(missing: MissingResult) -> str:
    return f"{beginning(missing.call.tool_name, 40) or 'the call'} ({short(missing.call.call_id)})"


def _on_path(tree: Branches) -> tuple[dict[str, deque[tuple[Chunk, int]]], dict[str, int]]:
    """Calls without a result by their id, and the first result of an id that had no call open: where ids are used again, each call has its own."""
    open_calls: dict[str, deque[tuple[Chunk, int]]] = {}
    early: dict[str, int] = {}
    for index in tree.path:
        for chunk in tree.nodes[index].chunks:
            if chunk.kind is Kind.TOOL_CALL:
                open_calls.setdefault(chunk.call_id, deque()).append((chunk, index))
            elif chunk.kind is Kind.TOOL_RESULT:
                if waiting := open_calls.get(chunk.call_id):
                    waiting.popleft()
                else:
                    early.setdefault(chunk.call_id, index)
    return open_calls, early


def _elsewhere(tree: Branches, call_ids: set[str]) -> dict[str, tuple[list[int], list[int]]]:
    """By call id, the nodes off the path that contain a result of it, with their places in the order, ascending."""
    path_nodes = set(tree.path)
    result: dict[str, tuple[list[int], list[int]]] = {}
    for at, index in enumerate(tree.order):
        if index in path_nodes:
            continue
        for chunk in tree.nodes[index].chunks:
            if chunk.kind is Kind.TOOL_RESULT and chunk.call_id in call_ids:
                places, nodes = result.setdefault(chunk.call_id, ([], []))
                places.append(at)
                nodes.append(index)
    return result


def _result_place(
    tree: Branches, chunk: Chunk, at: int, end: int, early: Mapping[str, int], elsewhere: Mapping[str, tuple[list[int], list[int]]]
) -> tuple[int | None, str]:
    places, nodes = elsewhere.get(chunk.call_id, ([], []))
    first = bisect_right(places, at)
    below: Sequence[int] = [nodes[near] for near in range(first, min(first + _NEAREST, len(nodes))) if places[near] <= end]
    if below:
        index = next((candidate for candidate in below if tree.nodes[candidate].is_read), below[0])
        where = "on another branch" if tree.nodes[index].is_read else "on a line that no program reads"
        return index, f"it is {where}, {name_of(tree, index)}"
    if chunk.call_id in early:
        return early[chunk.call_id], f"it is before its call, {name_of(tree, early[chunk.call_id])}"
    if len(nodes) == 1:
        return nodes[0], f"one with its id is elsewhere, not below the call, {name_of(tree, nodes[0])}"
    return None, NOWHERE
