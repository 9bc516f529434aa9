"""Messages of Anthropic's Messages API."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.model import Kind
from inspector.projections.base import ANTHROPIC
from inspector.wires.shapes.base import (
    At,
    WireBlock,
    WireShape,
    content_of,
    extra,
    or_empty,
    result,
    role_of,
    switch,
    text_in,
    unknown,
    wrong,
)


def _block(role: str, value: dict[str, Any], at: At) -> WireBlock:
    match value.get("type"):
        case "text" if text_in(value, "text"):
            return WireBlock(role, Kind.TEXT, {"type": "text", "text": value["text"]} | extra(value, ANTHROPIC, "type", "text"), at)
        case "thinking" if text_in(value, "thinking") and isinstance(value.get("signature", ""), str):
            signed = {"signature": value["signature"]} if "signature" in value else {}
            rest = extra(value, ANTHROPIC, "type", "thinking", "signature")
            return WireBlock(role, Kind.THINKING, {"type": "thinking", "text": value["thinking"]} | signed | rest, at)
        case "redacted_thinking" if text_in(value, "data"):
            payload = {"type": "redacted-thinking", "data": value["data"]} | extra(value, ANTHROPIC, "type", "data")
            return WireBlock(role, Kind.REDACTED_THINKING, payload, at)
        case "tool_use" if text_in(value, "id", "name") and isinstance(value.get("input"), dict | str):
            payload = {"type": "tool-call", "toolCallId": value["id"], "toolName": value["name"], "input": value["input"]}
            return WireBlock(role, Kind.TOOL_CALL, payload | extra(value, ANTHROPIC, "type", "id", "name", "input"), at)
        case "tool_result" if text_in(value, "tool_use_id") and isinstance(value.get("content", ""), str | list):
            error_member = "is_error" if value.get("is_error") is True else ""
            rest = extra(value, ANTHROPIC, "type", "tool_use_id", "content", error_member)
            return result(value["tool_use_id"], "", value.get("content"), value.get("is_error") is True, ANTHROPIC, rest, at)
        case "image" if (url := _url(value.get("source"))) is not None:
            return WireBlock(role, Kind.IMAGE, {"type": "image", "url": url} | extra(value, ANTHROPIC, "type", "source"), at)
        case "text" | "thinking" | "redacted_thinking" | "tool_use" | "tool_result" as kind:
            return wrong(role, value, ANTHROPIC, at, f"the {kind} block lacks a member, or has one of a wrong type")
    return unknown(role, value, ANTHROPIC, at)


def _url(source: Any) -> str | None:
    """None for a source that no address describes in full, such as the id of an uploaded file."""
    if not isinstance(source, dict):
        return None
    if source.keys() == {"type", "url"} and source["type"] == "url" and isinstance(source["url"], str):
        return source["url"]
    if source.keys() == {"type", "media_type", "data"} and source["type"] == "base64" and text_in(source, "media_type", "data"):
        return f"data:{source['media_type']};base64,{source['data']}"
    return None


def read(message: Mapping[str, Any]) -> Iterator[WireBlock]:
    role = role_of(message, {})
    return or_empty(content_of(message, role, ANTHROPIC, _block), message, role)


def system_blocks(value: Any) -> Iterator[WireBlock]:
    for block in content_of({"system": value}, "system", ANTHROPIC, _block, "system"):
        is_text = block.kind is Kind.TEXT
        yield WireBlock("system", Kind.SYSTEM, dict(block.payload) | {"type": "system"}, block.at, block.whole) if is_text else block


SHAPE = WireShape(
    ANTHROPIC,
    ("messages",),
    frozenset({"role", "content"}),
    read,
    lambda body: switch(body.get("thinking")),
    ("system",),
    system_blocks,
    {"tool": "user"},
)
