"""An answer that was not streamed with what the events of its corrected stream say: what the correction leaves alone is as it was, with all its members."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Part = Mapping[str, Any]
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Members of a message of Chat Completions in which servers write thinking; an encoded stream has the first."""
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def corrected_answer(original: Part, events: str) -> dict[str, Any]:
    """`events`: of the corrected stream, as server-sent events. Raises ValueError, LookupError or TypeError where the answer is not of one choice and its parts."""
    values = [json.loads(line[6:]) for line in events.split("\n") if line.startswith("data: ") and line != "data: [DONE]"]
    if original.get("object") == "chat.completion":
        (choice,) = original["choices"]
        return {**original, "choices": [_choice(choice, values)]}
    if original.get("object") == "response":
        return _response(original, values[-1]["response"])
    ending: Part = next((value["delta"] for value in reversed(values) if value.get("type") == "message_delta"), {})
    blocks = _kept(original["content"], list(_blocks(values)), _ANTHROPIC)
    return {**original, "content": blocks, **{name: ending.get(name) for name in ("stop_reason", "stop_sequence")}}


def _choice(choice: Part, values: Iterable[Part]) -> dict[str, Any]:
    texts, calls = dict[str, str](), dict[int, dict[str, Any]]()
    own = [of for value in values for of in value["choices"]]
    if any(of["index"] != choice["index"] for of in own):
        raise ValueError("the choice has another index than the stream")
    for name, part in ((name, part) for of in own for name, part in of["delta"].items()):
        if name == "tool_calls":
            for piece in part:
                _join_call(calls.setdefault(piece["index"], {}), piece)
        elif isinstance(part, str):
            texts[name] = texts.get(name, "") + part
    message = dict(choice["message"])
    result = {**choice, "message": message, "finish_reason": _finish(own)}
    if (message.get("content") or "") != texts.get("content", ""):
        message["content"] = texts.get("content") or None
        # They are of the tokens that were sent.
        result |= {"logprobs": None} if choice.get("logprobs") else {}
    thought = next((name for name in _THOUGHTS if message.get(name)), _THOUGHTS[0])
    if (message.get(thought) or "") != texts.get(_THOUGHTS[0], ""):
        message[thought] = texts.get(_THOUGHTS[0]) or None
    if calls:
        message["tool_calls"] = _kept(message.get("tool_calls") or [], list(calls.values()), _CHAT)
    elif message.get("tool_calls"):
        del message["tool_calls"]
    return result


def _finish(choices: Sequence[Part]) -> str | None:
    return next((of["finish_reason"] for of in reversed(choices) if of.get("finish_reason")), None)


def _join_call(call: dict[str, Any], piece: Part) -> None:
    function: Mapping[str, str] = call.get("function", {"name": "", "arguments": ""})
    joined = {name: function[name] + (piece.get("function", {}).get(name) or "") for name in function}
    call.update({**{name: part for name, part in piece.items() if name != "index" and part is not None}, "function": joined})


def _response(original: Part, ended: Part) -> dict[str, Any]:
    output = _kept(original["output"], ended["output"], _RESPONSES)
    members = (name for name in ("status", "incomplete_details") if name in original or ended.get(name) is not None)
    result = {**original, "output": output, **{name: ended.get(name) for name in members}}
    if isinstance(original.get("output_text"), str):
        result["output_text"] = "".join(_text_of_item(item) or "" for item in output if item.get("type") == "message")
    return result


def _blocks(values: Iterable[Part]) -> Iterator[Part]:
    blocks, inputs = dict[int, dict[str, Any]](), dict[int, str]()
    for value in values:
        delta = value.get("delta") or {}
        if value["type"] == "content_block_start":
            blocks[value["index"]] = dict(value["content_block"])
        elif value["type"] == "content_block_delta" and delta["type"] == "input_json_delta":
            inputs[value["index"]] = inputs.get(value["index"], "") + delta["partial_json"]
        elif value["type"] == "content_block_delta":
            block, member = blocks[value["index"]], _DELTAS[delta["type"]]
            block[member] = (block.get(member) or "") + delta[member]
    for index, text in inputs.items():
        blocks[index]["input"] = json.loads(text)
    return (block for _, block in sorted(blocks.items()))


@dataclass(frozen=True, slots=True)
class _Kinds:
    """How the parts of an API are compared. `text`: of a part whose text may be joined with that of the next, None of another; `call`: what two calls share that
    are the same, None of what is none; `changed`: a part with what another says.
    """

    call_id: str
    text: Callable[[Part], str | None]
    call: Callable[[Part], object]
    changed: Callable[[Part, Part], Part]


def _text_of_item(item: Part) -> str | None:
    if item["type"] not in ("message", "reasoning"):
        return None
    return "".join(piece.get("text") or "" for name in ("summary", "content") for piece in item.get(name) or [])


_CHAT = _Kinds("id", lambda call: None, lambda call: (call["function"]["name"], call["function"]["arguments"]), lambda call, other: other)
_ANTHROPIC = _Kinds(
    "id",
    lambda block: block.get(block["type"]) if block["type"] in ("text", "thinking") else None,
    lambda block: (block["name"], block["input"]) if block["type"] == "tool_use" else None,
    # A citation is of the words that were there.
    lambda block, other: {name: value for name, value in block.items() if name != "citations"} | dict(other),
)
_RESPONSES = _Kinds(
    "call_id",
    _text_of_item,
    lambda item: (item["name"], item["arguments"]) if item["type"] == "function_call" else None,
    lambda item, other: {**item, **{name: other[name] for name in ("content", "summary") if name in other}},
)


def _kept(original: Sequence[Part], corrected: Sequence[Part], how: _Kinds) -> list[Part]:
    """The corrected parts, with the original in the place of each that says the same: one, or several whose texts were joined. What says nothing, as a reasoning
    item that is encrypted, is in no encoded stream, and stays where it was.
    """
    left, result = dict(enumerate(original)), list[tuple[float, Part]]()
    for part in corrected:
        result += _same(left, part, how) or [(result[-1][0] if result else -1, part)]
    for place, part in left.items():
        if how.call(part) is None and not how.text(part):
            before = next((at for at, (other, _) in enumerate(result) if other > place), len(result))
            result.insert(before, (place, part))
    return [part for _, part in result]


def _same(left: dict[int, Part], part: Part, how: _Kinds) -> list[tuple[float, Part]]:
    """Takes what says the same out of `left`, with its places; a changed text takes the members of the first that is left of its kind."""
    text, call = how.text(part), how.call(part)
    if call is not None:
        place = next((at for at, other in left.items() if how.call(other) == call), None)
        if place is None:
            return []
        own = left.pop(place)
        return [(place, own if own.get(how.call_id) == part.get(how.call_id) else {**own, how.call_id: part.get(how.call_id)})]
    of_kind = [at for at, other in left.items() if other.get("type") == part.get("type")]
    for start in range(len(of_kind)):
        joined = ""
        for end in range(start, len(of_kind)):
            joined += how.text(left[of_kind[end]]) or ""
            if joined == (text or ""):
                return [(at, left.pop(at)) for at in of_kind[start : end + 1]]
    return [(place, how.changed(left.pop(place), part)) for place in of_kind[:1]]
