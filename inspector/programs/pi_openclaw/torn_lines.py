"""What is left of a line that was cut off while it was written: its id and that of its parent come before its message (pi 1.5, OpenClaw 2026.9: JSON.stringify of the entry)."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from inspector.conversation.model import Chunk, Kind

_ID, _PARENT = (re.compile(rb'"%s":\s*"([^"\\]{1,200})"' % name) for name in (b"id", b"parentId"))
_MESSAGE = re.compile(rb'"message"\s*:')


class TornLine(NamedTuple):
    """`parent`: the id of the entry above it, "" where the line is cut off before that."""

    chunk: Chunk
    parent: str


def torn_lines(chunks: Iterable[Chunk]) -> dict[str, TornLine]:
    """By the id of the entry that was to be on the line."""
    lines: dict[str, TornLine] = {}
    for chunk in chunks:
        head = _MESSAGE.split(chunk.raw, 1)[0] if chunk.kind is Kind.UNREADABLE else b""
        if own := _ID.search(head):
            parent = _PARENT.search(head)
            lines[own[1].decode("utf-8", "replace")] = TornLine(chunk, parent[1].decode("utf-8", "replace") if parent else "")
    return lines
