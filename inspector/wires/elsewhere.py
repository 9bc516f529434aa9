"""Outputs in a Responses request, an element each, that only other elements explain: their call may be stored, or be one of another type than a function's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.programs.formats import WriteRefused
from inspector.projections.base import OPENAI_RESPONSES
from inspector.projections.openai_responses import CALL_TYPES, FUNCTION, call_type, is_call, refers_to_call

WHY = "its call is not in this request, and may be in the earlier response or stored item that the request refers to"


def set_apart(chunks: Sequence[Chunk], values: Sequence[Any], is_continued: bool) -> Iterator[Chunk]:
    """The chunks, such outputs among them as blocks that nothing is known of: no rule may say that their call is missing.

    So is the output of a call that the provider ran: no client answers it.
    """
    called = {chunk.call_id for chunk in chunks if chunk.kind is Kind.TOOL_CALL}
    run_by_provider = {item["call_id"] for item in values if is_call(item)} - called
    for chunk in chunks:
        item = values[chunk.msg_idx] if chunk.msg_idx is not None and chunk.msg_idx >= 0 else None
        is_continued = is_continued or refers_to_call(item)
        if chunk.kind is Kind.TOOL_RESULT and chunk.call_id not in called:
            is_own = chunk.call_id in run_by_provider or (isinstance(item, dict) and item.get("execution") == "server")
            if is_own or is_continued:
                payload = {"type": "control", "block": item, "wire": OPENAI_RESPONSES}
                chunk = replace(chunk, kind=Kind.CONTROL, payload=payload, reason="" if is_own else WHY)
        yield chunk


def answering_in_kind(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The chunks; a synthetic result is written in the type that the call which it answers wants. Raises WriteRefused."""
    types = {chunk.call_id: call_type(chunk) for chunk in chunks if chunk.kind is Kind.TOOL_CALL}
    for chunk in chunks:
        kind = types.get(chunk.call_id, FUNCTION)
        if chunk.kind is Kind.TOOL_RESULT and kind != FUNCTION and "wire" not in chunk.payload:
            if kind == "computer_call":
                raise WriteRefused(
                    f"The computer call {chunk.call_id[:60]!r} is answered by a screenshot, for which there is no placeholder: remove it by hand."
                )
            type_members = {"extra": {"type": CALL_TYPES[kind].synthetic}, "wire": OPENAI_RESPONSES}
            chunk = replace(chunk, payload={**chunk.payload, **type_members})
        yield chunk
