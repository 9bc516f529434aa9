"""Gives an entry whose parent is in no line that can be read the nearest earlier entry for its parent."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from inspector.conversation.edits import Edit, Insert, Replace, Safety
from inspector.conversation.tree import Entry, chain_above, entries, last_by_id
from inspector.programs.pi_openclaw.strategies.branches import key_of
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """At the start of the path the hidden entries above come back; inside of it, where OpenClaw goes on from the leaf of that moment, the parent becomes that one."""
    if case.tree is None:
        return
    whole = tuple(entry for entry in entries(case.tree) if "fused" not in entry.about)
    by_id = last_by_id(whole)
    path = entries(case.conversation)
    places = {key_of(entry.chunks[0]): entry.index for entry in entries(case.tree)}
    # Some writers hang the first entry below the header: that is a root, and nothing was above it.
    known_ids = by_id.keys() | {entry.id for entry in path} | {case.conversation.fact("id")}
    if path and path[0].parent is not None and path[0].parent not in known_ids:
        after: str | None = None
        for entry in _above(whole, by_id, places.get(key_of(path[0].chunks[0]), 0)):
            for chunk in entry.chunks:
                yield Insert(after, chunk)
                after = chunk.key
    for before, entry in pairwise(path):
        if entry.parent is not None and entry.parent not in known_ids and before.id:
            about = {**entry.about, "parentId": before.id}
            yield from (
                Replace(chunk, replace(chunk, payload={**chunk.payload, "entry": about}, parent=before.id)) for chunk in entry.chunks
            )


def _above(whole: Sequence[Entry], by_id: dict[str, Entry], below: int) -> list[Entry]:
    """The chain of the nearest earlier entry; where its own root names a parent that is nowhere, that of the nearest one before it, and so on."""
    chains: list[list[Entry]] = []
    dead: set[int] = set()
    for entry in reversed(whole):
        # A parent needs an id, and a chain of its own that leads up.
        chain = chain_above(by_id, entry, below, dead) if entry.index < below and entry.id else []
        if chain:
            chains.append(chain)
            below = chain[0].index
            if chain[0].parent is None:
                break
    return [entry for chain in reversed(chains) for entry in chain]


STRATEGY = Strategy(
    name="reparent-orphan-entry",
    safety=frozenset({Safety.INVENTED}),
    summary="gives an entry whose parent is in no line that can be read the nearest earlier entry for its parent",
    cost="That the one entry follows the other is inferred from the order of the lines: no line that can be read says so. No words change.",
    user_visible_effect="The history before the gap is back, and the model knows it.",
    pros="Without it the model sees only the tail (one report: 5.2 percent of the entries reachable) and nothing says so. Lines are appended in order, so that the line before is the likeliest parent.",
    cons="With several branches the line before may belong to another one: a script that chained entries so made one session worse. Look at the tree first.",
    write_kind="W3",
    propose=propose,
    order=70,
)
