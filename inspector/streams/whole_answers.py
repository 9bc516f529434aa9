"""An answer that was not streamed, as the events of a stream that say the same: then the rules for streams judge it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES = "Anthropic", "OpenAI Chat Completions", "OpenAI Responses"
_ENDED = ("completed", "incomplete", "failed")
"""Of a response; others go on, or were cancelled."""
_SHARED = ("id", "created", "model", "system_fingerprint")
"""Members of a completion that each of its events has."""
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
    # Whatever else it holds is in one event: an answer of many choices would be as many times as large.
    around = {name: completion[name] for name in _SHARED if name in completion} | {"object": "chat.completion.chunk"}
    whole = {**completion, **around}
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
        yield {**whole, "choices": [{"index": index, "delta": delta, "finish_reason": None}], "usage": None}
        whole = around
        yield {**around, "choices": [{"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}], "usage": None}
    if "usage" in completion:
        yield {**around, "choices": [], "usage": completion["usage"]}


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
