"""Items of OpenAI's Responses API."""

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.conversation.model import Kind
from inspector.projections.base import OPENAI_RESPONSES
from inspector.projections.openai_responses import CALL_TYPES, OUTPUT_TYPES, is_client_run
from inspector.text import jsontext
from inspector.wires.shapes.base import (
    At,
    WireBlock,
    WireShape,
    arguments,
    content_of,
    extra,
    joined,
    or_empty,
    result,
    role_of,
    text_in,
    unknown,
    wrong,
)

_ROLES = {"developer": "system"}


def _part(role: str, value: dict[str, Any], at: At) -> WireBlock:
    kind = Kind.SYSTEM if role == "system" else Kind.TEXT
    match value.get("type"):
        case "input_text" | "output_text" | "text" if text_in(value, "text"):
            return WireBlock(role, kind, {"type": kind.value, "text": value["text"]} | extra(value, OPENAI_RESPONSES, "type", "text"), at)
        case "input_image" if text_in(value, "image_url"):
            return WireBlock(
                role, Kind.IMAGE, {"type": "image", "url": value["image_url"]} | extra(value, OPENAI_RESPONSES, "type", "image_url"), at
            )
        case "input_text" | "output_text" as kind_name:
            return wrong(role, value, OPENAI_RESPONSES, at, f"the {kind_name} part has no text")
    return unknown(role, value, OPENAI_RESPONSES, at)


def read(item: Mapping[str, Any]) -> Iterator[WireBlock]:
    match item.get("type", "message"):
        case "message":
            role = role_of(item, _ROLES)
            plain = Kind.SYSTEM if role == "system" else Kind.TEXT
            yield from or_empty(content_of(item, role, OPENAI_RESPONSES, _part, plain=plain), item, role)
        case "function_call" if text_in(item, "call_id", "name") and isinstance(item.get("arguments", ""), str | dict):
            payload = {
                "type": "tool-call",
                "toolCallId": item["call_id"],
                "toolName": item["name"],
                "input": arguments(item.get("arguments", "")),
            }
            yield WireBlock("assistant", Kind.TOOL_CALL, payload | extra(item, OPENAI_RESPONSES, "type", "call_id", "name", "arguments"))
        case "custom_tool_call" if text_in(item, "call_id", "name", "input"):
            payload = {"type": "tool-call", "toolCallId": item["call_id"], "toolName": item["name"], "input": {"input": item["input"]}}
            yield WireBlock("assistant", Kind.TOOL_CALL, payload | extra(item, OPENAI_RESPONSES, "call_id", "name"))
        case "custom_tool_call_output" if text_in(item, "call_id") and isinstance(item.get("output"), str | list):
            rest = extra(item, OPENAI_RESPONSES, "call_id", "output")
            yield result(item["call_id"], "", item["output"], False, OPENAI_RESPONSES, rest, ())
        case "function_call_output" if text_in(item, "call_id") and isinstance(item.get("output"), str | list):
            rest = extra(item, OPENAI_RESPONSES, "type", "call_id", "output")
            yield result(item["call_id"], "", item["output"], False, OPENAI_RESPONSES, rest, ())
        case str(kind) if kind in CALL_TYPES and CALL_TYPES[kind].name and text_in(item, "call_id") and is_client_run(item):
            named = CALL_TYPES[kind]
            value = item.get(named.argument_member)
            payload = {
                "type": "tool-call",
                "toolCallId": item["call_id"],
                "toolName": named.name,
                "input": value if isinstance(value, dict) else {} if value is None else {named.argument_member: value},
            }
            yield WireBlock("assistant", Kind.TOOL_CALL, payload | extra(item, OPENAI_RESPONSES, "call_id"))
        case str(kind) if (
            kind in OUTPUT_TYPES and text_in(item, "call_id") and kind not in ("function_call_output", "custom_tool_call_output")
        ):
            rest = extra(item, OPENAI_RESPONSES, "call_id")
            yield result(item["call_id"], "", _words(item), item.get("status") == "failed", OPENAI_RESPONSES, rest, ())
        case "reasoning" if isinstance(item.get("summary", []), list):
            words = joined(item.get("summary", [])) or joined(item["content"] if isinstance(item.get("content"), list) else [])
            yield WireBlock("assistant", Kind.THINKING, {"type": "thinking", "text": words} | extra(item, OPENAI_RESPONSES, "type"))
        case "function_call" | "function_call_output" | "reasoning" as kind_name:
            role = "tool" if kind_name == "function_call_output" else "assistant"
            yield wrong(role, dict(item), OPENAI_RESPONSES, (), f"the {kind_name} item lacks a member, or has one of a wrong type")
        case _:
            yield unknown(role_of(item, _ROLES) or "assistant", dict(item), OPENAI_RESPONSES, ())


def _words(item: Mapping[str, Any]) -> str:
    """What the output of a shell, a patch or a search says; a screenshot says nothing."""
    output = item.get("output", item.get("tools"))
    if isinstance(output, str):
        return output
    if isinstance(output, list) and item.get("type") == "shell_call_output":
        texts = [piece.get(name) for piece in output if isinstance(piece, dict) for name in ("stdout", "stderr")]
        return "\n".join(words for words in texts if isinstance(words, str) and words)
    return jsontext.compact(output) if isinstance(output, list) else ""


def continues(body: Mapping[str, Any]) -> str | None:
    """The id of the response or conversation that the request goes on from: what its list leaves out may be there."""
    reference = body.get("previous_response_id") or body.get("conversation")
    native_id = reference.get("id") if isinstance(reference, dict) else reference
    return native_id if isinstance(native_id, str) and native_id else None


def system_blocks(value: Any) -> Iterator[WireBlock]:
    if isinstance(value, str) and value:
        yield WireBlock("system", Kind.SYSTEM, {"type": "system", "text": value}, ("instructions",), True)


def thinking(body: Mapping[str, Any]) -> str | None:
    effort = body["reasoning"].get("effort") if isinstance(body.get("reasoning"), dict) else None
    return None if not isinstance(effort, str) else "disabled" if effort == "none" else "enabled"


SHAPE = WireShape(
    OPENAI_RESPONSES,
    ("input",),
    frozenset({"role", "content"}),
    read,
    thinking,
    ("instructions",),
    system_blocks,
)
