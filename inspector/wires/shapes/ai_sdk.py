"""ModelMessages of the AI SDK, version 5 and later. Parts with the fields of version 4 (`args`, `result`) are of no kind that is known."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.model import Kind
from inspector.projections.base import AI_SDK
from inspector.text import jsontext
from inspector.wires.shapes.base import At, WireBlock, WireShape, content_of, extra, joined, or_empty, role_of, switch, unknown, wrong


def _part(role: str, value: dict[str, Any], at: At) -> WireBlock:
    match value:
        case {"type": "text", "text": str(text)}:
            kind = Kind.SYSTEM if role == "system" else Kind.TEXT
            return WireBlock(role, kind, {"type": kind.value, "text": text} | extra(value, AI_SDK, "type", "text"), at)
        case {"type": "reasoning", "text": str(text)}:
            return WireBlock(role, Kind.THINKING, {"type": "thinking", "text": text} | extra(value, AI_SDK, "type", "text"), at)
        case {"type": "tool-call", "toolCallId": str(call_id), "toolName": str(name), "input": dict() | str() as arguments}:
            payload = {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": arguments}
            return WireBlock(role, Kind.TOOL_CALL, payload | extra(value, AI_SDK, "type", "toolCallId", "toolName", "input"), at)
        case {"type": "tool-result", "toolCallId": str(call_id), "toolName": str(name), "output": dict() as output}:
            return _result(call_id, name, output, value, at)
        case {"type": "image", "image": str(url)} if url.startswith(("data:", "http:", "https:")):
            return WireBlock(role, Kind.IMAGE, {"type": "image", "url": url} | extra(value, AI_SDK, "type", "image"), at)
    kind_name = value.get("type")
    if kind_name in ("text", "reasoning", "tool-call", "tool-result"):
        return wrong(role, value, AI_SDK, at, f"the {kind_name} part lacks a member, or has one of a wrong type")
    return unknown(role, value, AI_SDK, at)


def _result(call_id: str, name: str, output: dict[str, Any], value: dict[str, Any], at: At) -> WireBlock:
    kind, content = output.get("type"), output.get("value")
    payload: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id, "toolName": name}
    if kind in ("text", "error-text") and output.keys() == {"type", "value"} and isinstance(content, str):
        payload["content"] = content
    else:
        payload["content"] = joined(content) if kind == "content" and isinstance(content, list) else _words(output)
        payload |= {"blocks": [output], "wire": AI_SDK}
    payload["isError"] = kind in ("error-text", "error-json")
    return WireBlock("tool", Kind.TOOL_RESULT, payload | extra(value, AI_SDK, "type", "toolCallId", "toolName", "output"), at)


def _words(output: dict[str, Any]) -> str:
    value = output.get("value", output)
    return value if isinstance(value, str) else jsontext.compact(value)


def read(message: Mapping[str, Any]) -> Iterator[WireBlock]:
    role = role_of(message, {})
    plain = Kind.SYSTEM if role == "system" else Kind.TEXT
    return or_empty(content_of(message, role, AI_SDK, _part, plain=plain), message, role)


def system_blocks(value: Any) -> Iterator[WireBlock]:
    if isinstance(value, str) and value:
        yield WireBlock(
            "system", Kind.SYSTEM, {"type": "system", "text": value, "extra": {"string": True}, "wire": AI_SDK}, ("system",), True
        )


def thinking(body: Mapping[str, Any]) -> str | None:
    options = body.get("providerOptions")
    anthropic = options.get("anthropic") if isinstance(options, dict) else None
    return switch(anthropic.get("thinking")) if isinstance(anthropic, dict) else None


SHAPE = WireShape(AI_SDK, ("messages", "prompt"), frozenset({"role", "content"}), read, thinking, ("system", "instructions"), system_blocks)
