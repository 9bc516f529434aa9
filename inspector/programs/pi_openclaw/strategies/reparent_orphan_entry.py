"""Hangs an entry whose parent cannot be read below the entry that the torn line names, else below the nearest earlier one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from inspector.conversation.edits import Edit, Insert, Replace, Safety
from inspector.conversation.tree import Entry, chain_above, entries, last_by_id
from inspector.programs.pi_openclaw.rules.session_tree import key_of
from inspector.programs.pi_openclaw.torn_lines import torn_lines
from inspector.rules.base import Case
from inspector.strategies.base import CaseCost, Strategy


def propose(case: Case) -> Iterator[Edit]:
    """At the start of the path the hidden entries above come back; inside of it, where OpenClaw goes on from the leaf of that moment, the parent becomes that one."""
    path = entries(case.conversation)
    for entry, above, _ in _gaps(case):
        after: str | None = None
        if entry.index == path[0].index:
            for chunk in (chunk for hidden in above for chunk in hidden.chunks):
                yield Insert(after, chunk)
                after = chunk.key
            continue
        parent = above[-1].id
        for chunk in entry.chunks:
            about = {**entry.about, "parentId": parent}
            yield Replace(chunk, replace(chunk, payload={**chunk.payload, "entry": about}, parent=parent))


def _gaps(case: Case) -> Iterator[tuple[Entry, Sequence[Entry], bool]]:
    """Entries of the path whose parent cannot be read, each with the entries above it, the last of which becomes its parent, and whether what is left of a torn
    line says so.
    """
    if case.tree is None:
        return
    whole = tuple(entry for entry in entries(case.tree) if "fused" not in entry.about)
    by_id = last_by_id(whole)
    path = entries(case.conversation)
    places = {key_of(entry.chunks[0]): entry.index for entry in entries(case.tree)}
    # Some writers hang the first entry below the header: that is a root, and nothing was above it.
    known_ids = by_id.keys() | {entry.id for entry in path} | {case.conversation.fact("id")}
    torn = {id_: line.parent for id_, line in torn_lines(case.tree.chunks).items()}
    if path and path[0].parent is not None and path[0].parent not in known_ids:
        above, is_recorded = _above(whole, by_id, torn, path[0].parent, places.get(key_of(path[0].chunks[0]), 0))
        if above:
            yield path[0], above, is_recorded
    for before, entry in pairwise(path):
        if entry.parent is not None and entry.parent not in known_ids and before.id:
            yield entry, (before,), torn.get(entry.parent) == before.id


def _above(
    whole: Sequence[Entry], by_id: dict[str, Entry], torn: Mapping[str, str], parent: str | None, below: int
) -> tuple[list[Entry], bool]:
    """The chain of the entry that the torn line of the parent names, else of the nearest earlier entry; where its own root names a parent that is nowhere, so on
    from there. And whether torn lines named all of them.
    """
    chains: list[list[Entry]] = []
    dead: set[int] = set()
    earlier, is_recorded = reversed(whole), True
    while parent is not None:
        named = by_id.get(torn.get(parent, ""))
        chain = chain_above(by_id, named, below, dead) if named else []
        while not chain:
            entry, is_recorded = next(earlier, None), False
            if entry is None:
                return [entry for chain in reversed(chains) for entry in chain], False
            # A parent needs an id, and a chain of its own that leads up.
            chain = chain_above(by_id, entry, below, dead) if entry.index < below and entry.id else []
        chains.append(chain)
        below, parent = chain[0].index, chain[0].parent
    return [entry for chain in reversed(chains) for entry in chain], is_recorded


def _cost_of(case: Case) -> CaseCost | None:
    """Nothing is inferred where torn lines say it all."""
    gaps = [(entry.chunks[0].seq, above[-1].chunks[0].seq, is_recorded) for entry, above, is_recorded in _gaps(case)]
    if not gaps:
        return None
    links = ", ".join(f"seq {seq} hangs below seq {parent}" for seq, parent, _ in gaps[:_LINKS])
    more = f", and {len(gaps) - _LINKS:,} more" if len(gaps) > _LINKS else ""
    if all(is_recorded for _, _, is_recorded in gaps):
        return CaseCost(
            frozenset(), f"Nothing is inferred: what is left of the torn line says what was above it, so that {links}{more}. {_WORDS}"
        )
    return CaseCost(STRATEGY.safety, f"That {links}{more} is inferred from the order of the lines. {_WORDS}")


_WORDS = "No words change."
_LINKS = 3
"""New parents that a cost names."""
STRATEGY = Strategy(
    name="reparent-orphan-entry",
    safety=frozenset({Safety.INVENTED}),
    summary="hangs an entry whose parent cannot be read below the entry that the torn line names, else below the nearest earlier one",
    cost="Which entry is the parent is inferred from the order of the lines, unless what is left of the torn line says it. " + _WORDS,
    cost_of=_cost_of,
    safe_where="what is left of the torn line names the parent",
    user_visible_effect="Where the program stopped at the gap, the history before it is back, and the model knows it; the requests of OpenClaw 2026.9 stay the same.",
    pros="Where a program stops at the gap, as pi and OpenClaw before 2026.9 do, the model sees only the tail without it (one report: 5.2 percent of the entries reachable), and nothing says so. Lines are appended in order, so that the line before is the likeliest parent.",
    cons="With several branches the line before may belong to another one: a script that chained entries so made one session worse. Look at the tree first.",
    write_kind="W3",
    propose=propose,
    order=70,
)
