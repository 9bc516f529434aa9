"""What ties calls and results together where the wire shape does not say it: names of results, and ids that Gemini alone may leave out."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.conversation.model import Chunk, Kind
from inspector.projections.base import ANTHROPIC
from inspector.wires.shapes import anthropic

UNNAMED = "unnamed-"
"""Starts the ids that are given here to calls and results that have none; a body that is written back does not hold them."""
_ID_OF = {"tool_use": "id", "tool_result": "tool_use_id"}
"""Member of a block of Anthropic's shape with the id of its call, by the type of the block."""


def tied(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Calls and results without an id get one: the n-th response to a function in the turn after its calls answers the n-th call of it."""
    result: list[Chunk] = []
    waiting: dict[str, list[str]] = {}
    called = -1
    calls = results = 0
    for chunk in chunks:
        if chunk.kind is Kind.TOOL_CALL:
            if chunk.msg_idx != called:
                waiting, called = {}, chunk.msg_idx if chunk.msg_idx is not None else -1
            if not chunk.call_id:
                calls += 1
                chunk = _named(chunk, f"{UNNAMED}call-{calls}")
                waiting.setdefault(chunk.tool_name, []).append(chunk.call_id)
        elif chunk.kind is Kind.TOOL_RESULT and not chunk.call_id:
            queue = waiting.get(chunk.tool_name)
            results += 1
            chunk = _named(chunk, queue.pop(0) if queue else f"{UNNAMED}result-{results}")
        result.append(chunk)
    return result


def with_names(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Results that do not say of which tool they are get the name of the call with their id."""
    names = {chunk.call_id: chunk.tool_name for chunk in chunks if chunk.kind is Kind.TOOL_CALL}
    return [
        replace(chunk, payload={**chunk.payload, "toolName": names[chunk.call_id]})
        if chunk.kind is Kind.TOOL_RESULT and not chunk.tool_name and names.get(chunk.call_id)
        else chunk
        for chunk in chunks
    ]


def _named(chunk: Chunk, call_id: str) -> Chunk:
    return replace(chunk, payload={**chunk.payload, "toolCallId": call_id})


def with_block_id(chunk: Chunk, call_id: str) -> Chunk | None:
    """The chunk of a block of Anthropic's shape that is a call or a result but for its id, with this one; None of every other chunk."""
    block = chunk.payload.get("block")
    if chunk.payload.get("wire") != ANTHROPIC or not isinstance(block, dict):
        return None
    name = _ID_OF.get(str(block.get("type")))
    if name is None or isinstance(block.get(name), str):
        return None
    (read,) = anthropic.read({"role": chunk.role, "content": [{**block, name: call_id}]})
    if read.kind not in (Kind.TOOL_CALL, Kind.TOOL_RESULT):
        return None
    kept = {name: value for name, value in chunk.payload.items() if name not in ("type", "block", "wire")}
    return replace(chunk, role=read.role, kind=read.kind, payload={**kept, **read.payload}, reason="")
