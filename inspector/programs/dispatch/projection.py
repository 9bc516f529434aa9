"""The request that Dispatch's OpenAI converter makes of messages: `convertMessages`, with all that it loses named.

Read off upstream's convert-messages.ts (b58fb83, 04356c8); its own tests are the rows C-1 to C-17 of our cases.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from inspector.conversation.model import Chunk, Dropped, Kind, Message
from inspector.projections.base import Projection, Prompt, PromptPart, WireMessage
from inspector.text import js_json, jsontext
from inspector.text.jsontext import Unreadable

NAME, FIXES = "dispatch-openai", ("wrapped", "omitted")
"""The converter as shipped, and its variants that were proposed."""
_HINT_UNITS = 200
# Upstream's fix 3; the copy of the report that circulates lost the tags.
_THINKING: dict[str, tuple[str, Callable[[str], str]]] = {
    "joined": ("thinking joined to the text, untagged, as shipped", lambda text: text),
    "wrapped": ("proposed for the converter: thinking wrapped in <think> tags", lambda text: f"<think>\n{text}\n</think>\n"),
    "omitted": ("thinking left out", lambda text: ""),
}


def arguments(value: Any) -> str:
    """The `arguments` string of a call. A string that does not parse becomes a hint of its first 200 UTF-16 units."""
    if not isinstance(value, str):
        return js_json.stringify(value)
    try:
        return js_json.stringify(jsontext.parse(value))
    except Unreadable:
        units = value.encode("utf-16-le", "surrogatepass")[: 2 * _HINT_UNITS]
        return jsontext.compact({"_malformed_arguments": units.decode("utf-16-le", "surrogatepass")})


def convert(name: str, thinking: str, messages: Sequence[Message]) -> Prompt:
    wire: list[WireMessage] = []
    lost: list[Dropped] = []
    for message in messages:
        sent, left_out = _MESSAGE[message.role](message, len(wire), thinking) if message.role in _MESSAGE else ([], list(message.chunks))
        wire += sent
        by_kind: dict[Kind, list[Chunk]] = {}
        for chunk in left_out:
            by_kind.setdefault(chunk.kind, []).append(chunk)
        for kind, chunks in by_kind.items():
            lost.append(Dropped(tuple(chunks), f"{kind} dropped from {message.role or 'roleless'} messages"))
    as_words = [part.chunk.seq for message in wire for part in message.parts if part.chunk.kind is Kind.THINKING and thinking == "joined"]
    return Prompt(name, tuple(wire), tuple(lost), as_words=tuple(as_words))


_Converted = tuple[list[WireMessage], list[Chunk]]


def _joined(role: str, kinds: frozenset[Kind], message: Message, at: int, thinking: str) -> _Converted:
    parts = [PromptPart(f"messages.{at}.content", chunk, chunk.text) for chunk in message.chunks if chunk.kind in kinds]
    value = {"role": role, "content": "".join(part.text for part in parts)}
    return [WireMessage(value, tuple(parts), message)], [chunk for chunk in message.chunks if chunk.kind not in kinds]


def _user(message: Message, at: int, thinking: str) -> _Converted:
    if not any(chunk.kind is Kind.IMAGE for chunk in message.chunks):
        return _joined("user", frozenset({Kind.TEXT}), message, at, thinking)
    content: list[dict[str, Any]] = []
    parts: list[PromptPart] = []
    lost: list[Chunk] = []
    for chunk in message.chunks:
        if chunk.kind is Kind.TEXT and chunk.text:
            value: dict[str, Any] = {"type": "text", "text": chunk.text}
        elif chunk.kind is Kind.IMAGE:
            value = {"type": "image_url", "image_url": {"url": chunk.text}}
        else:
            if chunk.kind is not Kind.TEXT:
                lost.append(chunk)
            continue
        parts.append(PromptPart(f"messages.{at}.content.{len(content)}", chunk, chunk.text))
        content.append(value)
    return [WireMessage({"role": "user", "content": content}, tuple(parts), message)], lost


def _assistant(message: Message, at: int, thinking: str) -> _Converted:
    wrap = _THINKING[thinking][1]
    texts: list[PromptPart] = []
    call_parts: list[PromptPart] = []
    tool_calls: list[dict[str, Any]] = []
    lost: list[Chunk] = []
    for chunk in message.chunks:
        if chunk.kind is Kind.TEXT:
            texts.append(PromptPart(f"messages.{at}.content", chunk, chunk.text))
        elif chunk.kind is Kind.THINKING and thinking != "omitted":
            texts.append(PromptPart(f"messages.{at}.content", chunk, wrap(chunk.text)))
        elif chunk.kind is Kind.TOOL_CALL:
            function = {"name": chunk.tool_name, "arguments": arguments(chunk.payload.get("input"))}
            call_parts.append(
                PromptPart(f"messages.{at}.tool_calls.{len(tool_calls)}", chunk, f"{chunk.tool_name} {function['arguments']}")
            )
            tool_calls.append({"id": chunk.call_id, "type": "function", "function": function})
        else:
            lost.append(chunk)
    content = "".join(part.text for part in texts)
    value: dict[str, Any] = {"role": "assistant", "content": None if tool_calls and not content else content}
    if tool_calls:
        value["tool_calls"] = tool_calls
    return [WireMessage(value, tuple(texts + call_parts), message)], lost


def _tool(message: Message, at: int, thinking: str) -> _Converted:
    wire: list[WireMessage] = []
    for chunk in message.chunks:
        if chunk.kind is Kind.TOOL_RESULT:
            value = {"role": "tool", "content": chunk.text, "tool_call_id": chunk.call_id}
            wire.append(WireMessage(value, (PromptPart(f"messages.{at + len(wire)}.content", chunk, chunk.text),), message))
    return wire, [chunk for chunk in message.chunks if chunk.kind is not Kind.TOOL_RESULT]


_MESSAGE: dict[str, Callable[[Message, int, str], _Converted]] = {
    "system": partial(_joined, "system", frozenset({Kind.TEXT, Kind.SYSTEM})),
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
}


def projection(thinking: str = "joined") -> Projection:
    name = NAME if thinking == "joined" else f"{NAME}+{thinking}"
    return Projection(
        name,
        "OpenAI chat messages as Dispatch converts them",
        f"Lossy: {_THINKING[thinking][0]}; texts of one message are joined with nothing between.",
        partial(convert, name, thinking),
        tuple((word, title) for word, (title, _) in _THINKING.items()),
    )


def variants() -> tuple[Projection, ...]:
    return tuple(projection(thinking) for thinking in _THINKING)
