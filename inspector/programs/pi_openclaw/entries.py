"""The entries of a session file as chunks: the file is read as pi would migrate it, and nothing of it is changed.

Version 1 has no ids: pi chains its lines in order under random ids; here the id of such an entry is `line:N`, so that it stays the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any

from inspector.conversation.model import Chunk, Kind, Span
from inspector.programs.pi_openclaw.blocks import message_blocks, plain_text
from inspector.programs.pi_openclaw.lines import HEADER, NO_ID, Place, keeps_ids, scan
from inspector.text.at_hand import AtHand
from inspector.text.json_lines import BOM, NOT_UTF8, RecordPart, SessionLine
from inspector.text.shelf import shelved
from inspector.text.timestamps import milliseconds

_NEVER_ABOUT = ("content", "output", "command", "summary")
_WORDS = {"compaction": "summary", "branch_summary": "summary", "label": "label", "session_info": "name"}
_REPEATED = frozenset(("type", "role", "api", "provider", "model", "stopReason", "toolName"))
"""Members with the same few words in most entries."""
_IN_MEMORY_OF_ENTRIES = (
    *("id", "parentId", "type", "role", "fused", "provider"),
    *("api", "model", "stopReason", "appendMode", "excludeFromContext"),
)
_IN_MEMORY_OF_PAYLOADS = ("entry", "toolCallId", "toolName", "stepId", "isError", "wire", "spelling")
"""Members that are in memory even where a long file's others are not: the path is walked by them, and calls are compared by them."""
_YEAR_3000 = 32_503_680_000_000


@dataclass(slots=True)
class ParsedSession:
    """One file: its header ({} where it has none), all its chunks, the entries themselves, and the lines in each state by their index.

    An entry is the mapping that its chunks hold under `entry`: the fields of its line and of its message, without the content; `fused` is
    the number of a record that shares its line with others, which no program reads.
    """

    header: Mapping[str, Any] = field(default_factory=dict)
    chunks: list[Chunk] = field(default_factory=list)
    entries: list[Mapping[str, Any]] = field(default_factory=list)
    states: dict[str, list[int]] = field(default_factory=dict)
    lines: int = 0
    bom: bool = False
    crlf: int = 0
    ended: bool = True
    begins_with_header: bool = False


@dataclass(slots=True)
class _Progress:
    """What a line needs to know of those before it. `places` are the ids by the index that version 1 counts with, header included."""

    session: ParsedSession
    begun: bool = False
    foreign: bool = False
    """Whether a line of JSON that is no object comes first: the programs take it for the header that it is not."""
    chained: bool = False
    last: str | None = None
    last_id: Any = None
    """Of the entry before, which nearly every entry has for its parent: one text in memory for both."""
    places: list[str | None] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    def copy(self) -> "_Progress":
        old = self.session
        states = {name: list(indexes) for name, indexes in old.states.items()}
        session = replace(old, chunks=list(old.chunks), entries=list(old.entries), states=states)
        return replace(self, session=session, places=list(self.places), counts=dict(self.counts), keys=set(self.keys))


# A repair reads its file as it is stored, to write it, after the write, and as its preview has it: the second is the first with more lines, or the same.
_READ: AtHand[tuple[_Progress, Place]] = AtHand(2)


def read_session(data: bytes) -> ParsedSession:
    """Everything of the file, in one pass over its lines; of one that begins with a whole file that was read just now, over the lines after that."""
    for known, (read, at) in _READ:
        if data == known:
            # Asked for again, it stays at hand: each repair that is tried is written next to this one file.
            _READ.put(known, (read, at))
            return replace(read.session)
        if known.endswith(b"\n") and data.startswith(known):
            return _read_on(data, read.copy(), at.copy())
    return _read_on(data, _Progress(ParsedSession(bom=data.startswith(BOM))), Place())


def _read_on(data: bytes, progress: _Progress, place: Place) -> ParsedSession:
    session = progress.session
    session.ended = data.endswith(b"\n") or not data
    for line in scan(data, place):
        session.lines += 1
        session.crlf += line.raw.endswith(b"\r")
        for state in line.states:
            session.states.setdefault(state, []).append(line.index)
        raw: Any = Span(data, line.offset, line.offset + len(line.raw))
        for part in line.parts:
            session.chunks += _chunks(line, part, progress, raw)
    _READ.put(data, (progress, place))
    # Who asks may set another list in its place: what is at hand stays as it was read.
    return replace(session)


def moment(value: Any) -> int | None:
    """Epoch milliseconds of an ISO time or of a number of them; None for what is no time."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if 0 < value < _YEAR_3000 else None
    return milliseconds(value)


def _chunks(line: SessionLine, part: RecordPart, progress: _Progress, raw: bytes) -> list[Chunk]:
    session, value = progress.session, part.value
    place = f"line:{line.index}" + (f"/{part.number}" if part.number else "")
    first = len(session.chunks) + 1
    if value is None:
        if not part.number and part.damage == "not-object":
            progress.places.append(None)
            progress.foreign = progress.foreign or not progress.begun
        return [_unreadable(place, first, line, part, raw)]
    begins, progress.begun = not progress.begun, True
    if begins:
        is_header = value.get("type") == HEADER
        progress.chained = not keeps_ids(value) if is_header else not isinstance(value.get("id"), str)
        if is_header:
            session.header, session.begins_with_header = value, not (part.number or progress.foreign)
            progress.places.append(None)
            return []
    if value.get("type") == HEADER:
        progress.places.append(None)
        return [Chunk(f"{place}.0", first, "", Kind.CONTROL, {"type": "control", "header": value}, line.index, None, raw)]
    entry = _entry(value, place, part, progress)
    if part.number:
        entry["fused"] = part.number
    else:
        progress.places.append(_id(entry) or None)
    if NOT_UTF8 in line.states:
        entry["notUtf8"] = True
    kept_entry = shelved(entry, _IN_MEMORY_OF_ENTRIES)
    session.entries.append(kept_entry)
    return _of_entry(kept_entry, value, _key(entry, place, part, progress), first, line, raw)


def _unreadable(place: str, seq: int, line: SessionLine, part: RecordPart, raw: bytes) -> Chunk:
    torn = "" if line.ended else "; the file ends in it, without a line end"
    reason = f"{part.reason}, in the line at byte {line.offset:,}{torn}"
    return Chunk(f"{place}.0", seq, "", Kind.UNREADABLE, {}, line.index, None, raw, part.damage, reason)


def _entry(value: Mapping[str, Any], place: str, part: RecordPart, progress: _Progress) -> dict[str, Any]:
    message = value.get("message")
    is_message = value.get("type") == "message" and isinstance(message, dict)
    entry: dict[str, Any] = {intern(name): _shared(name, item) for name, item in value.items() if not (is_message and name == "message")}
    if progress.last_id is not None and entry.get("parentId") == progress.last_id:
        entry["parentId"] = progress.last_id
    progress.last_id = entry.get("id")
    if progress.chained:
        # Pi overwrites whatever ids a file of version 1 has.
        entry |= {f"stored{name[0].upper()}{name[1:]}": value[name] for name in ("id", "parentId") if name in value}
        entry |= {"id": place, "parentId": progress.last}
        # It never parsed a fused line, and so its chain goes on after it.
        progress.last = progress.last if part.number else place
        index = value.get("firstKeptEntryIndex")
        if value.get("type") == "compaction" and isinstance(index, int) and 0 <= index < len(progress.places):
            entry["firstKeptEntryId"] = progress.places[index]
    if is_message and isinstance(message, dict):
        more = {}
        for name, item in message.items():
            if name == "timestamp":
                entry["messageTimestamp"] = item
            elif name in entry:
                more[name] = item
            elif name not in _NEVER_ABOUT:
                entry[intern(name)] = _shared(name, item)
        if more:
            entry["more"] = more
    return entry


def _shared(name: str, value: Any, levels: int = 3) -> Any:
    """The same value with names and words that all entries share: JSON makes them for each line, which is a third of what an entry takes."""
    if type(value) is dict and levels:
        return {intern(inner): _shared(inner, item, levels - 1) for inner, item in value.items()}
    return intern(value) if name in _REPEATED and type(value) is str else value


def _id(entry: Mapping[str, Any]) -> str:
    value = entry.get("id")
    return value if isinstance(value, str) else ""


def _key(entry: Mapping[str, Any], place: str, part: RecordPart, progress: _Progress) -> str:
    """The id; `#2` after it for the second entry that has it. Ids may look like that themselves, so that every key is tried."""
    key = base = place if part.number else _id(entry) or place
    while key in progress.keys:
        progress.counts[base] = progress.counts.get(base, 1) + 1
        key = f"{base}#{progress.counts[base]}"
    progress.keys.add(key)
    return key


def _of_entry(entry: Mapping[str, Any], value: Mapping[str, Any], key: str, first: int, line: SessionLine, raw: bytes) -> list[Chunk]:
    parent = entry.get("parentId")
    at = moment(entry.get("messageTimestamp"))
    at = moment(entry.get("timestamp")) if at is None else at

    def chunk(
        place: int, role: str, kind: Kind, payload: Mapping[str, Any], damage: str = "", reason: str = "", index: int | None = None
    ) -> Chunk:
        return Chunk(
            *(f"{key}.{place}", first + place, role, kind, shelved(payload, _IN_MEMORY_OF_PAYLOADS, entry=entry), line.index, index, raw),
            *(damage, reason, at, parent if isinstance(parent, str) else None),
        )

    message = value.get("message")
    # Such a line is read where it is the last one, and nowhere else.
    reason = f"it has no id, in the line at byte {line.offset:,}" if NO_ID in line.states and not _id(entry) else ""
    damage = NO_ID if reason else ""
    if entry.get("type") != "message":
        # Without an index of a block, so that no reader of true messages takes an entry between two messages for one.
        return [chunk(0, "", Kind.CONTROL, {"type": "control", **_words(entry)}, damage, reason)]
    if not isinstance(message, dict):
        return [chunk(0, "", Kind.UNREADABLE, {}, "wrong-type", f"its message is no object, in the line at byte {line.offset:,}")]
    return [
        chunk(place, block.role, block.kind, block.payload, block.damage or damage, block.reason or reason, place)
        for place, block in enumerate(message_blocks(message))
    ]


def _words(entry: Mapping[str, Any]) -> dict[str, str]:
    kind = entry.get("type")
    if kind == "custom_message":
        words: Any = plain_text(entry.get("content"))
    else:
        words = entry.get(_WORDS[kind]) if isinstance(kind, str) and kind in _WORDS else None
    return {"text": words} if isinstance(words, str) and words else {}


__all__ = ["ParsedSession", "moment", "read_session"]
