"""Gives an entry whose parent is in no line that can be read the entry above that line for its parent, else the nearest earlier one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from inspector.conversation.edits import Edit, Insert, Replace, Safety
from inspector.conversation.tree import Entry, chain_above, entries, last_by_id
from inspector.programs.pi_openclaw.strategies.branches import key_of
from inspector.programs.pi_openclaw.torn_lines import torn_lines
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
        torn = {id_: line.parent for id_, line in torn_lines(case.tree.chunks).items()}
        for entry in _above(whole, by_id, torn, path[0].parent, places.get(key_of(path[0].chunks[0]), 0)):
            for chunk in entry.chunks:
                yield Insert(after, chunk)
                after = chunk.key
    for before, entry in pairwise(path):
        if entry.parent is not None and entry.parent not in known_ids and before.id:
            about = {**entry.about, "parentId": before.id}
            yield from (
                Replace(chunk, replace(chunk, payload={**chunk.payload, "entry": about}, parent=before.id)) for chunk in entry.chunks
            )


def _above(whole: Sequence[Entry], by_id: dict[str, Entry], torn: Mapping[str, str], parent: str | None, below: int) -> list[Entry]:
    """The chain of the entry that the torn line of the parent names, else of the nearest earlier entry; where its own root names a parent that is nowhere, so on
    from there.
    """
    chains: list[list[Entry]] = []
    dead: set[int] = set()
    earlier = reversed(whole)
    while parent is not None:
        named = by_id.get(torn.get(parent, ""))
        chain = chain_above(by_id, named, below, dead) if named else []
        while not chain:
            entry = next(earlier, None)
            if entry is None:
                return [entry for chain in reversed(chains) for entry in chain]
            # A parent needs an id, and a chain of its own that leads up.
            chain = chain_above(by_id, entry, below, dead) if entry.index < below and entry.id else []
        chains.append(chain)
        below, parent = chain[0].index, chain[0].parent
    return [entry for chain in reversed(chains) for entry in chain]


STRATEGY = Strategy(
    name="reparent-orphan-entry",
    safety=frozenset({Safety.INVENTED}),
    summary="gives an entry whose parent is in no line that can be read the entry above that line for its parent, else the nearest earlier one",
    cost="That the one entry follows the other is inferred from the order of the lines, unless what is left of the torn line between them says it. No words change.",
    user_visible_effect="The history before the gap is back, and the model knows it.",
    pros="Without it the model sees only the tail (one report: 5.2 percent of the entries reachable) and nothing says so. Lines are appended in order, so that the line before is the likeliest parent.",
    cons="With several branches the line before may belong to another one: a script that chained entries so made one session worse. Look at the tree first.",
    write_kind="W3",
    propose=propose,
    order=70,
)
