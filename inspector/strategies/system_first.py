"""Moves system messages in the middle to the front."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Kind
from inspector.programs.registry import wire_of
from inspector.projections.base import MISTRAL, OPENAI_CHAT
from inspector.rules.base import Case
from inspector.strategies.arrangement import arranged, by_message
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """To the place that the shape has for it outside of the list, where it has one; else after the system messages at the front.

    Rows that are no messages stay before all of them: a session that begins with anything but its own row may not be opened any more.
    """
    chunks = case.conversation.chunks
    first = next((number for number, chunk in enumerate(chunks) if chunk.role and chunk.role != "system"), len(chunks))
    late = [chunk for chunk in chunks[first:] if chunk.role == "system"]
    wire = wire_of(case.conversation.format) or OPENAI_CHAT
    inside = (
        []
        if wire in (OPENAI_CHAT, MISTRAL)
        else [chunk for chunk in chunks[:first] if chunk.role == "system" and (chunk.msg_idx or 0) >= 0]
    )
    if by_message(case) or not (late or inside):
        return
    spare = max((chunk.msg_idx or 0 for chunk in chunks), default=0) + 1
    front: list[Chunk] = [_outside(chunk) if chunk in inside else chunk for chunk in chunks[:first]]
    moved = [replace(chunk, msg_idx=spare + at) if wire in (OPENAI_CHAT, MISTRAL) else _outside(chunk) for at, chunk in enumerate(late)]
    yield from arranged(case, [*front, *moved, *(chunk for chunk in chunks[first:] if chunk.role != "system")])


def _outside(chunk: Chunk) -> Chunk:
    if chunk.kind is not Kind.TEXT:
        return replace(chunk, msg_idx=-1)
    return replace(chunk, msg_idx=-1, kind=Kind.SYSTEM, payload={**chunk.payload, "type": "system"})


STRATEGY = Strategy(
    name="system-first",
    safety=frozenset(),
    summary="moves system messages to the front, or to the place that the shape has for them outside of the list",
    when="a system message is after others",
    cost="No content changes: only where the instruction is.",
    user_visible_effect="Nothing: system messages are not shown.",
    pros="Gemini, Mistral and version 7 of the AI SDK refuse a system message in the middle.",
    cons="An instruction that was given half-way then holds from the start, also for what was said before it.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    order=520,
)
