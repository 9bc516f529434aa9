"""Entries as lines: a stored one with only those values exchanged that differ, a new one in the order of keys in which pi writes it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.tree import spoken
from inspector.programs.formats import WriteRefused
from inspector.programs.pi_openclaw import content as session_content
from inspector.programs.pi_openclaw.entries import moment
from inspector.programs.pi_openclaw.file import File, StoredEntry, block_of
from inspector.programs.pi_openclaw.path import FIRST_KEPT, PathStep
from inspector.text import json_pieces, jsontext
from inspector.text.js_json import stringify
from inspector.text.light import light_dataclass

REFERENCES = ("targetId", FIRST_KEPT, "fromId", "appendParentId")
"""Members of an entry that name another one."""
_ROLES = {"tool": "toolResult", "assistant": "assistant", "user": "user", "system": "system"}
_LAST_IDS = ("custom", "custom_message")
"""Types whose own members come before id, parentId and timestamp."""
_PLACES = ("id", "parentId", "type", "timestamp", "messageTimestamp", "fused", "notUtf8", "more", "storedId", "storedParentId")
_NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


@light_dataclass(frozen=True, slots=True)
class EntryPlace:
    """Where an entry goes. `timestamp` is ISO 8601 with milliseconds; None = the stored one stays. `references`: member -> the id that it names now."""

    id: str
    parent: str | None
    timestamp: str | None
    references: Mapping[str, str]
    on_its_own: bool = False
    """It must become the leaf: what makes OpenClaw read it as a row off the path is left out."""


def stored_line(file: File, step: PathStep, place: EntryPlace) -> str:
    """The text of a step that is a stored entry, or a copy of one, at `place`. Raises WriteRefused."""
    base = step.base
    if base is None:
        raise ValueError("the step has no stored entry")
    text = file.text(base)
    spans = json_pieces.member_values(text)
    stored = {name: value for name, *_, value in spans}
    members: dict[str, Any] = {"id": place.id, "parentId": place.parent} | dict(place.references)
    if place.timestamp is not None and stored.get("timestamp") != place.timestamp:
        members["timestamp"] = place.timestamp
    values = {name: stringify(value) for name, value in members.items() if name not in stored or stored[name] != value}
    if not step.same:
        message = json_pieces.value_of(text, "message") if base.type == "message" else None
        changed = _controls(base, step.chunks[0])
        values |= {name: stringify(value) for name, value in changed.items() if name in stored and name not in values}
        inner = {name: value for name, value in changed.items() if name not in stored}
        if message is not None:
            values["message"] = _message(message, file, step, inner)
        elif inner:
            values |= {name: stringify(value) for name, value in inner.items()}
        else:
            values |= _words(base, step.chunks[0])
    dropped = (
        frozenset(("appendMode", "appendParentId")) & stored.keys() if place.on_its_own and stored.get("type") != "leaf" else frozenset()
    )
    return json_pieces.amended(text, values, dropped, spans) if values or dropped else text


def _controls(base: StoredEntry, chunk: Chunk) -> dict[str, Any]:
    """What a plan changed of what an entry keeps next to its message."""
    new = chunk.payload.get("entry")
    if not isinstance(new, Mapping) or new == base.entry:
        return {}
    return {name: value for name, value in new.items() if name not in _PLACES and (name not in base.entry or base.entry[name] != value)}


def _words(base: StoredEntry, chunk: Chunk) -> dict[str, str]:
    """The member that holds the words of an entry which is no message, where they changed."""
    names = {"compaction": "summary", "branch_summary": "summary", "custom_message": "content"}
    text, old = chunk.payload.get("text"), base.chunks[0].payload.get("text")
    if text == old:
        return {}
    if base.type not in names or not isinstance(text, str):
        raise WriteRefused(
            f"The entry {spoken(base.key, base.line)} of type {base.type} has no words that could change; leave that strategy out of the plan."
        )
    return {names[base.type]: stringify(text)}


def _message(text: str, file: File, step: PathStep, inner: Mapping[str, Any]) -> str:
    message = jsontext.parse(text)
    if not isinstance(message, dict):
        raise WriteRefused(f"The message of {step.chunks[0].key} is no object, so no part of it can be changed; leave it as it is.")
    values: dict[str, Any] = {name: value for name, value in inner.items() if name in message}
    first = step.chunks[0]
    old = block_of(first, file)
    if first.kind is Kind.TOOL_RESULT:
        stored = _stored_chunk(old)
        members = session_content.result(first, stored, message) | values
        renamed = {session_content.id_name(stored)} - {session_content.id_name(first)}
        return session_content.spliced(text, {name: value for name, value in message.items() if name not in renamed} | members)
    if old is not None and old[0] is step.base and _stored_chunk(old).role != first.role:
        values["role"] = _ROLES[first.role]
    texts = {name: stringify(value) for name, value in values.items()}
    content = json_pieces.value_of(text, "content")
    if content is None and not all(chunk.kind is Kind.CONTROL for chunk in step.chunks):
        raise WriteRefused(f"The words of {first.key} are put together from other fields, so they cannot be changed; leave it as it is.")
    if content is not None:
        texts["content"] = _content(content, message["content"], file, step)
    return json_pieces.amended(text, texts)


def _stored_chunk(block: tuple[StoredEntry, int] | None) -> Chunk:
    if block is None:
        raise ValueError("no stored block")
    return block[0].chunks[block[1]]


def _content(text: str, stored: Any, file: File, step: PathStep) -> str:
    chunks = [chunk for chunk in step.chunks if "empty" not in chunk.payload]
    if not chunks:
        return text
    if isinstance(stored, str) and len(chunks) == 1 and chunks[0].kind in (Kind.TEXT, Kind.SYSTEM) and _is_string(step):
        return session_content.spliced(text, chunks[0].text)
    pieces = [_piece(chunk, file) for chunk in chunks]
    if not isinstance(stored, list):
        return f"[{','.join(pieces)}]"
    spans = json_pieces.elements(text)
    comma = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else ","
    opening, closing = (spans[0][0], spans[-1][1]) if spans else (text.index("[") + 1, text.rindex("]"))
    return text[:opening] + comma.join(pieces) + text[closing:]


def _is_string(step: PathStep) -> bool:
    """Whether what a plan makes of a content that is a plain text may stay one: pi reads only lists in answers."""
    extra = step.chunks[0].payload.get("extra")
    return step.chunks[0].role != "assistant" or (isinstance(extra, Mapping) and extra.get("string") is True)


def _piece(chunk: Chunk, file: File) -> str:
    """The text of one block: a stored one keeps its characters, wherever it came from."""
    origin = block_of(chunk, file)
    if origin is None:
        return session_content.block(chunk, None, None)
    entry, number = origin
    old = entry.chunks[number]
    content = json_pieces.value_of(json_pieces.value_of(file.text(entry), "message") or "{}", "content") or ""
    if not content.startswith("["):
        return session_content.block(chunk, None, None)
    spans = json_pieces.elements(content)
    text = content[slice(*spans[number])] if number < len(spans) else None
    same = text is not None and old.kind is chunk.kind and old.payload == chunk.payload
    return text if same and text is not None else session_content.block(chunk, old, text)


def new_line(step: PathStep, place: EntryPlace, speaker: Mapping[str, Any]) -> str:
    """The line of an entry that the file does not hold; `speaker` is the entry of the assistant nearby, whose model a new turn names."""
    head = {"id": place.id, "parentId": place.parent, "timestamp": place.timestamp}
    first = step.chunks[0]
    if not first.role:
        entry = first.payload.get("entry")
        own = {name: value for name, value in dict(entry or {}).items() if name not in _PLACES} | dict(place.references)
        kind = entry.get("type") if isinstance(entry, Mapping) else None
        if not isinstance(kind, str):
            raise WriteRefused(
                f"{first.key} is no entry that a session file can hold; leave the strategy that puts it there out of the plan."
            )
        return stringify({"type": kind, **own, **head} if kind in _LAST_IDS else {"type": kind, **head, **own})
    at = moment(place.timestamp) or 0
    return stringify({"type": "message", **head, "message": _new_message(step.chunks, at, speaker)})


def _new_message(chunks: Sequence[Chunk], at: int, speaker: Mapping[str, Any]) -> dict[str, Any]:
    first = chunks[0]
    if first.kind is Kind.TOOL_RESULT:
        return {"role": "toolResult", **session_content.result(first, None, {}), "timestamp": at}
    if first.role not in ("user", "assistant", "system"):
        raise WriteRefused(
            f"{first.key} cannot be in a message of role {first.role}; leave the strategy that puts it there out of the plan."
        )
    if first.role == "system":
        return {"role": "system", "content": "\n".join(chunk.text for chunk in chunks), "timestamp": at}
    content = [jsontext.parse(session_content.block(chunk, None, None)) for chunk in chunks if "empty" not in chunk.payload]
    if first.role == "user":
        return {"role": "user", "content": content, "timestamp": at}
    model = {name: speaker.get(name) or "inspector" for name in ("api", "provider", "model")}
    stop = "toolUse" if any(chunk.kind is Kind.TOOL_CALL for chunk in chunks) else "stop"
    return {"role": "assistant", "content": content, **model, "usage": {**_NO_USAGE, "cost": _NO_COST}, "stopReason": stop, "timestamp": at}


def iso(milliseconds: int) -> str:
    """As JavaScript's toISOString."""
    try:
        time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00.000Z"
    return f"{time:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
