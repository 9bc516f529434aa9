"""A message of a request in its pieces, in their order: those of stored chunks, and those that came from no record."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.conversation import jsontext
from inspector.conversation.model import Chunk
from inspector.projections.base import WireMessage

_LISTS = ("content", "parts")
_TEXTS = ("text", "content", "output")


@dataclass(frozen=True, slots=True)
class Piece:
    """`chunk` is None for a block that was made up beside real ones: a projection gives it no part, since no record holds it."""

    chunk: Chunk | None
    text: str
    call_ids: frozenset[str] = frozenset()
    """Of a synthetic block: every string of it in the place of an id."""


def pieces(wire: WireMessage) -> tuple[Piece, ...]:
    """In the order of the blocks. Blocks that no part names are looked for in the lists of every wire shape, one level deep."""
    placed = [(_block(part.path), Piece(part.chunk, part.text)) for part in wire.parts]
    known = {place for place, _ in placed}
    if not wire.parts or None in known:
        return tuple(piece for _, piece in placed)
    made_up = [(place, piece) for place, piece in _blocks(wire.value) if place not in known]
    if not made_up:
        return tuple(piece for _, piece in placed)
    return tuple(piece for _, piece in sorted([*placed, *made_up], key=lambda each: each[0] or 0))


def made_up(wire: WireMessage) -> tuple[Piece, ...]:
    return tuple(piece for piece in pieces(wire) if piece.chunk is None)


def _block(path: str) -> int | None:
    """`2` of `messages.5.content.2`; None where the part is the whole message."""
    steps = path.split(".")
    return int(steps[3]) if len(steps) > 3 and steps[2] in _LISTS and steps[3].isdecimal() else None


def _blocks(value: Mapping[str, Any]) -> Iterator[tuple[int, Piece]]:
    for name in _LISTS:
        held = value.get(name)
        for place, block in enumerate(held if isinstance(held, list) else ()):
            if isinstance(block, Mapping):
                inner = [each for each in block.values() if isinstance(each, Mapping)]
                ids = {each for fields in (block, *inner) for each in fields.values() if isinstance(each, str)}
                yield place, Piece(None, _words(block), frozenset(ids))


def _words(block: Mapping[str, Any]) -> str:
    text = next((text for name in _TEXTS if isinstance(text := block.get(name), str)), None)
    try:
        return jsontext.compact(block) if text is None else text
    except (RecursionError, ValueError, TypeError):
        return ""
