"""Messages of OpenAI's Chat Completions, and of the many that speak it."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.model import Kind
from inspector.projections.base import OPENAI_CHAT
from inspector.wires.shapes.base import (
    At,
    WireBlock,
    WireShape,
    added,
    arguments,
    content_of,
    empty,
    extra,
    result,
    role_of,
    switch,
    text_in,
    unknown,
    wrong,
)

ROLES = {"developer": "system"}
_INSTEAD_OF_CONTENT = ("audio", "function_call")
"""Members that a message may hold instead of content: the id of what was spoken, and the call of the time before `tool_calls`."""


def _part(wire: str, role: str, value: dict[str, Any], at: At) -> WireBlock:
    kind = Kind.SYSTEM if role == "system" else Kind.TEXT
    match value.get("type"):
        case "text" if text_in(value, "text"):
            rest = extra(value, wire, "type", "text").get("extra", {})
            return WireBlock(role, kind, {"type": kind.value, "text": value["text"], "extra": {"list": True, **rest}, "wire": wire}, at)
        case "image_url" if isinstance(image := value.get("image_url"), dict) and text_in(image, "url"):
            rest = {name: item for name, item in image.items() if name != "url"}
            more = extra(value, wire, "type", "image_url").get("extra", {}) | ({"image_url": rest} if rest else {})
            return WireBlock(role, Kind.IMAGE, {"type": "image", "url": image["url"]} | ({"extra": more, "wire": wire} if more else {}), at)
        case "thinking" if wire != OPENAI_CHAT and isinstance(value.get("thinking"), list):
            words = "".join(
                item_of_thinking["text"]
                for item_of_thinking in value["thinking"]
                if isinstance(item_of_thinking, dict) and isinstance(item_of_thinking.get("text"), str)
            )
            return WireBlock(role, Kind.THINKING, {"type": "thinking", "text": words} | extra(value, wire, "type", "thinking"), at)
        case "text" as kind_name:
            return wrong(role, value, wire, at, f"the {kind_name} part has no text")
    return unknown(role, value, wire, at)


def _call(wire: str, value: Any, at: At) -> WireBlock:
    custom = value.get("custom") if isinstance(value, dict) and value.get("type") == "custom" else None
    if isinstance(custom, dict) and text_in(value, "id") and text_in(custom, "name", "input"):
        payload = {"type": "tool-call", "toolCallId": value["id"], "toolName": custom["name"], "input": {"input": custom["input"]}}
        return WireBlock("assistant", Kind.TOOL_CALL, payload | extra(value, wire, "id"), at)
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict) or not text_in(value, "id") or not text_in(function, "name"):
        return _wrong_call(value, wire, at, "the tool call has no id, or no function with a name")
    parsed_arguments = arguments(function.get("arguments", ""))
    if not isinstance(parsed_arguments, dict | str):
        return _wrong_call(value, wire, at, "the arguments of the call are neither text nor an object")
    payload = {"type": "tool-call", "toolCallId": value["id"], "toolName": function["name"], "input": parsed_arguments}
    call = WireBlock("assistant", Kind.TOOL_CALL, payload | extra(value, wire, "type", "id", "function"), at)
    return added(call, wire, object=True) if isinstance(function.get("arguments"), dict) else call


def _wrong_call(value: Any, wire: str, at: At, reason: str) -> WireBlock:
    return added(wrong("assistant", value, wire, at, reason), wire, field="tool_calls")


def blocks(message: Mapping[str, Any], wire: str) -> Iterator[WireBlock]:
    """The blocks of one message; reasoning first, calls last, as they are said."""
    role = role_of(message, ROLES)
    if role == "tool":
        yield _result(message, wire)
        return
    plain = Kind.SYSTEM if role == "system" else Kind.TEXT
    content_blocks = list(content_of(message, role, wire, lambda role, value, at: _part(wire, role, value, at), plain=plain))
    called, reasoning = message.get("tool_calls"), message.get("reasoning_content")
    # Empty reasoning is what clients give DeepSeek back where they lost it; alone it is no more than an empty message.
    if isinstance(reasoning, str) and (reasoning or content_blocks or called):
        # With reasoning alone some have null, which OpenAI refuses, and some an empty text.
        null = {"null": True} if message.get("content", "") is None and not called else {}
        payload = {"type": "thinking", "text": reasoning, "extra": {"field": "reasoning_content", **null}, "wire": wire}
        yield WireBlock(role, Kind.THINKING, payload, ("reasoning_content",), True)
    yield from content_blocks
    if isinstance(called, list):
        for index, call in enumerate(called):
            yield _call(wire, call, ("tool_calls", index))
    elif called is not None:
        yield wrong(role, called, wire, ("tool_calls",), "tool_calls is no list")
    if content_blocks or called not in (None, []) or (isinstance(reasoning, str) and reasoning):
        return
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        payload = {"type": "text", "text": message["refusal"], "extra": {"field": "refusal"}, "wire": wire}
        yield WireBlock(role, plain, payload, ("refusal",), True)
    elif any(isinstance(message.get(name), dict) for name in _INSTEAD_OF_CONTENT):
        yield unknown(role, dict(message), wire, ())
    else:
        yield empty(role, message.get("content"), (), "content" in message)


def _result(message: Mapping[str, Any], wire: str) -> WireBlock:
    content, call_id, name = message.get("content"), message.get("tool_call_id"), message.get("name")
    if not isinstance(call_id, str) or not isinstance(content, str | list | None):
        block = wrong("tool", dict(message), wire, ("content",), "the tool message has no tool_call_id, or content that is no text")
        return WireBlock(block.role, block.kind, block.payload, block.at, True, block.damage, block.reason)
    # No content, or null, is refused by some: it stays as it is.
    bare = {} if isinstance(content, str | list) else {"extra": {"content": None} if "content" in message else {"bare": True}, "wire": wire}
    block = result(call_id, name if isinstance(name, str) else "", content, False, wire, bare, ("content",), True)
    fields = {field: value for field, value in message.items() if field not in ("role", "content", "tool_call_id")}
    return added(block, wire, message=fields) if fields else block


def thinking(body: Mapping[str, Any]) -> str | None:
    """By `thinking` (DeepSeek) or the effort that is asked for."""
    effort = body.get("reasoning_effort")
    if isinstance(effort, str):
        return "disabled" if effort == "none" else "enabled"
    return switch(body.get("thinking"))


OWNED = frozenset({"role", "content", "reasoning_content", "tool_calls", "tool_call_id"})
SHAPE = WireShape(OPENAI_CHAT, ("messages",), OWNED, lambda message: blocks(message, OPENAI_CHAT), thinking)
