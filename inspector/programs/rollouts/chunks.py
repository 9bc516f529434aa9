"""One stored message of a rollouts session as chunks: a chunk for each block, a tool message as its one result."""

from collections.abc import Mapping
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.programs.rollouts.lines import MessageLine, parsed, split
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable
from inspector.text.timestamps import milliseconds

WIRE = "rollouts"
_MISSING = object()
_OF_MESSAGE = ("provider", "api", "model", "timestamp")
# Both spellings of a call: what an older program or an import stored is shown, whatever today's loader says of it.
_CALLS = {"toolCall": "arguments", "tool_use": "input"}
_SIGNATURE = {"thinking": ("thinking_signature", "signature"), "toolCall": ("thought_signature",), "tool_use": ("thought_signature",)}


def message_chunks(key: str, index: int, first: int, raw: bytes, message: Mapping[str, Any]) -> list[Chunk]:
    """Chunks of the message on line `index`, numbered from `first`; never none. What a block or its message has next to the words is under `stored`."""
    role = message.get("role") if isinstance(message.get("role"), str) else ""
    about = {name: message[name] for name in _OF_MESSAGE if message.get(name) is not None}
    at = milliseconds(message.get("timestamp"))
    content = message.get("content", _MISSING)
    details = {"details": message["details"]} if message.get("details") is not None else {}

    def chunk(place: int, kind: Kind, payload: dict[str, Any], damage: str = "", reason: str = "") -> Chunk:
        stored = {**payload.pop("stored", {}), **about, **(details if place == 0 else {})}
        if stored:
            payload["stored"] = stored
        return Chunk(f"{key}#{index}.{place}", first + place, role or "", kind, payload, index, place, raw, damage, reason, at)

    if not isinstance(message.get("role"), str):
        return [chunk(0, Kind.UNREADABLE, {"stored": {}}, "wrong-type", "the message has no role that is a text")]
    if role == "tool":
        return [chunk(0, *_result(message, content))]
    if content is None or content is _MISSING or content == []:
        return [chunk(0, Kind.CONTROL, {"type": "control", "empty": _EMPTY.get(str(content), "missing")})]
    if isinstance(content, str):
        kind, payload = _words(role, content)
        # The converter takes a system prompt for a list, and so loses one that is a plain string.
        return [chunk(0, kind, payload | ({"stored": {"plain": True}} if role == "system" else {}))]
    if not isinstance(content, list):
        payload = {"stored": {"content": content}}
        return [
            chunk(
                0, Kind.UNREADABLE, payload, "wrong-type", f"content is a JSON {jsontext.type_name(content)}, no text and no list of blocks"
            )
        ]
    return [chunk(place, *_block(role, block)) for place, block in enumerate(content)]


def file_chunks(key: str, data: bytes) -> list[Chunk]:
    """Chunks of a messages.jsonl, seq over the whole file."""
    chunks: list[Chunk] = []
    for line in split(data)[0]:
        try:
            chunks += message_chunks(key, line.index, len(chunks) + 1, line.raw, parsed(line.raw))
        except Unreadable as problem:
            chunks.append(unreadable_line(key, line, len(chunks) + 1, problem))
    return chunks


def unreadable_line(key: str, line: MessageLine, seq: int, problem: Unreadable) -> Chunk:
    torn = "" if line.ended else "; the file ends in it, without a line end"
    reason = f"{problem.reason}, in the line at byte {line.offset:,}{torn}"
    return Chunk(f"{key}#{line.index}.0", seq, "", Kind.UNREADABLE, {}, raw=line.raw, damage=problem.damage, reason=reason)


_EMPTY = {"None": "null", "[]": "[]"}
_ChunkParts = tuple[Kind, dict[str, Any]] | tuple[Kind, dict[str, Any], str, str]


def _words(role: str | None, text: str) -> tuple[Kind, dict[str, Any]]:
    kind = Kind.SYSTEM if role == "system" else Kind.TEXT
    return kind, {"type": kind.value, "text": text}


def _result(message: Mapping[str, Any], content: Any) -> _ChunkParts:
    call_id = message.get("tool_call_id")
    payload: dict[str, Any] = {"type": "tool-result", "toolCallId": call_id if isinstance(call_id, str) else "", "toolName": ""}
    if isinstance(content, list):
        texts = [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]
        payload |= {"content": "\n".join(texts), "isError": False, "blocks": content, "wire": WIRE}
    elif isinstance(content, str):
        payload |= {"content": content, "isError": False}
    elif content is None or content is _MISSING:
        payload |= {"content": "", "isError": False, "stored": {"empty": _EMPTY.get(str(content), "missing")}}
    else:
        return Kind.UNREADABLE, payload, "wrong-type", f"content of the tool message is a JSON {jsontext.type_name(content)}"
    return Kind.TOOL_RESULT, payload


def _block(role: str | None, block: Any) -> _ChunkParts:
    if not isinstance(block, dict):
        return Kind.UNREADABLE, {"stored": {"block": block}}, "wrong-type", f"a block is a JSON {jsontext.type_name(block)}, not an object"
    kind = block.get("type", "text")
    match kind:
        case "text" if isinstance(block.get("text", ""), str):
            text_kind, payload = _words(role, block.get("text", ""))
            return text_kind, _with_stored(payload, block, ("type", "text"))
        case "thinking" if isinstance(block.get("thinking", ""), str):
            payload = {"type": "thinking", "text": block.get("thinking", "")}
            return Kind.THINKING, _signed(payload, block, ("type", "thinking"))
        case "redacted_thinking" if isinstance(block.get("data"), str):
            return Kind.REDACTED_THINKING, _with_stored({"type": "redacted-thinking", "data": block["data"]}, block, ("type", "data"))
        case "image" if isinstance(block.get("image_url"), str):
            return Kind.IMAGE, _with_stored({"type": "image", "url": block["image_url"]}, block, ("type", "image_url"))
        case "toolCall" | "tool_use":
            return _call(block, _CALLS[kind])
        case "text" | "thinking":
            return Kind.UNREADABLE, {"stored": {"block": block}}, "wrong-type", f"the words of the {kind} block are no text"
    return Kind.CONTROL, {"type": "control", "block": block, "wire": WIRE}


def _call(block: Mapping[str, Any], arguments_name: str) -> _ChunkParts:
    value = block.get(arguments_name, {})
    payload: dict[str, Any] = {"type": "tool-call", "toolCallId": block.get("id"), "toolName": block.get("name"), "input": value}
    if not isinstance(block.get("id"), str) or not isinstance(block.get("name"), str) or not isinstance(value, dict | str):
        payload = {name: member for name, member in payload.items() if isinstance(member, str)}
        return (
            Kind.UNREADABLE,
            payload | {"stored": {"block": block}},
            "wrong-type",
            f"id, name or {arguments_name} of the call has the wrong type",
        )
    return Kind.TOOL_CALL, _signed(payload, block, ("type", "id", "name", arguments_name))


def _signed(payload: dict[str, Any], block: Mapping[str, Any], known_names: tuple[str, ...]) -> dict[str, Any]:
    for name in _SIGNATURE[block.get("type", "text")]:
        if isinstance(block.get(name), str):
            return _with_stored({**payload, "signature": block[name]}, block, (*known_names, name))
    return _with_stored(payload, block, known_names)


def _with_stored(payload: dict[str, Any], block: Mapping[str, Any], known_names: tuple[str, ...]) -> dict[str, Any]:
    remaining = {name: value for name, value in block.items() if name not in known_names and value is not None}
    return {**payload, "stored": remaining} if remaining else payload
