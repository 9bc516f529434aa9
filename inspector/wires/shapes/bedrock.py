"""Messages of Bedrock's Converse: a block's kind is the name of its one member."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.model import Kind
from inspector.projections.base import BEDROCK
from inspector.text import jsontext
from inspector.wires.shapes.base import At, WireBlock, WireShape, content_of, extra, or_empty, result, role_of, switch, unknown, wrong

KINDS = ("text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "cachePoint", "guardContent")


def _block(role: str, value: dict[str, Any], at: At) -> WireBlock:
    match value:
        case {"text": str(text)}:
            return WireBlock(role, Kind.TEXT, {"type": "text", "text": text} | extra(value, BEDROCK, "text"), at)
        case {"toolUse": {"toolUseId": str(call_id), "name": str(name), "input": dict() | str() as arguments}} if (
            len(value["toolUse"]) == 3
        ):
            payload = {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": arguments}
            return WireBlock(role, Kind.TOOL_CALL, payload | extra(value, BEDROCK, "toolUse"), at)
        case {"toolResult": {"toolUseId": str(call_id), "content": list(content), **rest}} if not rest.keys() - {"status"}:
            is_error = rest.get("status") == "error"
            alone = content[0] if len(content) == 1 and isinstance(content[0], dict) else {}
            content_value = alone["text"] if alone.keys() == {"text"} and isinstance(alone["text"], str) else content
            more = {name: item for name, item in value.items() if name != "toolResult"}
            if "status" in rest and not is_error:
                more["toolResult"] = {"status": rest["status"]}
            result_block = result(call_id, "", content_value, is_error, BEDROCK, {"extra": more, "wire": BEDROCK} if more else {}, at)
            if alone.keys() == {"json"}:
                return WireBlock(
                    result_block.role, result_block.kind, dict(result_block.payload) | {"content": jsontext.compact(alone["json"])}, at
                )
            return result_block
        case {"reasoningContent": {"reasoningText": {"text": str(text), **rest}}} if len(value["reasoningContent"]) == 1:
            if not rest or (rest.keys() == {"signature"} and isinstance(rest["signature"], str)):
                return WireBlock(
                    role,
                    Kind.THINKING,
                    {"type": "thinking", "text": text, **value["reasoningContent"]["reasoningText"]}
                    | extra(value, BEDROCK, "reasoningContent"),
                    at,
                )
        case {"reasoningContent": {"redactedContent": str(data)}} if len(value["reasoningContent"]) == 1:
            return WireBlock(
                role, Kind.REDACTED_THINKING, {"type": "redacted-thinking", "data": data} | extra(value, BEDROCK, "reasoningContent"), at
            )
        case {"image": {"format": str(kind), "source": {"bytes": str(data)}}} if len(value["image"]) == 2:
            return WireBlock(
                role, Kind.IMAGE, {"type": "image", "url": f"data:image/{kind};base64,{data}"} | extra(value, BEDROCK, "image"), at
            )
    broken = next((name for name in ("text", "toolUse", "toolResult") if name in value), None)
    return (
        wrong(role, value, BEDROCK, at, f"the {broken} block lacks a member, or has one of a wrong type")
        if broken
        else unknown(role, value, BEDROCK, at)
    )


def read(message: Mapping[str, Any]) -> Iterator[WireBlock]:
    role = role_of(message, {})
    return or_empty(content_of(message, role, BEDROCK, _block), message, role)


def system_blocks(value: Any) -> Iterator[WireBlock]:
    for block in content_of({"system": value}, "system", BEDROCK, _block, "system"):
        is_text = block.kind is Kind.TEXT
        yield WireBlock("system", Kind.SYSTEM, dict(block.payload) | {"type": "system"}, block.at, block.whole) if is_text else block


def thinking(body: Mapping[str, Any]) -> str | None:
    fields = body.get("additionalModelRequestFields")
    return switch(fields.get("thinking") or fields.get("reasoning_config")) if isinstance(fields, dict) else None


SHAPE = WireShape(BEDROCK, ("messages",), frozenset({"role", "content"}), read, thinking, ("system",), system_blocks, {"tool": "user"})
