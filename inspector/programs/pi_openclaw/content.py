"""Blocks as pi stores them: of a stored one only the members that a plan changed are encoded again, numbers and strings as JavaScript has them."""

import re
from collections.abc import Mapping
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.programs.formats import WriteRefused
from inspector.text import json_pieces, jsontext
from inspector.text.js_json import stringify

_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_SIGNATURES = ("thinkingSignature", "signature", "thought_signature")
_CALL_SIGNATURES = ("thoughtSignature", "thought_signature")
_ABSENT = object()


def spliced(text: str, new: Any) -> str:
    """`text`, a JSON value, with the value `new`: what does not differ keeps its characters."""
    old = jsontext.parse(text)
    if _equal(old, new):
        return text.strip(" \t\r\n")
    if isinstance(old, dict) and isinstance(new, dict):
        spans = json_pieces.members(text)
        values = {
            name: spliced(text[slice(*spans[name][1:])], value) if name in spans else stringify(value)
            for name, value in new.items()
            if name not in spans or not _equal(old[name], value)
        }
        return json_pieces.amended(text, values, frozenset(old.keys() - new.keys()))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        elements = json_pieces.elements(text)
        pieces = [(spliced(text[slice(*span)], value), number) for number, (span, value) in enumerate(zip(elements, new, strict=True))]
        return json_pieces.rearranged(text, elements, pieces)
    return stringify(new)


def _equal(first: Any, second: Any) -> bool:
    # True == 1 in Python; in JSON they are two values.
    return bool(first == second) and stringify(first) == stringify(second)


def block(chunk: Chunk, old: Chunk | None, text: str | None) -> str:
    """A block of a content list; `text` is that of the stored block which `old` was read from. Raises WriteRefused."""
    stored = jsontext.parse(text) if text is not None else None
    if text is None or old is None or not isinstance(stored, dict) or old.kind is not chunk.kind:
        return stringify(_fresh(chunk))
    before, after = _members(old, stored), _members(chunk, stored)
    values, removed = _differences(before, after)
    whole = {name: value for name, value in stored.items() if name not in removed} | values
    return spliced(text, whole)


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    return (
        {name: value for name, value in after.items() if before.get(name, _ABSENT) is _ABSENT or not _equal(before[name], value)},
        before.keys() - after.keys(),
    )


def _fresh(chunk: Chunk) -> dict[str, Any]:
    members = _members(chunk, {})
    kinds = {Kind.TEXT: "text", Kind.SYSTEM: "text", Kind.THINKING: "thinking", Kind.TOOL_CALL: "toolCall", Kind.IMAGE: "image"}
    if chunk.kind is Kind.REDACTED_THINKING:
        return {"type": "thinking", "thinking": ""} | members | {"redacted": True}
    if chunk.kind in kinds:
        return {"type": kinds[chunk.kind]} | members
    return members


def _members(chunk: Chunk, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a block that its payload represents, under the names that the stored block has."""
    payload, extra = chunk.payload, _extra(chunk.payload)
    match chunk.kind:
        case Kind.TEXT | Kind.SYSTEM:
            return {"text": chunk.text} | extra
        case Kind.THINKING:
            return {"thinking": chunk.text} | _signature(payload, stored, _SIGNATURES, "signature") | extra
        case Kind.REDACTED_THINKING:
            if stored.get("type") == "redacted_thinking":
                return {"data": payload.get("data")} | extra
            return _signature(payload, stored, _SIGNATURES, "data") | extra
        case Kind.TOOL_CALL:
            arguments_name = "input" if "input" in stored and "arguments" not in stored else "arguments"
            members: dict[str, Any] = {"id": chunk.call_id, "name": chunk.tool_name}
            if not payload.get("noInput"):
                members[arguments_name] = payload.get("input")
            return {**extra, **members, **_signature(payload, stored, _CALL_SIGNATURES, "signature")}
        case Kind.IMAGE:
            return _image(chunk) | extra
        case Kind.CONTROL | Kind.UNREADABLE if isinstance(payload.get("block"), dict):
            return dict(payload["block"])
    raise WriteRefused(
        f"A session file has no block for {chunk.kind.value} ({chunk.key}); leave the strategy that puts it there out of the plan."
    )


def _extra(payload: Mapping[str, Any]) -> dict[str, Any]:
    if payload.get("wire") != "pi" or not isinstance(payload.get("extra"), Mapping):
        return {}
    return {name: value for name, value in payload["extra"].items() if name not in ("string", "message")}


def _signature(payload: Mapping[str, Any], stored: Mapping[str, Any], names: tuple[str, ...], field: str) -> dict[str, Any]:
    if field not in payload:
        return {}
    return {next((name for name in names if isinstance(stored.get(name), str)), names[0]): payload[field]}


def _image(chunk: Chunk) -> dict[str, Any]:
    match = _DATA_URL.fullmatch(chunk.text)
    if match is None:
        raise WriteRefused(
            f"A session file holds images as base64 only ({chunk.key}); leave the strategy that puts another one there out of the plan."
        )
    return {"data": match[2], "mimeType": match[1]}


def id_name(result: Chunk) -> str:
    """The member of a toolResult message that has the id of the call."""
    return str(result.payload.get("spelling", "toolCallId"))


def result(chunk: Chunk, old: Chunk | None, message: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a toolResult message that the chunk represents; of a stored one only those that differ."""
    name = id_name(chunk)
    members: dict[str, Any] = {}
    if old is None or old.call_id != chunk.call_id or id_name(old) != name:
        members[name] = chunk.call_id
    if old is None or old.tool_name != chunk.tool_name:
        members["toolName"] = chunk.tool_name
    before = None if old is None else (old.text, old.payload.get("blocks"))
    if before != (chunk.text, chunk.payload.get("blocks")):
        members["content"] = _result_content(chunk, old, message.get("content"))
    details = _extra(chunk.payload).get("details")
    if details is not None and (old is None or _extra(old.payload).get("details") != details):
        members["details"] = details
    if old is None or old.is_error != chunk.is_error:
        members["isError"] = chunk.is_error
    return members


def _result_content(chunk: Chunk, old: Chunk | None, stored: Any) -> Any:
    blocks = chunk.payload.get("blocks")
    if isinstance(blocks, list) and chunk.payload.get("wire") == "pi" and (old is None or blocks != old.payload.get("blocks")):
        return blocks
    if isinstance(stored, str):
        return chunk.text
    items = [item for item in stored if isinstance(item, dict)] if isinstance(stored, list) and old is not None else []
    # Of other words than the stored ones one text block is made; images next to them stay.
    return [{"type": "text", "text": chunk.text}, *(item for item in items if item.get("type") != "text")]
