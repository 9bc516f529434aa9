"""`content_blocks` of a message of gbrain as chunks: blocks of the direct Anthropic path (v1), of the gateway loop (v2), and both in one message.

A row's own `schema_version` is 1 whatever its blocks are (the program never sets it), so that a block's `type` decides.
"""

from collections.abc import Mapping
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.programs.gbrain.tables import inner
from inspector.projections.base import AI_SDK
from inspector.text import jsontext

V1, V2 = "v1", "v2"
_VERSION_OF_TYPE = {"tool_use": V1, "tool_result": V1, "thinking": V1, "redacted_thinking": V1, "tool-call": V2, "tool-result": V2}
"""Text blocks look the same in both."""
DOUBLE, BARE = "double", "bare"
"""How a message is encoded other than as an array: the text of an array in a JSON string; a JSON string of words."""

_ChunkParts = tuple[Kind, dict[str, Any]] | tuple[Kind, dict[str, Any], str, str]


def blocks_of(content: Any) -> tuple[list[Any] | None, str]:
    """The blocks of a row's parsed `content_blocks` (None: it is none), and how they are encoded: "" as an array, DOUBLE or BARE."""
    if isinstance(content, list):
        return content, ""
    if isinstance(content, str):
        inner_value = inner(content)
        if isinstance(inner_value, list):
            return inner_value, DOUBLE
        return [{"type": "text", "text": content}], BARE
    return None, ""


def encoding_of(chunk: Chunk) -> str:
    """How the row of a chunk is encoded: "", DOUBLE or BARE."""
    stored = chunk.payload.get("stored")
    return str(stored.get("encoding", "")) if isinstance(stored, Mapping) else ""


def version_of(block: Any) -> str:
    """`v1`, `v2`, or "" where nothing shows it."""
    return _VERSION_OF_TYPE.get(block.get("type", ""), "") if isinstance(block, dict) and isinstance(block.get("type"), str) else ""


def message_chunks(key: str, index: int, role: str, content: Any, raw: bytes, at: int | None, first: int) -> list[Chunk]:
    """Chunks of one row, `seq` from `first`; never none. `stored` of a payload is what else the block has, and how its row is encoded."""
    blocks, encoding = blocks_of(content)
    about = {"encoding": encoding} if encoding else {}

    def chunk(place: int, kind: Kind, payload: dict[str, Any], damage: str = "", reason: str = "") -> Chunk:
        if stored := {**payload.pop("stored", {}), **about}:
            payload["stored"] = stored
        chunk_role = "tool" if kind is Kind.TOOL_RESULT else role
        return Chunk(f"{key}#{place}", first + place, chunk_role, kind, payload, index, place, raw, damage, reason, at)

    if blocks is None:
        name = "null" if content is None else type(content).__name__
        reason = f"content_blocks is no array and no text ({name}): gbrain reads the message as empty"
        return [chunk(0, Kind.UNREADABLE, {"stored": {"content": content}}, "wrong-type", reason)]
    if not blocks:
        return [chunk(0, Kind.CONTROL, {"type": "control", "empty": "[]"})]
    return [chunk(place, *_block(block)) for place, block in enumerate(blocks)]


def _block(block: Any) -> _ChunkParts:
    match block:
        case {"type": "text", "text": str(text)}:
            return Kind.TEXT, _with_stored({"type": "text", "text": text}, block, "type", "text")
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            payload = {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": block.get("input", {})}
            return _call(payload, block, "type", "id", "name", "input")
        case {"type": "tool-call", "toolCallId": str(call_id), "toolName": str(name)}:
            payload = {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": block.get("input", {})}
            return _call(payload, block, "type", "toolCallId", "toolName", "input")
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            payload = {
                "type": "tool-result",
                "toolCallId": call_id,
                "toolName": "",
                **result_members(block.get("content"), block.get("is_error") is True),
            }
            return Kind.TOOL_RESULT, _with_stored(payload, block, "type", "tool_use_id", "content", "is_error")
        case {"type": "tool-result", "toolCallId": str(call_id)}:
            name = block.get("toolName")
            payload = {"type": "tool-result", "toolCallId": call_id, "toolName": name if isinstance(name, str) else ""}
            payload |= result_members(block.get("output"), block.get("isError") is True)
            return Kind.TOOL_RESULT, _with_stored(payload, block, "type", "toolCallId", "toolName", "output", "isError")
        case {"type": "thinking", "thinking": str(text)}:
            signed = {"signature": block["signature"]} if isinstance(block.get("signature"), str) else {}
            return Kind.THINKING, _with_stored({"type": "thinking", "text": text, **signed}, block, "type", "thinking", *signed)
        case {"type": "redacted_thinking", "data": str(data)}:
            return Kind.REDACTED_THINKING, _with_stored({"type": "redacted-thinking", "data": data}, block, "type", "data")
        case {"type": "text" | "tool_use" | "tool-call" | "tool_result" | "tool-result" as kind}:
            reason = f"the {kind} block lacks its id, name or words, or has one of a wrong type: gbrain leaves it out"
            return Kind.UNREADABLE, {"stored": {"block": block}}, "wrong-type", reason
        case {"type": str()}:
            return Kind.CONTROL, {"type": "control", "block": block}
    return Kind.UNREADABLE, {"stored": {"block": block}}, "wrong-type", "a block is no object with a type: gbrain leaves it out"


def _call(payload: dict[str, Any], block: Mapping[str, Any], *known_names: str) -> _ChunkParts:
    signature = _signature(block)
    return Kind.TOOL_CALL, _with_stored({**payload, **({"signature": signature} if signature else {})}, block, *known_names)


def _signature(block: Mapping[str, Any]) -> str:
    """Gemini's thought signature, kept with the call since #4201."""
    match block.get("providerMetadata"):
        case {"google": {"thoughtSignature": str(signature)}}:
            return signature
    return ""


def result_members(output: Any, is_error: bool) -> dict[str, Any]:
    """Words of a result, and the value itself where it is no text: the members that its payload has for any provider."""
    if isinstance(output, str):
        return {"content": output, "isError": is_error}
    block = {"type": "error-json" if is_error else "json", "value": output}
    return {"content": jsontext.compact(output), "isError": is_error, "blocks": [block], "wire": AI_SDK}


def _with_stored(payload: dict[str, Any], block: Mapping[str, Any], *known_names: str) -> dict[str, Any]:
    remaining = {name: value for name, value in block.items() if name not in known_names}
    return {**payload, "stored": remaining} if remaining else payload
