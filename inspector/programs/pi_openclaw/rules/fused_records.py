"""Records that share a line with others and belong on the path: no program reads them, and the path names them or goes on in them."""

from collections.abc import Mapping, Sequence

from inspector.conversation.tree import Entry, chain_above, entries, last_by_id
from inspector.rules.base import Case, cached_per_case

Place = tuple[str | None, Sequence[Entry]]
"""The key of the chunk after which they belong (None = before all), and the records."""


@cached_per_case
def coming_back(case: Case) -> tuple[Place, ...]:
    """Where an entry of the path names one of them for its parent, and after the end of the path where one goes on from it.

    Inside of the path that is so where OpenClaw, which finds no such parent, goes on from the leaf of that moment. Others belong to other branches.
    """
    whole = entries(case.tree) if case.tree else ()
    fused = [entry for entry in whole if "fused" in entry.about]
    path = entries(case.conversation)
    if not fused or not path:
        return ()
    by_id = {**last_by_id(fused), **last_by_id([entry for entry in whole if "fused" not in entry.about])}
    ids = {entry.id for entry in path}
    on_path = {entry.chunks[0].key for entry in path}
    places = {entry.chunks[0].key: entry.index for entry in whole}
    gathered: list[Place] = []
    after: str | None = None
    for entry in path:
        # A line may be the parent of several entries that the path was led over: its records come back before the first of them.
        above = _above(by_id, entry, places.get(entry.chunks[0].key, len(whole)), on_path)
        gathered.append((after, above))
        on_path |= {record.chunks[0].key for record in above}
        ids |= {record.id for record in above}
        after = entry.chunks[-1].key
    tail: list[Entry] = []
    last, line = path[-1], path[-1].chunks[0].msg_idx or 0
    # In the order of the file: a record that goes on from one of these comes after it.
    for entry in fused:
        if entry.parent == last.id and last.id and entry.id and entry.id not in ids and (entry.chunks[0].msg_idx or 0) > line:
            tail.append(entry)
            last = entry
            ids.add(entry.id)
    gathered.append((case.conversation.chunks[-1].key, tail))
    return tuple(place for place in gathered if place[1])


def _above(by_id: Mapping[str, Entry], entry: Entry, place: int, on_path: set[str]) -> list[Entry]:
    """What is between the entry and what is on the path already, where its parent is a record that shares its line."""
    parent = by_id.get(entry.parent) if entry.parent is not None else None
    if parent is None or "fused" not in parent.about or parent.chunks[0].key in on_path:
        return []
    chain = chain_above(by_id, parent, place, set())
    last_on_path = next((at for at in range(len(chain) - 1, -1, -1) if chain[at].chunks[0].key in on_path), -1)
    return chain[last_on_path + 1 :]
