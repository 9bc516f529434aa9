"""The ids under which pi sends calls of another model: Anthropic's rule, where it is Anthropic's (`transformMessages`, first pass, since 0.45.4).

Of other apis the ids stay as they are stored: their rules differ between versions of pi.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.pi_openclaw.readers.rows import model_of, stored_name

_OTHER_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_MOST = 64
_APIS = ("anthropic-messages", "bedrock-converse-stream")
_GOOGLE = ("google-generative-ai", "google-gemini-cli", "google-vertex")


def normalized(messages: Sequence[Message], target: tuple[object, object, object]) -> list[Message]:
    """Calls of other models than `target` (provider, model, api) without their thought signature and under a new id, and the results that follow."""
    renamed: dict[str, str] = {}
    is_ruled = target[2] in _APIS or (target[2] in _GOOGLE and str(target[1]).startswith(("claude-", "gpt-oss-")))
    result: list[Message] = []
    for message in messages:
        if message.role == "assistant" and model_of(message.chunks[0]) != target:
            message = _with(message, [_call(chunk, renamed, is_ruled) for chunk in message.chunks])
        elif message.role == "tool" and renamed:
            message = _with(message, [_result(chunk, renamed) for chunk in message.chunks])
        result.append(message)
    return result


def _call(chunk: Chunk, renamed: dict[str, str], is_ruled: bool) -> Chunk:
    if chunk.kind is not Kind.TOOL_CALL or stored_name(chunk, "toolCall") != "toolCall":
        return chunk
    id_ = _OTHER_CHARACTERS.sub("_", chunk.call_id)[:_MOST] if is_ruled else chunk.call_id
    if id_ != chunk.call_id:
        renamed[chunk.call_id] = id_
    elif "signature" not in chunk.payload:
        return chunk
    members = {name: value for name, value in chunk.payload.items() if name != "signature"}
    return replace(chunk, payload={**members, "toolCallId": id_})


def _result(chunk: Chunk, renamed: dict[str, str]) -> Chunk:
    new = renamed.get(chunk.call_id) if stored_name(chunk, "toolCallId") == "toolCallId" else None
    return chunk if new is None else replace(chunk, payload={**chunk.payload, "toolCallId": new})


def _with(message: Message, chunks: list[Chunk]) -> Message:
    changed = any(new is not old for new, old in zip(chunks, message.chunks, strict=True))
    return replace(message, chunks=tuple(chunks)) if changed else message
