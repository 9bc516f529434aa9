"""Brings records back that share a line with others, which no program reads."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Insert
from inspector.conversation.model import Chunk
from inspector.conversation.tree import Entry, entries, last_by_id
from inspector.detectors.base import Case
from inspector.repairs.base import Strategy
from inspector.repairs.branches import chain_above


def propose(case: Case) -> Iterator[Edit]:
    """Where the first entry of the path names one of them for its parent, and behind the end of the path where one goes on from it.

    Others belong to other branches. Each is written as a line of its own; the line that they share stays, and is read by nobody, as before.
    """
    whole = entries(case.tree) if case.tree else ()
    fused = [entry for entry in whole if "fused" in entry.about]
    path = entries(case.conversation)
    if not fused or not path:
        return
    by_id = {**last_by_id(fused), **last_by_id([entry for entry in whole if "fused" not in entry.about])}
    ids = {entry.id for entry in path}
    yield from _inserts(None, _above(whole, by_id, path[0]))
    behind: list[Entry] = []
    last, line = path[-1], path[-1].chunks[0].msg_idx or 0
    # In the order of the file: a record that goes on from one of these comes behind it.
    for entry in fused:
        if entry.parent == last.id and last.id and entry.id and entry.id not in ids and (entry.chunks[0].msg_idx or 0) > line:
            behind.append(entry)
            last = entry
            ids.add(entry.id)
    yield from _inserts(case.conversation.chunks[-1].key, behind)


def _above(whole: tuple[Entry, ...], by_id: dict[str, Entry], first: Entry) -> list[Entry]:
    own = next((entry.index for entry in whole if entry.chunks[0].key == first.chunks[0].key), len(whole))
    parent = by_id.get(first.parent) if first.parent is not None else None
    return chain_above(by_id, parent, own, set()) if parent is not None and "fused" in parent.about else []


def _inserts(after: str | None, found: list[Entry]) -> Iterator[Edit]:
    chunks: list[Chunk] = [chunk for entry in found for chunk in entry.chunks]
    for chunk in chunks:
        yield Insert(after, chunk)
        after = chunk.key


STRATEGY = Strategy(
    name="split-fused-line",
    safety=frozenset(),
    summary="brings back the records of a line that holds two of them, where the path names them or goes on in them",
    cost="No content changes: records that were hidden are on the path again, with what stood above them.",
    noticed_by_user="Messages that had vanished are back, and the model knows them.",
    argued_for="Both records are whole; only the line end between them is missing, which pi up to 0.84.3 left out behind a file without one.",
    argued_against="What was said after the loss was said without these messages. Where the program went on from an older entry they are a branch of their own, and are left there.",
    write_kind="W3",
    propose=propose,
    beyond_dispatch=True,
)
