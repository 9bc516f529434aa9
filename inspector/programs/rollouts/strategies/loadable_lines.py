"""A message of rollouts as its loader takes it: each field of a wrong type brought to the nearest right one."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from inspector.programs.rollouts.loading import BLOCKS
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

_TEXTS = {"text": "text", "thinking": "thinking", "image": "image_url", "toolCall": "name"}
_MS = 100_000_000_000
"""Epoch numbers above this are milliseconds, below it seconds."""


def loadable(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with nothing in it that the loader refuses; what it takes is the same object. A missing role stays missing."""
    fitted = dict(message)
    for name in ("provider", "api", "model", "tool_call_id"):
        if not isinstance(fitted.get(name), str | None):
            fitted[name] = str(fitted[name]) if isinstance(fitted[name], int) and name == "tool_call_id" else None
    if not isinstance(fitted.get("timestamp"), str | None):
        fitted["timestamp"] = _moment(fitted["timestamp"])
    if not isinstance(fitted.get("details"), dict | None):
        fitted["details"] = {"value": fitted["details"]}
    content = fitted.get("content")
    if isinstance(content, dict):
        content = [content] if "type" in content or "text" in content else jsontext.compact(content)
    elif not isinstance(content, str | list | None):
        content = jsontext.compact(content)
    if isinstance(content, list):
        content = [new_block for block in content if (new_block := _block(block)) is not None] or ([] if not content else _REDACTED)
    if "content" in fitted:
        fitted["content"] = content
    return fitted


# An answer of nothing but encrypted thinking must not become an empty one, on which the converter dies.
_REDACTED: list[dict[str, Any]] = [{"type": "text", "text": "[redacted thinking]", "text_signature": None}]


def _block(block: Any) -> dict[str, Any] | None:
    """None for what has no place in this store and no words: encrypted thinking."""
    if not isinstance(block, dict):
        return _words(block if isinstance(block, str) else jsontext.compact(block))
    kind = block.get("type", "text")
    match kind:
        case "redacted_thinking":
            return None
        case "tool_use":
            members = {name: value for name, value in block.items() if name not in ("type", "id", "name", "input")}
            return _fitted(
                "toolCall",
                {"type": "toolCall", "id": block.get("id"), "name": block.get("name"), "arguments": block.get("input"), **members},
            )
        case "image_url" if isinstance(block.get("image_url"), dict) and isinstance(block["image_url"].get("url"), str):
            return {"type": "image", "image_url": block["image_url"]["url"], "detail": None}
        case str() if kind in BLOCKS:
            return _fitted(kind, block)
    return _words(jsontext.compact(block))


def _fitted(kind: str, block: Mapping[str, Any]) -> dict[str, Any]:
    fitted = dict(block)
    if kind == "toolCall" and not isinstance(fitted.get("arguments", {}), dict):
        fitted |= _arguments(fitted["arguments"])
    for name, types in BLOCKS[kind].items():
        if name not in fitted or isinstance(fitted[name], types):
            continue
        if type(None) in types:
            fitted[name] = None
        elif name in ("id", "name", *_TEXTS.values()):
            fitted[name] = "" if fitted[name] is None else jsontext.compact(fitted[name])
    return fitted


def _arguments(value: Any) -> dict[str, Any]:
    """As rollouts itself stores what does not parse: no arguments, and the text next to them."""
    if value is None:
        return {"arguments": {}}
    text = value if isinstance(value, str) else jsontext.compact(value)
    try:
        parsed = jsontext.parse(text)
    except Unreadable as problem:
        return {"arguments": {}, "parse_error": problem.reason, "raw_arguments": text}
    if isinstance(parsed, dict):
        return {"arguments": parsed}
    return {"arguments": {}, "parse_error": "the arguments are no object", "raw_arguments": text}


def _moment(value: Any) -> str | None:
    try:
        seconds = float(value) / (1000 if float(value) > _MS else 1)
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "text_signature": None}
