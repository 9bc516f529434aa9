"""A message of a request in its pieces, in their order: those of stored chunks, and those that came from no record."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Chunk
from inspector.projections.base import WireMessage
from inspector.text import jsontext

_LISTS = ("content", "parts")
_TEXTS = ("text", "content", "output")


@dataclass(frozen=True, slots=True)
class WirePiece:
    """`chunk` is None for a synthetic block among real ones: no record contains it, so a projection gives it no part."""

    chunk: Chunk | None
    text: str
    call_ids: frozenset[str] = frozenset()
    """Of a synthetic block: every string of it in the place of an id."""


def pieces(wire: WireMessage) -> tuple[WirePiece, ...]:
    """In the order of the blocks. Blocks that no part names are looked for in the lists of every wire shape, one level deep."""
    placed = [(_block(part.path), WirePiece(part.chunk, part.text)) for part in wire.parts]
    places_of_parts = {place for place, _ in placed}
    if not wire.parts or None in places_of_parts:
        return tuple(piece for _, piece in placed)
    synthetic_pieces = [(place, piece) for place, piece in _blocks(wire.value) if place not in places_of_parts]
    if not synthetic_pieces:
        return tuple(piece for _, piece in placed)
    return tuple(piece for _, piece in sorted([*placed, *synthetic_pieces], key=lambda placed_piece: placed_piece[0] or 0))


def synthetic_pieces(wire: WireMessage) -> tuple[WirePiece, ...]:
    return tuple(piece for piece in pieces(wire) if piece.chunk is None)


def _block(path: str) -> int | None:
    """`2` of `messages.5.content.2`; None where the part is the whole message."""
    steps = path.split(".")
    return int(steps[3]) if len(steps) > 3 and steps[2] in _LISTS and steps[3].isdecimal() else None


def _blocks(value: Mapping[str, Any]) -> Iterator[tuple[int, WirePiece]]:
    for name in _LISTS:
        listed = value.get(name)
        for place, block in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(block, Mapping):
                inner = [member for member in block.values() if isinstance(member, Mapping)]
                ids = {member for fields in (block, *inner) for member in fields.values() if isinstance(member, str)}
                yield place, WirePiece(None, _words(block), frozenset(ids))


def _words(block: Mapping[str, Any]) -> str:
    text = next((text for name in _TEXTS if isinstance(text := block.get(name), str)), None)
    try:
        return jsontext.compact(block) if text is None else text
    except (RecursionError, ValueError, TypeError):
        return ""
