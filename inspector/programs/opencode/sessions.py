"""Sessions of opencode out of any of its stores: rows of opencode.db, files of the tree before 1.2, or one exported file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from inspector.programs.formats import Record
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

FILE = "file"
NOT_JSON = "not JSON"
"""How the reason begins of a text that no program parses."""


@dataclass(slots=True)
class StoredPart:
    """`value` is None where the part cannot be read; `reason` says why, and `stops` that opencode ends every run of the session at it."""

    id: str
    message: str
    session: str
    value: dict[str, Any] | None
    raw: bytes
    reason: str = ""
    stops: bool = False


@dataclass(slots=True)
class StoredMessage:
    id: str
    session: str
    info: dict[str, Any] | None
    created: int
    raw: bytes
    reason: str = ""
    stops: bool = False
    parts: list[StoredPart] = field(default_factory=list)


@dataclass(slots=True)
class Session:
    """`info` is None where nothing but messages or parts name the session. `messages` are in the order of the loader, `orphans` parts of no message."""

    id: str
    info: dict[str, Any] | None = None
    messages: list[StoredMessage] = field(default_factory=list)
    orphans: list[StoredPart] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


def sessions_in(records: Iterable[Record]) -> dict[str, Session]:
    """By id, in the order in which they come up. Nothing raises."""
    sessions: dict[str, Session] = {}
    messages: dict[str, StoredMessage] = {}
    parts: list[tuple[StoredPart, Record]] = []
    events: list[tuple[dict[str, Any], Record]] = []
    for record in records:
        kind = _kind(record)
        value, reason = _object(record.value.data) if record.value.type == FILE else (jsontext.row_of(record.value.data), "")
        if kind == "export":
            _take_export(sessions, record, value)
        elif kind == "session":
            id_ = _text(value, "id") or _last(record)
            session = sessions.setdefault(id_, Session(id_))
            session.info = value
            # First, wherever it comes: facts of the session lead to it.
            session.records.insert(0, record)
        elif kind == "message":
            info, reason = _data(value, reason)
            message = StoredMessage(
                _text(value, "id") or _last(record), _owner(value, record), info, _created(value), record.value.data, reason
            )
            message.stops = info is None and record.value.type != FILE
            messages.setdefault(message.id, message)
            session = sessions.setdefault(message.session, Session(message.session))
            session.messages.append(message)
            session.records.append(record)
        elif kind == "event":
            events.append((value, record))
        elif kind == "part":
            data, reason = _data(value, reason)
            owner = _text(value, "message_id", "messageID") or _folder(record)
            part = StoredPart(
                _text(value, "id") or _last(record), owner, _text(value, "session_id", "sessionID"), data, record.value.data, reason
            )
            # A row that is JSON and no object has nothing that is looked at.
            part.stops = reason.startswith(NOT_JSON) and record.value.type != FILE
            parts.append((part, record))
    for part, record in parts:
        message_of_part = messages.get(part.message)
        session_id = message_of_part.session if message_of_part else part.session
        session = sessions.setdefault(session_id, Session(session_id))
        session.records.append(record)
        (message_of_part.parts if message_of_part else session.orphans).append(part)
    for event, record in events:
        # Of a session that is gone nobody needs them.
        if (owner_of_event := sessions.get(_text(event, "aggregate_id"))) is not None:
            owner_of_event.records.append(record)
            owner_of_event.events.append(event)
    for session in sessions.values():
        session.messages.sort(key=lambda message: (message.created, message.id))
        for message in session.messages:
            message.parts.sort(key=lambda part: part.id)
    return sessions


def _kind(record: Record) -> str:
    """session, message, part, export, or "" of a record that is none of them."""
    if record.value.type != FILE:
        return record.key.partition(":")[0]
    folders = record.key.split("/")
    if len(folders) >= 3 and folders[-3] in ("session", "message", "part"):
        return folders[-3]
    return "export"


def _object(data: bytes) -> tuple[dict[str, Any], str]:
    try:
        value = jsontext.parse(jsontext.decode(data))
    except Unreadable as problem:
        return {}, problem.reason
    return (value, "") if isinstance(value, dict) else ({}, "JSON, but no object")


def _data(row: dict[str, Any], reason: str) -> tuple[dict[str, Any] | None, str]:
    """What a row keeps in its column `data`; a file of the tree is that itself."""
    if "data" not in row or "session_id" not in row:
        return (None, reason) if reason else (row, "")
    text = row["data"]
    value, problem = _object(jsontext.encode(text)) if isinstance(text, str) else ({}, "the column data is no text")
    return (None, problem) if problem else (value, "")


def _text(value: dict[str, Any], *names: str) -> str:
    return next((text for name in names if isinstance(text := value.get(name), str)), "")


def _last(record: Record) -> str:
    return record.key.rpartition("/" if record.value.type == FILE else ":")[2].removesuffix(".json")


def _folder(record: Record) -> str:
    return record.key.split("/")[-2] if record.value.type == FILE and "/" in record.key else ""


def _owner(value: dict[str, Any], record: Record) -> str:
    return _text(value, "session_id", "sessionID") or _folder(record)


def _created(value: dict[str, Any]) -> int:
    time = value.get("time")
    at = value.get("time_created", time.get("created") if isinstance(time, dict) else None)
    return int(at) if isinstance(at, int | float) and not isinstance(at, bool) and abs(at) < 2**63 else 0


def _take_export(sessions: dict[str, Session], record: Record, value: dict[str, Any]) -> None:
    info = value.get("info")
    if not isinstance(info, dict) or not isinstance(value.get("messages"), list):
        return
    id_ = _text(info, "id") or _last(record)
    session = sessions.setdefault(id_, Session(id_))
    session.info = info
    session.records.append(record)
    for number, entry in enumerate(value["messages"]):
        message_info = entry.get("info") if isinstance(entry, dict) else None
        known = message_info if isinstance(message_info, dict) else {}
        raw = jsontext.encode(jsontext.compact(entry))
        message = StoredMessage(
            _text(known, "id") or f"message {number}", id_, known or None, _created(known), raw, "" if known else "it has no info"
        )
        parts = entry.get("parts") if isinstance(entry, dict) else None
        for place, part in enumerate(parts if isinstance(parts, list) else []):
            is_part = isinstance(part, dict)
            part_id = (_text(part, "id") if is_part else "") or f"{message.id} part {place}"
            reason = "" if is_part else "the part is no object"
            message.parts.append(
                StoredPart(part_id, message.id, id_, part if is_part else None, jsontext.encode(jsontext.compact(part)), reason)
            )
        session.messages.append(message)
