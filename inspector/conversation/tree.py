"""Conversations that are trees: entries with parents, the path from a leaf to its root, and how much of a file it reaches.

A chunk of a tree says in `payload["entry"]` which entry it is a block of: `{"id", "parentId", "type", ...}`, the same mapping for all blocks of it;
its `msg_idx` is the line of the entry, so that chunks of one line are one entry. `Chunk.parent` is the `parentId` as stored.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Fact
from inspector.text.at_hand import AtHand
from inspector.text.light import MAPPING, light_dataclass

PATH = "path"
"""The fact of a conversation that is one path: the id of the entry that it ends with ("" where nothing is on it)."""
LEAF = "leaf"
"""The fact by which a person chooses another leaf than the client would."""


_COUNTING = re.compile(r"line:(\d{1,9})((?:/\d+)?)")


def spoken(key: str, line: int | None = None) -> str:
    """An id or key as a sentence says it: one that only counts lines from 0 as the line that editors and pages count from 1, others in quotes.

    `line`: that of the entry, counted from 0, where it is known; an id may itself look like a count.
    """
    counts = _COUNTING.fullmatch(key)
    if counts and line in (None, int(counts[1])):
        return f"line {int(counts[1]) + 1:,}{counts[2]}"
    return repr(key if len(key) <= 80 else f"{key[:80]}…")


NOTHING: Mapping[str, Any] = MappingProxyType({})


def about_of(chunk: Chunk) -> Mapping[str, Any]:
    """What the entry of a chunk keeps next to its content; NOTHING where it is of no entry."""
    about = chunk.payload.get("entry")
    return about if type(about) is dict or isinstance(about, MAPPING) else NOTHING


@light_dataclass(frozen=True, slots=True)
class Entry:
    """One line of the file. `id` is "" where it has none; `about` is what it keeps next to the message. `index` counts entries from 0."""

    index: int
    id: str
    parent: str | None
    type: str
    about: Mapping[str, Any]
    chunks: tuple[Chunk, ...]


# Readers and rules ask a dozen times for the entries of the same file and the same path, before and after a repair.
_ENTRIES: AtHand[tuple[Entry, ...]] = AtHand(4, alone=4)


def entries(conversation: Conversation) -> tuple[Entry, ...]:
    """In the order of the file; chunks without entry (lines that cannot be read) are left out."""
    return _ENTRIES.of(conversation.chunks, lambda: _entries(conversation.chunks))


def _entries(chunks: Sequence[Chunk]) -> tuple[Entry, ...]:
    all_entries: list[Entry] = []
    for about, record_chunks in _records(chunks):
        if about is not NOTHING:
            id_, parent, kind = about.get("id"), about.get("parentId"), about.get("type")
            all_entries.append(
                Entry(
                    len(all_entries),
                    id_ if isinstance(id_, str) else "",
                    parent if isinstance(parent, str) else None,
                    kind if isinstance(kind, str) else "",
                    about,
                    tuple(record_chunks),
                )
            )
    return tuple(all_entries)


def _records(chunks: Iterable[Chunk]) -> Iterable[tuple[Mapping[str, Any], list[Chunk]]]:
    """The chunks of each record, with what the first of them says about it. Records that share a line are entries of their own."""
    records: list[tuple[Mapping[str, Any], list[Chunk]]] = []
    line: int | None = None
    fused: Any = None
    for chunk in chunks:
        about = about_of(chunk)
        number = about.get("fused")
        if records and chunk.msg_idx == line and number == fused:
            records[-1][1].append(chunk)
        else:
            records.append((about, [chunk]))
            line, fused = chunk.msg_idx, number
    return records


def last_by_id(entries_of_file: Sequence[Entry]) -> dict[str, Entry]:
    """A later entry of the same id takes the place of the earlier one, as in the programs' maps."""
    return {entry.id: entry for entry in entries_of_file if entry.id}


def walk(
    by_id: Mapping[str, Entry], leaf: Entry | None, parent_of: Callable[[Entry], str | None] = attrgetter("parent")
) -> tuple[tuple[Entry, ...], str]:
    """The entries from the root to `leaf`, and why the walk ended early: "" | "dangling" | "cycle". Every entry is visited once."""
    path: list[Entry] = []
    seen_indexes: set[int] = set()
    entry, why = leaf, ""
    while entry is not None:
        if entry.index in seen_indexes:
            why = "cycle"
            break
        seen_indexes.add(entry.index)
        path.append(entry)
        name = parent_of(entry)
        parent = by_id.get(name) if name is not None else None
        if parent is None and name is not None:
            why = "dangling"
        entry = parent
    return tuple(reversed(path)), why


def chain_above(by_id: Mapping[str, Entry], leaf: Entry, below: int, dead: set[int]) -> list[Entry]:
    """The entries from the root to `leaf`, each on an earlier line than the one after it and than entry `below`; [] where they are not.

    `dead` gathers the entries that lead to no root, so that none of them is walked again.
    """
    chain: list[Entry] = []
    entry: Entry | None = leaf
    while entry is not None:
        if entry.index >= below or entry.index in dead:
            dead.update(dead_end.index for dead_end in chain)
            return []
        chain.append(entry)
        below = entry.index
        entry = by_id.get(entry.parent) if entry.parent is not None else None
    return chain[::-1]


def leaves(entries_of_file: Sequence[Entry]) -> tuple[Entry, ...]:
    """Entries that are nobody's parent, in the order of the file."""
    parents = {entry.parent for entry in entries_of_file if entry.parent is not None}
    return tuple(entry for entry in entries_of_file if not entry.id or entry.id not in parents)


def _at(entry: Entry, index: int) -> Entry:
    return Entry(index, entry.id, entry.parent, entry.type, entry.about, entry.chunks)


def as_path(conversation: Conversation, path: Iterable[Entry]) -> Conversation:
    """The conversation that holds only the chunks of these entries, in this order, and says so."""
    path_entries = tuple(path)
    chunks = tuple([chunk for entry in path_entries for chunk in entry.chunks])
    if all(above.chunks[0].msg_idx != below.chunks[0].msg_idx for above, below in pairwise(path_entries)):
        # What reading the path would find again.
        _ENTRIES.put(chunks, tuple([entry if entry.index == at else _at(entry, at) for at, entry in enumerate(path_entries)]))
    return replace(conversation, chunks=chunks, facts={**conversation.facts, PATH: Fact(PATH, path_entries[-1].id if path_entries else "")})
