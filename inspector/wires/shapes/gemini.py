"""Contents of Gemini's generateContent, in camelCase or snake_case: the API takes both."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.model import Kind
from inspector.projections.base import GEMINI
from inspector.text import jsontext
from inspector.wires.shapes.base import At, WireBlock, WireShape, content_of, extra, or_empty, unknown, wrong

_SNAKE = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "thought_signature": "thoughtSignature",
    "mime_type": "mimeType",
}
_ROLES = {"model": "assistant", "function": "user"}


def _block(role: str, value: dict[str, Any], at: At) -> WireBlock:
    if not value:
        return WireBlock(role, Kind.CONTROL, {"type": "control", "empty": "{}", "block": value, "wire": GEMINI}, at)
    part = {_SNAKE.get(name, name): item for name, item in value.items()}
    signature = part.get("thoughtSignature")
    signed: dict[str, Any] = {"signature": signature} if isinstance(signature, str) else {}
    match part:
        case {"functionCall": {"name": str(name), **call}} if isinstance(call.get("args", {}), dict | str):
            call_id = call.get("id")
            payload: dict[str, Any] = {"type": "tool-call", "toolCallId": call_id if isinstance(call_id, str) else "", "toolName": name}
            payload |= {"input": call.get("args", {}), **signed}
            rest = _rest(part, "functionCall", ("id", "name", "args"), "thoughtSignature")
            return WireBlock(role, Kind.TOOL_CALL, payload | rest, at)
        case {"functionResponse": {"name": str(name), "response": dict(), **call}}:
            return _result(name, part["functionResponse"], part, at)
        case {"text": str(text)} if part.get("thought") is True:
            rest = extra(part, GEMINI, "text", "thought", "thoughtSignature")
            return WireBlock(role, Kind.THINKING, {"type": "thinking", "text": text, **signed} | rest, at)
        case {"thought": True} if signed:
            # A signature alone is what a streamed thought ends in; that it has no text is kept.
            return WireBlock(role, Kind.THINKING, {"type": "thinking", **signed} | extra(part, GEMINI, "thoughtSignature"), at)
        case {"text": str(text)}:
            return WireBlock(role, Kind.TEXT, {"type": "text", "text": text} | extra(part, GEMINI, "text"), at)
        case {"inlineData": {"data": str(data), **source}}:
            kind = source.get("mimeType", source.get("mime_type"))
            if len(source) == 1 and isinstance(kind, str) and kind.startswith("image/"):
                return WireBlock(
                    role, Kind.IMAGE, {"type": "image", "url": f"data:{kind};base64,{data}"} | extra(part, GEMINI, "inlineData"), at
                )
        case {"functionCall": _} | {"text": _} | {"functionResponse": _}:
            return wrong(role, value, GEMINI, at, "the part lacks a name or text, or has a member of a wrong type")
    return unknown(role, value, GEMINI, at)


def _result(name: str, response_part: Mapping[str, Any], part: Mapping[str, Any], at: At) -> WireBlock:
    call_id, response = response_part.get("id"), response_part.get("response")
    payload: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id if isinstance(call_id, str) else "", "toolName": name}
    alone = next(iter(response.items())) if isinstance(response, dict) and len(response) == 1 else ("", None)
    plain = alone[0] in ("output", "result", "error") and isinstance(alone[1], str)
    payload["content"] = alone[1] if plain else jsontext.compact(response)
    if not plain or alone[0] == "result":
        payload |= {"blocks": [response], "wire": GEMINI}
    payload["isError"] = alone[0] == "error"
    return WireBlock("tool", Kind.TOOL_RESULT, payload | _rest(part, "functionResponse", ("id", "name", "response")), at)


def _rest(part: Mapping[str, Any], name: str, inside: tuple[str, ...], *others: str) -> dict[str, Any]:
    """What a call or a result has in addition: next to it in its part, and in itself, as the images of a result are."""
    unread = {member: value for member, value in part[name].items() if member not in inside}
    return extra({**part, name: unread}, GEMINI, *others) if unread else extra(part, GEMINI, name, *others)


def read(content: Mapping[str, Any]) -> Iterator[WireBlock]:
    stored_role = content.get("role", "user")
    role = _ROLES.get(stored_role, stored_role) if isinstance(stored_role, str) else ""
    if isinstance(content.get("parts"), str):
        yield wrong(role, content["parts"], GEMINI, ("parts",), "parts is a text, no list of parts")
        return
    yield from or_empty(content_of(content, role, GEMINI, _block, "parts"), content, role, "parts")


def system_blocks(value: Any) -> Iterator[WireBlock]:
    if not isinstance(value, dict):
        return
    for block in content_of(value, "system", GEMINI, _block, "parts"):
        is_text = block.kind is Kind.TEXT
        at = ("systemInstruction", *block.at)
        payload = dict(block.payload) | ({"type": "system"} if is_text else {})
        yield WireBlock("system", Kind.SYSTEM if is_text else block.kind, payload, at, block.whole, block.damage, block.reason)


def thinking(body: Mapping[str, Any]) -> str | None:
    settings = body.get("generationConfig", body.get("generation_config", body.get("config")))
    config = settings.get("thinkingConfig", settings.get("thinking_config")) if isinstance(settings, dict) else None
    if not isinstance(config, dict):
        return None
    budget = config.get("thinkingBudget", config.get("thinking_budget"))
    return "disabled" if budget == 0 and not isinstance(budget, bool) else "enabled"


SHAPE = WireShape(
    GEMINI,
    ("contents",),
    frozenset({"role", "parts"}),
    read,
    thinking,
    ("systemInstruction", "system_instruction"),
    system_blocks,
    says={"assistant": "model", "tool": "user"},
    may_omit_ids=True,
)
