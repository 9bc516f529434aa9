"""Messages that a compaction keeps by naming them: their lines are before its boundary, and a resume hangs them below the line that it names for them.

Measured with 2.1.75, 2.1.86, 2.1.112, 2.1.200 and 2.1.332 (`tests/published_programs/claude_code.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inspector.conversation.tree import Entry
from inspector.programs.claude_code.lines import BOUNDARY, SPOKEN, SYSTEM

KEEPS = (2, 1, 86)  # not 2.1.75
KEEPS_LISTED = (2, 1, 200)  # not 2.1.112
SEGMENT, LISTED = "preservedSegment", "preservedMessages"


@dataclass(frozen=True, slots=True)
class Kept:
    """`ids` of the messages that the last compaction keeps, in their order; `parents`: ids of lines that a resume hangs below another line than the one that
    they name; `gone`: ids of the lines that it does not load."""

    ids: tuple[str, ...] = ()
    parents: Mapping[str, str] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()


NONE = Kept()


def is_boundary(about: Mapping[str, object]) -> bool:
    """Whether a line of these members is where a compaction begins the context again: nothing above it is sent but what it keeps."""
    return about.get("subtype") == BOUNDARY


def kept(by_id: Mapping[str, Entry], version: tuple[int, int, int]) -> Kept:
    """`by_id`: lines in the order in which their ids come first. Where a name leads nowhere, nothing is kept."""
    if version < KEEPS:
        return NONE
    boundaries = [(place, entry) for place, entry in enumerate(by_id.values()) if entry.type == SYSTEM and is_boundary(entry.about)]
    keeping = [entry for _, entry in boundaries if keeps(entry, version)]
    if not keeping:
        return NONE
    end, newest = boundaries[-1]
    ids: tuple[str, ...] = ()
    anchor = ""
    if keeping[-1] is newest:
        named = _named(newest, by_id, version)
        if named is None:
            return NONE
        ids, anchor = named
    gone = frozenset(list(by_id)[:end]).difference(ids)
    return Kept(ids, _parents(by_id, ids, anchor, gone, version), gone)


def keeps(boundary: Entry, version: tuple[int, int, int] = KEEPS_LISTED) -> bool:
    about = _about(boundary)
    return bool(about.get(SEGMENT) or (version >= KEEPS_LISTED and about.get(LISTED)))


def kept_ids(boundary: Entry) -> list[str]:
    """All ids that a compaction names, of messages or of the line that they are to hang below."""
    about = _about(boundary)
    values: list[object] = [about.get(SEGMENT), about.get(LISTED)]
    ids: list[str] = []
    while values:
        value = values.pop()
        if isinstance(value, str):
            ids.append(value)
        elif isinstance(value, Mapping):
            values += [item for name, item in value.items() if "uuid" in str(name).lower()]
        elif isinstance(value, Sequence):
            values += value
    return ids


def _about(boundary: Entry) -> Mapping[str, object]:
    about = boundary.about.get("compactMetadata")
    return about if isinstance(about, Mapping) else {}


def _named(boundary: Entry, by_id: Mapping[str, Entry], version: tuple[int, int, int]) -> tuple[tuple[str, ...], str] | None:
    """The ids of what is kept, and of the line that they hang below; None where a name leads nowhere."""
    about = _about(boundary)
    listed, segment = about.get(LISTED) if version >= KEEPS_LISTED else None, about.get(SEGMENT)
    if isinstance(listed, Mapping):
        uuids = listed.get("uuids")
        ids = tuple(map(str, uuids)) if isinstance(uuids, list | tuple) else ()
        return (ids, str(listed.get("anchorUuid"))) if all(id_ in by_id for id_ in ids) else None
    if not isinstance(segment, Mapping):
        return None
    chain: dict[str, None] = {}
    entry = by_id.get(str(segment.get("tailUuid")))
    while entry is not None and entry.id not in chain:
        chain[entry.id] = None
        if entry.id == segment.get("headUuid"):
            return tuple(reversed(chain)), str(segment.get("anchorUuid"))
        entry = by_id.get(entry.parent) if entry.parent is not None else None
    return None


def _parents(
    by_id: Mapping[str, Entry], ids: Sequence[str], anchor: str, gone: frozenset[str], version: tuple[int, int, int]
) -> dict[str, str]:
    """What is kept hangs below the anchor, one below the other, and what hung below the anchor, or below a line that is gone, below the last of them."""
    if not ids:
        return {}
    parents = dict(zip(ids, (anchor, *ids), strict=False))
    for entry in by_id.values():
        is_left = version >= KEEPS_LISTED and entry.type in SPOKEN and entry.parent in gone
        if (entry.parent == anchor and entry.id not in parents) or (is_left and entry.id not in gone and entry.id not in parents):
            parents[entry.id] = ids[-1]
    return parents
