"""The Anthropic request as rollouts' own converter makes it: what it merges, collapses, converts and loses.

Read off upstream's providers/anthropic.py at 0779491 (2026-01-04). `cache_control` on the last block and the OAuth prefix are left out:
they depend on the call, not on the history.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.conversation.model import Chunk, Dropped, Kind, Message
from inspector.projections.base import ANTHROPIC, Projection, Prompt, PromptPart, WireMessage

NAME = "rollouts-anthropic"
BEGIN = "Begin."
_EMPTY = "empty content: the converter raises AssertionError here and the whole turn dies"
_IMAGE = "the converter reads fields that a stored image does not have, and dies"


@dataclass(slots=True)
class _Element:
    """An element of the list as it grows: blocks with the chunk that each came from (None = synthetic)."""

    role: str
    blocks: list[tuple[dict[str, Any], Chunk | None]] = field(default_factory=list)
    is_text: bool = False
    sources: list[Message] = field(default_factory=list)


def convert(messages: Sequence[Message]) -> Prompt:
    lost: list[Dropped] = []
    system: str | None = None
    system_parts: tuple[PromptPart, ...] = ()
    elements: list[_Element] = []
    for message in messages:
        if message.role == "system":
            lost += [Dropped(tuple(part.chunk for part in system_parts), "a later system message takes its place")] if system_parts else []
            system, system_parts = _system(message, lost)
        elif (element := _tool_element(message) if message.role == "tool" else _spoken_element(message, lost)) is not None:
            elements.append(element)
    if elements and elements[0].role != "user":
        elements.insert(0, _Element("user", [({"type": "text", "text": BEGIN}, None)], True))
    return Prompt(
        NAME,
        tuple(_wire(index, merged) for index, merged in enumerate(_merged(elements))),
        tuple(lost),
        "messages",
        system or None,
        system_parts,
    )


def _system(message: Message, lost: list[Dropped]) -> tuple[str, tuple[PromptPart, ...]]:
    """Text blocks joined with newlines. A plain string is walked as a list of characters, of which none is a block."""
    if _is_plain(message):
        lost.append(Dropped(message.chunks, "a system prompt stored as a plain string is walked as a list of blocks and comes out empty"))
        return "", ()
    texts = [chunk for chunk in message.chunks if chunk.kind in (Kind.SYSTEM, Kind.TEXT)]
    parts = tuple(PromptPart(f"system.{index}", chunk, chunk.text) for index, chunk in enumerate(texts))
    return "\n".join(chunk.text for chunk in texts), parts


def _is_plain(message: Message) -> bool:
    stored = message.chunks[0].payload.get("stored")
    return isinstance(stored, dict) and stored.get("plain") is True


def _tool_element(message: Message) -> _Element:
    # is_error is never sent; of a list only the text blocks are.
    return _Element("user", [(_result(chunk), chunk) for chunk in message.chunks], False, [message])


def _result(chunk: Chunk) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": chunk.call_id, "content": chunk.text}


def _spoken_element(message: Message, lost: list[Dropped]) -> _Element | None:
    blocks: list[tuple[dict[str, Any], Chunk | None]] = []
    for chunk in message.chunks:
        if chunk.kind is Kind.TEXT or chunk.kind is Kind.SYSTEM:
            blocks.append(({"type": "text", "text": chunk.text}, chunk))
        elif chunk.kind is Kind.THINKING:
            blocks.append((_thinking(chunk), chunk))
        elif chunk.kind is Kind.TOOL_CALL:
            value = {"type": "tool_use", "id": chunk.call_id, "name": chunk.tool_name, "input": chunk.payload.get("input")}
            blocks.append((value, chunk))
        elif chunk.kind is Kind.TOOL_RESULT:
            blocks.append((_result(chunk), chunk))
        else:
            why = (
                _EMPTY
                if "empty" in chunk.payload
                else _IMAGE
                if chunk.kind is Kind.IMAGE
                else f"{chunk.kind.value} is no block that the converter knows"
            )
            lost.append(Dropped((chunk,), why))
    if not blocks:
        return None
    return _Element(message.role, blocks, len(blocks) == 1 and blocks[0][0]["type"] == "text", [message])


def _thinking(chunk: Chunk) -> dict[str, Any]:
    """Without a signature, or with a blank one, thinking would be refused and goes as text."""
    signature = chunk.payload.get("signature")
    if not isinstance(signature, str) or not signature.strip():
        return {"type": "text", "text": f"<thinking>\n{chunk.text}\n</thinking>"}
    return {"type": "thinking", "thinking": chunk.text, "signature": signature}


def _merged(elements: Sequence[_Element]) -> list[_Element]:
    """Neighbors of one role become one element. This glues results to what the user said, and answers that no call parted."""
    result: list[_Element] = []
    for element in elements:
        if result and result[-1].role == element.role:
            last = result[-1]
            result[-1] = _Element(last.role, last.blocks + element.blocks, False, last.sources + element.sources)
        else:
            result.append(element)
    return result


def _wire(index: int, element: _Element) -> WireMessage:
    path = f"messages.{index}.content"
    parts = tuple(
        PromptPart(path if element.is_text else f"{path}.{place}", chunk, _words(block))
        for place, (block, chunk) in enumerate(element.blocks)
        if chunk is not None and not chunk.key.startswith("synthesized:")
    )
    content: Any = element.blocks[0][0]["text"] if element.is_text else [block for block, _ in element.blocks]
    return WireMessage({"role": element.role, "content": content}, parts, _source(element))


def _source(element: _Element) -> Message | None:
    """The message that the element was made of; of several, one that holds the chunks of all. Synthetic only where all of them are."""
    if len(element.sources) < 2:
        return element.sources[0] if element.sources else None
    chunks = tuple(chunk for message in element.sources if not message.synthetic for chunk in message.chunks)
    real = next((message for message in element.sources if not message.synthetic), element.sources[0])
    return Message(real.role, chunks or element.sources[0].chunks, all(message.synthetic for message in element.sources))


def _words(block: dict[str, Any]) -> str:
    for name in ("text", "thinking", "content"):
        if isinstance(block.get(name), str):
            return str(block[name])
    return f"{block.get('name')} {block.get('input')}"[:2000]


PROJECTION = Projection(
    NAME,
    "Anthropic messages as rollouts converts them",
    "Neighbors of one role are merged, unsigned thinking goes as text, a lone text becomes a string; redacted thinking and unknown blocks are lost.",
    convert,
    wire=ANTHROPIC,
)
