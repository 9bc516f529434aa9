"""A messages.jsonl as its lines: split on the byte 0x0A only, so that joined again they are the file to the byte."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from inspector.text import jsontext
from inspector.text.jsontext import Unreadable


@dataclass(frozen=True, slots=True)
class MessageLine:
    """`index` counts lines that are not blank, `offset` is in bytes; `before` are blank lines ahead of it, `raw` is without LF (a CR stays)."""

    index: int
    offset: int
    before: bytes
    raw: bytes
    ended: bool = True


def split(data: bytes) -> tuple[list[MessageLine], bytes]:
    """The lines, and what blank bytes follow the last. A raw U+2028 inside a line is text, no line end."""
    lines: list[MessageLine] = []
    before, offset = b"", 0
    pieces = data.split(b"\n")
    for number, piece in enumerate(pieces):
        ended = number < len(pieces) - 1
        if piece.strip():
            lines.append(MessageLine(len(lines), offset, before, piece, ended))
            before = b""
        else:
            before += piece + (b"\n" if ended else b"")
        offset += len(piece) + 1
    return lines, before


def join(lines: Iterable[MessageLine], tail: bytes = b"") -> bytes:
    """The bytes of a file. A line without LF that others follow gets one: two messages on one line could not be read."""
    parts: list[bytes] = []
    for line in lines:
        if parts and not parts[-1].endswith(b"\n"):
            parts.append(b"\n")
        parts += [line.before, line.raw, b"\n" if line.ended else b""]
    return b"".join(parts) + tail


def parsed(raw: bytes) -> dict[str, Any]:
    """The object of a line. Raises Unreadable."""
    value = jsontext.parse(jsontext.decode(raw))
    if not isinstance(value, dict):
        raise Unreadable("not-object", "JSON, but no object")
    return value
