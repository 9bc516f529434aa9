"""An answer that was not streamed, as the events of a stream that say the same: then the rules for streams judge it. And back, when they are corrected."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES = "Anthropic", "OpenAI Chat Completions", "OpenAI Responses"
_ENDED = ("completed", "incomplete", "failed")
"""Of a response; others go on, or were cancelled."""
_DELTAS = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
}
"""The delta and its member by the type of Anthropic's block; a block of another type comes whole when it starts."""


def as_stream(value: Any) -> tuple[str, bytes] | None:
    """The API and the server-sent events; None of what is no whole answer of one that is known here."""
    if not isinstance(value, Mapping):
        return None
    if value.get("type") == "message" and isinstance(value.get("content"), list) and "stop_reason" in value:
        return ANTHROPIC, _named(_of_anthropic(value))
    if value.get("object") == "chat.completion" and isinstance(value.get("choices"), list) and not _has_media(value["choices"]):
        return OPENAI_CHAT, b"".join(map(_data, _of_chat(value))) + b"data: [DONE]\n\n"
    if value.get("object") == "response" and isinstance(value.get("output"), list) and str(value.get("status")) in _ENDED:
        return OPENAI_RESPONSES, _named({**event, "sequence_number": number} for number, event in enumerate(_of_responses(value)))
    return None


def _data(event: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def _named(events: Iterator[Mapping[str, Any]]) -> bytes:
    return b"".join(f"event: {event['type']}\n".encode() + _data(event) for event in events)


def _of_anthropic(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    ending = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
    yield {"type": "message_start", "message": {**message, "content": [], **dict.fromkeys(ending)}}
    for index, block in enumerate(message["content"]):
        at = {"index": index}
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_use":
            yield {"type": "content_block_start", **at, "content_block": {**block, "input": {}}}
            parts = [{"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))}]
        elif isinstance(kind, str) and kind in _DELTAS:
            delta, member = _DELTAS[kind]
            yield {
                "type": "content_block_start",
                **at,
                "content_block": {**block, member: "", **({"signature": ""} if "signature" in block else {})},
            }
            parts = [{"type": delta, member: block.get(member)}]
            if "signature" in block:
                parts.append({"type": "signature_delta", "signature": block["signature"]})
        else:
            yield {"type": "content_block_start", **at, "content_block": block}
            parts = []
        yield from ({"type": "content_block_delta", **at, "delta": part} for part in parts)
        yield {"type": "content_block_stop", **at}
    yield {"type": "message_delta", "delta": ending, "usage": message.get("usage", {})}
    yield {"type": "message_stop"}


def _of_chat(completion: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    around = {**completion, "object": "chat.completion.chunk"}
    choices = [choice for choice in completion["choices"] if isinstance(choice, Mapping)]
    for choice in choices:
        message = choice.get("message")
        delta = dict(message) if isinstance(message, Mapping) else {}
        if isinstance(calls := delta.get("tool_calls"), list):
            # Mistral leaves the type out.
            delta["tool_calls"] = [
                {"type": "function", **call, "index": index} if isinstance(call, Mapping) else call for index, call in enumerate(calls)
            ]
        index = choice.get("index", 0)
        yield {**around, "choices": [{"index": index, "delta": delta, "finish_reason": None}], "usage": None}
        yield {**around, "choices": [{"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}], "usage": None}
    if "usage" in completion:
        yield {**around, "choices": []}


def _of_responses(response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _has_media(choices: list[Any]) -> bool:
    """A stream brings audio and images in pieces of their own, which are not judged."""
    messages = (choice.get("message") for choice in choices if isinstance(choice, Mapping))
    return any(isinstance(message, Mapping) and (message.get("audio") or message.get("images")) for message in messages)


def as_answer(original: Mapping[str, Any], events: str) -> dict[str, Any]:
    """The answer that says what the events of its corrected stream say. What no event brings is as in the original. Raises ValueError."""
    values = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: ") and line != "data: [DONE]"]
    if original.get("object") == "chat.completion":
        return {**original, "choices": [_with_choice(choice, values) for choice in original["choices"] if isinstance(choice, Mapping)]}
    if original.get("object") == "response":
        ended = values[-1]["response"]
        members = (name for name in ("status", "incomplete_details", "output") if name in original or ended.get(name) is not None)
        return {**original, **{name: ended.get(name) for name in members}}
    ending = next(value["delta"] for value in reversed(values) if value.get("type") == "message_delta")
    return {**original, "content": _blocks(values), **{name: ending.get(name) for name in ("stop_reason", "stop_sequence")}}


def _with_choice(choice: Mapping[str, Any], values: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Log probabilities are those of the tokens that were sent."""
    own = [of for value in values for of in value["choices"] if of["index"] == choice.get("index", 0)]
    said, calls = dict[str, str](), dict[int, dict[str, Any]]()
    for name, part in ((name, part) for of in own for name, part in of["delta"].items()):
        if name == "tool_calls":
            for piece in part:
                _join_call(calls.setdefault(piece["index"], {}), piece)
        elif isinstance(part, str):
            said[name] = part if name == "role" else said.get(name, "") + part
    message = choice.get("message")
    texts = {name: None for name, text in (message.items() if isinstance(message, Mapping) else ()) if isinstance(text, str)}
    whole = {**(message if isinstance(message, Mapping) else {}), **texts, **said}
    whole = {**whole, "tool_calls": list(calls.values())} if calls else {name: part for name, part in whole.items() if name != "tool_calls"}
    ended = next((of["finish_reason"] for of in reversed(own) if of.get("finish_reason")), choice.get("finish_reason"))
    return {name: part for name, part in choice.items() if name != "logprobs"} | {"message": whole, "finish_reason": ended}


def _join_call(call: dict[str, Any], piece: Mapping[str, Any]) -> None:
    function: Mapping[str, str] = call.get("function", {"name": "", "arguments": ""})
    joined = {name: function[name] + (piece.get("function", {}).get(name) or "") for name in function}
    call.update({**{name: part for name, part in piece.items() if name != "index" and part is not None}, "function": joined})


def _blocks(values: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    blocks, inputs = dict[int, dict[str, Any]](), dict[int, str]()
    members = dict((*_DELTAS.values(), ("signature_delta", "signature")))
    for value in values:
        match value.get("type"), value.get("delta"):
            case "content_block_start", _:
                blocks[value["index"]] = dict(value["content_block"])
            case "content_block_delta", {"type": "input_json_delta", "partial_json": part}:
                inputs[value["index"]] = inputs.get(value["index"], "") + part
            case "content_block_delta", {"type": kind} if kind in members:
                block, member = blocks[value["index"]], members[kind]
                block[member] = (block.get(member) or "") + value["delta"][member]
    for index, text in inputs.items():
        blocks[index]["input"] = json.loads(text)
    return [block for _, block in sorted(blocks.items())]
