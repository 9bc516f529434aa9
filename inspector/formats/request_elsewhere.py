"""Outputs in a Responses request, an element each, that only other elements explain: their call may be stored, or be one of a custom tool."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.projections.base import OPENAI_RESPONSES
from inspector.projections.openai_responses import CUSTOM, is_custom, refers_to_call

WHY = "its call is not in this request, and may be in the earlier response or stored item that the request refers to"


def set_apart(chunks: Sequence[Chunk], values: Sequence[Any], is_continued: bool) -> Iterator[Chunk]:
    """The chunks, such outputs among them as blocks that nothing is known of: no rule may say that their call is missing."""
    called = {chunk.call_id for chunk in chunks if chunk.kind is Kind.TOOL_CALL}
    for chunk in chunks:
        item = values[chunk.msg_idx] if chunk.msg_idx is not None and chunk.msg_idx >= 0 else None
        is_continued = is_continued or refers_to_call(item)
        if is_continued and chunk.kind is Kind.TOOL_RESULT and chunk.call_id not in called:
            payload = {"type": "control", "block": item, "wire": OPENAI_RESPONSES}
            chunk = replace(chunk, kind=Kind.CONTROL, payload=payload, reason=WHY)
        yield chunk


def answering_custom_tools(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The chunks; a result that was made up here is written in the type that the call which it answers wants."""
    custom = {chunk.call_id for chunk in chunks if chunk.kind is Kind.TOOL_CALL and is_custom(chunk)}
    for chunk in chunks:
        if chunk.kind is Kind.TOOL_RESULT and chunk.call_id in custom and "wire" not in chunk.payload:
            given = {"extra": {"type": f"{CUSTOM}_output"}, "wire": OPENAI_RESPONSES}
            chunk = replace(chunk, payload={**chunk.payload, **given})
        yield chunk
