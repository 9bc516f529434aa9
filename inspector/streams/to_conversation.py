"""An assembled message as a conversation, so that its rules look at what came back as they do at what is stored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.streams.assembling import arguments
from inspector.streams.call_syntax.base import Tools
from inspector.streams.model import Assembled, StreamBlock

STREAM = "stream"
"""The name of the format."""


def conversation(answers: Sequence[Assembled], native_id: str, title: str = "", tools: Tools = None) -> Conversation:
    """One assistant message an answer. A chunk is keyed by the event that began it: `event-7`, and `event-7.1` where one event began several.

    `tools`: names of those that the request declares, None where that is not known.
    """
    facts = {} if tools is None else {"tools": Fact("tools", ", ".join(tools))}
    return Conversation(native_id, STREAM, tuple(_chunks(answers)), title=title, facts=facts)


def _chunks(answers: Sequence[Assembled]) -> Iterator[Chunk]:
    keys: dict[str, int] = {}
    seq = 0
    for number, answer in enumerate(answers):
        place = 0
        for block in answer.blocks:
            content = _payload(block)
            if content is None:
                continue
            key = f"event-{block.first}"
            repeats = keys.get(key, 0)
            keys[key] = repeats + 1
            kind, payload = content
            yield Chunk(f"{key}.{repeats}" if repeats else key, seq, "assistant", kind, payload, msg_idx=number, chunk_idx=place)
            seq, place = seq + 1, place + 1
        if answer.error:
            key = f"error-{number}"
            yield Chunk(key, seq, "assistant", Kind.ERROR, {"type": "error", "message": answer.error}, msg_idx=number, chunk_idx=place)
            seq += 1


def _payload(block: StreamBlock) -> tuple[Kind, Mapping[str, Any]] | None:
    """None for a block without content: thinking that was announced and never came."""
    match block.kind:
        case "text":
            return Kind.TEXT, {"type": "text", "text": block.text}
        case "refusal":
            return Kind.TEXT, {"type": "text", "text": block.text, "extra": {"field": "refusal"}, "wire": STREAM}
        case "thinking":
            signed = {"signature": block.signature} if block.signature else {}
            return (Kind.THINKING, {"type": "thinking", "text": block.text} | signed) if block.text or signed else None
        case "redacted-thinking":
            return Kind.REDACTED_THINKING, {"type": "redacted-thinking", "data": block.text}
        case "tool-call":
            read = arguments(block.text).input if block.size == len(block.text) else None
            call_input = block.text if read is None else dict(read)
            return Kind.TOOL_CALL, {"type": "tool-call", "toolCallId": block.call_id, "toolName": block.name, "input": call_input}
    return Kind.CONTROL, {"type": "control", "block": {"type": block.name, "text": block.text}, "wire": STREAM}
