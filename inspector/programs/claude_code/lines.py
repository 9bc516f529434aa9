"""The lines of a Claude Code session as chunks: one content block a line, and what is kept next to it.

A line of type `user` or `assistant` holds a message of Anthropic's shape; all other lines are settings, records of the program, or progress.
Facts: `formats/claude_code_codex.md` 1, measured on recorded sessions of 1.0.0 to 2.1.330.
"""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any

from inspector.conversation.model import Chunk, Kind, Span
from inspector.text import json_lines
from inspector.text.at_hand import AtHand
from inspector.text.json_lines import NOT_UTF8, RecordPart, RecordStart, SessionLine
from inspector.text.shelf import shelved
from inspector.text.surrogates import without_surrogates
from inspector.text.timestamps import milliseconds
from inspector.wires.shapes import anthropic
from inspector.wires.shapes.base import WireBlock

USER, ASSISTANT, SYSTEM = "user", "assistant", "system"
SPOKEN = (USER, ASSISTANT)
SYNTHETIC = "<synthetic>"
"""The model that the program names on lines of its own."""
"""Types of lines that hold a message."""
BOUNDARY = "compact_boundary"
HALVES = "half-characters"
"""State of a line with half a character, which only an escape can spell."""
START = RecordStart(
    re.compile(r'\{\s*"(?:parentUuid|type|sessionId|messageId|isSidechain)"\s*:'),
    # A block has a type too, but neither a session nor a place in one.
    lambda value: isinstance(value.get("type"), str) and any(name in value for name in ("uuid", "sessionId", "leafUuid", "snapshot")),
)
_LARGE = frozenset(
    ("message", "toolUseResult", "snapshot", "shape", "data", "attachment", "params", "hookInfos", "todos", "content", "summary", "tail")
)
"""Members that are the line's content, or records of hundreds of kilobytes: the line itself still has them."""
_LARGE_OF_MESSAGE = frozenset(("content", "usage", "type"))
_WORDS = {"summary": "summary", "system": "content", "queue-operation": "content", "custom-title": "customTitle", "ai-title": "title"}
_REPEATED = frozenset(
    ("type", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "entrypoint", "requestId", "role", "model", "id")
)
_IN_MEMORY = ("entry", "type", "toolCallId", "toolName", "stepId", "isError")
"""Members of a payload that nearly everybody asks for."""
_IN_MEMORY_OF_ENTRIES = (
    *("id", "parentId", "type", "message", "fused", "isSidechain", "subtype", "logicalParentUuid", "isMeta", "isApiErrorMessage"),
    *("isVisibleInTranscriptOnly", "sessionId", "version", "requestRef", "role", "notUtf8"),
)
"""Members of an entry that rules ask all lines for, or the walk along the path."""


@dataclass(slots=True)
class Session:
    """One file: its chunks in the order of its lines, and the lines in each state by their index (counted from 0)."""

    chunks: list[Chunk] = field(default_factory=list)
    states: dict[str, list[int]] = field(default_factory=dict)
    lines: int = 0
    ended: bool = True
    keys: dict[str, int] = field(default_factory=dict)
    last_id: Any = None
    """Of the line before, which nearly every line has for its parent: one text in memory for both."""
    messages: dict[Any, tuple[str, Any]] = field(default_factory=dict)
    """By type, what the last line said of its message next to the content, with how it is written: lines of one answer say the same."""


# A repair reads its file as it is stored, to write it, and as its preview has it.
_READ: AtHand[Session] = AtHand(2)


def read_session(data: bytes) -> Session:
    """Everything of the file. The chunks of a line share `payload["entry"]`: its members without content, with `id` and `parentId` for its
    uuid and its parent's; `msg_idx` is the line."""
    return replace(_READ.of(data, lambda: _read(data)))


def _read(data: bytes) -> Session:
    session = Session(ended=data.endswith(b"\n") or not data)
    for line in json_lines.lines(data, START):
        session.lines += 1
        for state in line.states:
            session.states.setdefault(state, []).append(line.index)
        raw: Any = Span(data, line.offset, line.offset + len(line.raw))
        # An escape of a surrogate is hardly in any line, since the program writes characters as they are.
        if (b"\\ud" in line.raw or b"\\uD" in line.raw) and any(without_surrogates(part.value) != part.value for part in line.parts):
            session.states.setdefault(HALVES, []).append(line.index)
        for part in line.parts:
            session.chunks += _chunks(session, line, part, raw)
    return session


def _chunks(session: Session, line: SessionLine, part: RecordPart, raw: bytes) -> list[Chunk]:
    place = f"line:{line.index}" + (f"/{part.number}" if part.number else "")
    first, value = len(session.chunks) + 1, part.value
    if value is None:
        torn = "" if line.ended else "; the file ends in it, without a line end"
        reason = f"{part.reason}, in the line at byte {line.offset:,}{torn}"
        return [Chunk(f"{place}.0", first, "", Kind.UNREADABLE, {}, line.index, None, raw, part.damage, reason)]
    entry = about(value)
    if session.last_id is not None and entry["parentId"] == session.last_id:
        entry["parentId"] = session.last_id
    session.last_id = entry["id"]
    if part.number:
        entry["fused"] = part.number
    if NOT_UTF8 in line.states:
        entry["notUtf8"] = True
    key = _key(session.keys, place if part.number else entry.get("id") or place)
    at, parent = milliseconds(value.get("timestamp")), entry.get("parentId")
    own = {"message": _message_as_before(session, entry)} if "message" in entry else {}
    kept_entry = shelved(entry, _IN_MEMORY_OF_ENTRIES, **own)

    def chunk(number: int, block: WireBlock, index: int | None) -> Chunk:
        payload = shelved(block.payload, _IN_MEMORY, entry=kept_entry)
        own_key, seq = f"{key}.{number}", first + number
        return Chunk(own_key, seq, block.role, block.kind, payload, line.index, index, raw, block.damage, block.reason, at, parent)

    message = value.get("message")
    if value.get("type") not in SPOKEN:
        # Without an index of a block, so that nobody takes what is between two messages for one.
        words = _words(value)
        return [chunk(0, WireBlock("", Kind.CONTROL, {"type": "control", **({"text": words} if words else {})}), None)]
    if not isinstance(message, dict):
        wrong = WireBlock(
            "", Kind.UNREADABLE, {}, damage="wrong-type", reason=f"its message is no object, in the line at byte {line.offset:,}"
        )
        return [chunk(0, wrong, None)]
    if message.get("role") != value["type"]:
        # Every version goes by the type of the line.
        message = {**message, "role": value["type"]}
    return [chunk(number, block, number) for number, block in enumerate(anthropic.read(message))]


def about(value: Mapping[str, Any]) -> dict[str, Any]:
    """What a line keeps next to its content."""
    entry: dict[str, Any] = _shared(value, _LARGE)
    id_, parent = entry.pop("uuid", None), entry.pop("parentUuid", None)
    entry["id"] = id_ if isinstance(id_, str) else None
    # An empty one is none to every version.
    entry["parentId"] = parent if isinstance(parent, str) and parent else None
    message = value.get("message")
    if isinstance(message, dict):
        entry["message"] = _shared(message, _LARGE_OF_MESSAGE)
    return entry


def _shared(value: Mapping[str, Any], left_out: Container[str]) -> dict[str, Any]:
    """Names, and values that nearly all lines have, are in memory once for the whole file."""
    return {
        intern(name): intern(item) if name in _REPEATED and type(item) is str else item
        for name, item in value.items()
        if name not in left_out
    }


def _message_as_before(session: Session, entry: Mapping[str, Any]) -> Any:
    """What the line says of its message; the very object of the last line of its type where that says the same."""
    message = entry["message"]
    # As text, since 1 and true are equal.
    written = repr(message)
    kind = entry.get("type")
    if not isinstance(kind, str):
        return message
    if kind not in session.messages or session.messages[kind][0] != written:
        session.messages[kind] = written, message
    return session.messages[kind][1]


def _key(counts: dict[str, int], base: str) -> str:
    """The uuid; `#2` after it for the second line that has it. Ids may look like that themselves, so that every key is tried."""
    key = base
    while key in counts:
        counts[base] += 1
        key = f"{base}#{counts[base]}"
    counts[key] = 1
    return key


def _words(value: Mapping[str, Any]) -> str:
    words = value.get(_WORDS.get(str(value.get("type")), ""))
    attachment = value.get("attachment")
    if isinstance(attachment, dict):
        words = next((attachment[name] for name in ("content", "prompt") if isinstance(attachment.get(name), str)), "")
    return words if isinstance(words, str) else ""
