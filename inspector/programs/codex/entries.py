"""The records of a rollout file as chunks: items of the history are messages, every other record is a note of the program to itself.

A chunk says in `payload["entry"]` which record it is of: `type`, `name` (the type of the event or item), `ordinal`, `turn`; `part` on a line that holds
several; `unread` is why Codex leaves the record out. A message and each note count as one message, in the order of the file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Any

from inspector.conversation.model import Chunk, Kind, Span
from inspector.conversation.tree import about_of as entry_of
from inspector.programs.codex.items import COMPACTED, CONTEXT, EVENT, ITEM, META, PAGINATED, STARTS, item_problem, line_problem
from inspector.text import json_lines
from inspector.text.at_hand import AtHand
from inspector.text.json_lines import BOM, FUSED, RecordPart, RecordStart, SessionLine
from inspector.text.timestamps import milliseconds
from inspector.wires.ids import with_names
from inspector.wires.shapes import responses
from inspector.wires.shapes.base import with_message_fields

START = RecordStart(
    re.compile(r'\{\s*"timestamp"\s*:\s*"'),
    lambda value: isinstance(value.get("type"), str) and "payload" in value,
)
REPLACEMENT = "replacement"
"""The `type` of an item of a replacement history, which is no record of its own."""
NOT_UTF8 = "not-utf8"
NEVER_SENT = frozenset({"internal_chat_message_metadata_passthrough", "metadata"})
"""Members of a stored item that no request holds."""
_ON_ONE_LINE = "it shares its line with another record, which Codex reads as one record that is no JSON"


@dataclass(slots=True)
class Rollout:
    """One file. `meta` is the payload of the first session_meta, `context` that of the last turn_context; `states` are lines by what is wrong with them,
    their indexes from 0; `stops` is why Codex does not load the thread, "" where it does."""

    chunks: list[Chunk] = field(default_factory=list)
    meta: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    states: dict[str, list[int]] = field(default_factory=dict)
    lines: int = 0
    ended: bool = True
    running: str = ""
    """How the last turn stands: `active`, `complete` or `interrupted`; "" where the file names none."""
    error: str = ""
    first: str = ""
    """What the first line is that is not blank: the type of its record, or `?`."""
    first_problem: str = ""
    """Why Codex does not parse it, where it is a session_meta."""
    last_ordinal: object = None
    """The ordinal of the last record that can be read, None where it has none."""


# A plan reads its file as it is stored, to write it, and what was written.
_READ: AtHand[Rollout] = AtHand(2)


def read_rollout(data: bytes) -> Rollout:
    """Everything of the file, in one pass over its lines."""
    for known, rollout in _READ:
        if data == known:
            return replace(rollout)
    rollout = Rollout(ended=data.endswith(b"\n") or not data)
    progress = _Progress(rollout)
    for line in json_lines.lines(data, START):
        rollout.lines += 1
        states = line.states
        if not _is_utf8(line.raw):
            states = (*(state for state in states if state != json_lines.NOT_UTF8), NOT_UTF8)
        for state in states:
            rollout.states.setdefault(state, []).append(line.index)
        raw: Any = Span(data, line.offset, line.offset + len(line.raw))
        for part in line.parts:
            progress.add(line, part, raw)
    rollout.chunks = with_names(rollout.chunks)
    _READ.put(data, rollout)
    return replace(rollout)


def _is_utf8(raw: bytes) -> bool:
    """As Rust has it: a surrogate on its own is none either."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(slots=True)
class _Progress:
    rollout: Rollout
    number: int = -1
    """The number of the last message or note."""

    def add(self, line: SessionLine, part: RecordPart, raw: Any) -> None:
        rollout = self.rollout
        place = f"line:{line.index}" + (f"/{part.number}" if part.number else "")
        record = part.value
        if record is None:
            rollout.first = rollout.first or "?"
            torn = "" if line.ended else "; the file ends in it, without a line end"
            self.note(place, Kind.UNREADABLE, {}, raw, None, part.damage, f"{part.reason}, in the line at byte {line.offset:,}{torn}")
            return
        kind, payload = record.get("type"), record.get("payload")
        # A byte order mark is no JSON to Codex.
        problem = _ON_ONE_LINE if FUSED in line.states else "a byte order mark comes before it" if line.raw.startswith(BOM) else ""
        problem = problem or line_problem(record, raw_text(line.raw))
        entry = _entry(record, kind, payload, part.number, problem)
        if not rollout.first and kind == META:
            rollout.first_problem = problem
        rollout.first = rollout.first or (kind if isinstance(kind, str) and not problem else "?")
        if not problem:
            rollout.last_ordinal = entry.get("ordinal")
        at = milliseconds(record.get("timestamp"))
        if kind == ITEM and isinstance(payload, dict):
            self.message(place, payload, entry, raw, at)
        elif kind == COMPACTED and isinstance(payload, dict):
            self.compaction(place, payload, entry, raw, at)
        else:
            self.about(kind, payload, bool(problem))
            words = event_words(payload) if kind == EVENT else ""
            self.note(place, Kind.CONTROL, {"type": "control", **({"text": words} if words else {}), "entry": entry}, raw, at)

    def about(self, kind: Any, payload: Any, is_unread: bool) -> None:
        rollout = self.rollout
        if not isinstance(payload, dict):
            return
        if kind == META and not rollout.meta and not is_unread:
            rollout.meta = payload
        elif kind == "turn_context":
            rollout.context = payload
        elif kind == EVENT:
            name = payload.get("type")
            if name in STARTS:
                rollout.running, rollout.error = "active", ""
            elif name in ("task_complete", "turn_complete"):
                rollout.running = "complete"
            elif name == "turn_aborted":
                rollout.running = "interrupted"
            elif name == "error" and isinstance(payload.get("message"), str):
                rollout.error = payload["message"]

    def note(
        self, place: str, kind: Kind, payload: Mapping[str, Any], raw: Any, at: int | None, damage: str = "", reason: str = ""
    ) -> None:
        self.number += 1
        chunks = self.rollout.chunks
        chunks.append(Chunk(f"{place}.0", len(chunks) + 1, "", kind, payload, None, None, raw, damage, reason, at))

    def message(self, place: str, item: Mapping[str, Any], entry: Mapping[str, Any], raw: Any, at: int | None) -> None:
        chunks = self.rollout.chunks
        self.number += 1
        for index, (role, kind, payload, damage, reason) in enumerate(item_blocks(item)):
            payload = {**payload, "entry": entry}
            chunks.append(Chunk(f"{place}.{index}", len(chunks) + 1, role, kind, payload, self.number, index, raw, damage, reason, at))

    def compaction(self, place: str, payload: Mapping[str, Any], entry: dict[str, Any], raw: Any, at: int | None) -> None:
        """The record itself, and each item of its replacement history as a message. Without one, its summary is a message of the user."""
        words, items = payload.get("message"), payload.get("replacement_history")
        text = {"text": words} if isinstance(words, str) and words else {}
        if not isinstance(items, list) and text and "unread" not in entry:
            self.number += 1
            chunks = self.rollout.chunks
            summary = {"type": "text", **text, "entry": entry}
            chunks.append(Chunk(f"{place}.0", len(chunks) + 1, "user", Kind.TEXT, summary, self.number, 0, raw, at=at))
            return
        entry["items"] = len(items) if isinstance(items, list) else 0
        self.note(place, Kind.CONTROL, {"type": "control", **text, "entry": entry}, raw, at)
        for number, item in enumerate(items if isinstance(items, list) else []):
            of = {"type": REPLACEMENT, "name": _name(item), **({"unread": entry["unread"]} if "unread" in entry else {})}
            if isinstance(item, dict):
                self.message(f"{place}.r{number}", item, of, raw, at)
            else:
                self.note(f"{place}.r{number}", Kind.UNREADABLE, {}, raw, at, "not-object", "an item of a replacement history is no object")


def item_blocks(item: Mapping[str, Any]) -> Iterator[tuple[str, Kind, Mapping[str, Any], str, str]]:
    """Role, kind, payload, damage and reason of each block of an item; never none."""
    if not isinstance(item.get("type"), str):
        yield "", Kind.UNREADABLE, {}, "not-item", "its payload has no type"
        return
    sent = {name: value for name, value in item.items() if name not in NEVER_SENT}
    for block in with_message_fields(sent, list(responses.read(sent)), responses.SHAPE):
        yield block.role, block.kind, block.payload, block.damage, block.reason


def _entry(record: Mapping[str, Any], kind: Any, payload: Any, part: int, problem: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": intern(kind) if isinstance(kind, str) else "", "name": _name(payload)}
    ordinal = record.get("ordinal")
    if "ordinal" in record:
        entry["ordinal"] = ordinal
    if part:
        entry["part"] = part
    if problem:
        entry["unread"] = problem
    if isinstance(payload, dict):
        if kind == EVENT and payload.get("type") == "thread_rolled_back":
            entry["turns"] = payload.get("num_turns")
        if kind == META and payload.get("history_mode") == PAGINATED:
            entry["mode"] = PAGINATED
        if (kind == CONTEXT or (kind == EVENT and payload.get("type") in STARTS)) and isinstance(payload.get("turn_id"), str):
            entry["turn"] = payload["turn_id"]
        if kind == "turn_context" and isinstance(payload.get("model"), str):
            entry["modelId"] = payload["model"]
    return entry


def _name(payload: Any) -> str:
    """The type of an event or an item; of an item_completed event that of its item too."""
    if not isinstance(payload, dict) or not isinstance(payload.get("type"), str):
        return ""
    item = payload.get("item")
    inner = item.get("type") if payload["type"] == "item_completed" and isinstance(item, dict) else None
    return intern(f"{payload['type']} {inner}" if isinstance(inner, str) else payload["type"])


_EVENT_TEXT = {"user_message": "message", "agent_message": "message", "agent_reasoning": "text", "error": "message"}


def event_words(event: Any) -> str:
    """What an event shows to a person: the words of a message, which an item of the history holds too; "" for any other event."""
    if not isinstance(event, dict):
        return ""
    kind, item = event.get("type"), event.get("item")
    if kind == "item_completed" and isinstance(item, dict):
        if item.get("type") == "Reasoning":
            return _joined(item.get("summary_text"))
        return _joined(item.get("content")) if item.get("type") in ("UserMessage", "AgentMessage") else ""
    words = event.get(_EVENT_TEXT.get(kind, "")) if isinstance(kind, str) else None
    return words if isinstance(words, str) else ""


def _joined(parts: Any) -> str:
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def raw_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def is_first(chunk: Chunk) -> bool:
    """Whether it is the first chunk of a record of its own."""
    return chunk.key.endswith(".0") and entry_of(chunk).get("type") != REPLACEMENT


def line_of(key: str) -> int | None:
    """The line that the key of a stored chunk names, from 0; None for one that a repair put in."""
    match = re.match(r"line:(\d+)", key)
    return int(match[1]) if match else None


def records(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The first chunk of each record of the file."""
    return (chunk for chunk in chunks if is_first(chunk) and entry_of(chunk))


__all__ = ["Rollout", "entry_of", "event_words", "item_blocks", "item_problem", "line_of", "read_rollout", "records"]
