"""What every kind of capture is given and gives, and what several of them need: bounded reading, lines, an exchange of one side."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from inspector.streams.model import End, Exchange, How, Read, Side
from inspector.text.jsontext import Unreadable, decode, parse

LOADED = 256 * 2**20
"""Bytes of the largest capture that is read as a whole. Kinds that are read piece by piece have no limit."""

LINE = 128 * 2**20
"""Bytes of the longest line that is kept; longer ones are skipped and reported."""

BLOCK = 2**16
"""Bytes of a synthetic read, where the capture kept none."""

BOM = b"\xef\xbb\xbf"
"""What some editors and shells put before a text."""

NEVER_KEPT = frozenset(("end", "times", "read-boundaries"))


class Opened(Protocol):
    """The bytes of a capture from `offset` on, in blocks of any size; every call begins again."""

    def __call__(self, offset: int = 0) -> Iterator[bytes]: ...


class NoCapture(ValueError):
    """Nothing of it can be read as this kind; the text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class CaptureKind:
    """`sniff` looks at the first bytes (up to `catalogue.HEAD`) and the file's name. `exchanges` raises NoCapture where nothing can be read; what is partly damaged is
    read as far as it goes, with `problems`. The name gives titles and ids; no file is opened by it. `sample` is how one begins. `up_to` says in words how large one may be."""

    name: str
    title: str
    sniff: Callable[[bytes, str], bool]
    exchanges: Callable[[Opened, str], Iterator[Exchange]]
    sample: str
    up_to: str = "any size"


def whole(opened: Opened, limit: int = LOADED) -> bytes:
    """All bytes. Raises NoCapture over the limit, before more than that is in memory."""
    data = bytearray()
    for block in opened():
        data += block
        if len(data) > limit:
            raise NoCapture(
                f"The capture is over {limit // 2**20} MB, and this kind is read as a whole: cut it down, or capture again as JSON lines (docs/how-to/record-a-stream.md)."
            )
    return bytes(data)


@dataclass(frozen=True, slots=True)
class CaptureLine:
    """`data` without its line end, None where it is over the limit; `complete` is False for a last line without LF."""

    offset: int
    data: bytes | None
    complete: bool = True


def lines(blocks: Iterator[bytes], offset: int = 0, limit: int = LINE) -> Iterator[CaptureLine]:
    """Lines that end with LF or CRLF, blank ones left out; `offset` is where the blocks begin."""
    buffer, at, size = bytearray(), offset, 0
    for block in blocks:
        start = 0
        while (cut := block.find(b"\n", start)) >= 0:
            size += cut - start
            if size > limit:
                yield CaptureLine(at, None)
            elif data := _bare(bytes(buffer) + block[start:cut] if buffer else block[start:cut], at):
                yield CaptureLine(at, data)
            at += size + 1
            size, start = 0, cut + 1
            if buffer:
                buffer = bytearray()
        size += len(block) - start
        if size <= limit:
            buffer += block[start:]
    if size > limit:
        yield CaptureLine(at, None, False)
    elif data := _bare(bytes(buffer), at):
        yield CaptureLine(at, data, False)


def _bare(line: bytes, at: int) -> bytes:
    return (line if at else line.removeprefix(BOM)).strip(b" \t\r")


def blocks_of(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), BLOCK):
        yield data[start : start + BLOCK]


def from_backend(blocks: Callable[[], Iterator[bytes]], how: How = How.UNKNOWN) -> Callable[[], Iterator[Read | End]]:
    """Happenings of a capture that is one side, without times."""

    def happenings() -> Iterator[Read | End]:
        for block in blocks():
            yield Read(Side.BACKEND, block)
        yield End(Side.BACKEND, how)

    return happenings


def document(opened: Opened) -> Any:
    """The JSON value that the capture is as a whole. Raises NoCapture, Unreadable."""
    return parse(decode(whole(opened).removeprefix(BOM)))


def json_object(data: bytes | str) -> Mapping[str, Any] | None:
    """The object that the bytes encode; None for anything else."""
    try:
        value = parse(data if isinstance(data, str) else decode(data))
    except Unreadable:
        return None
    return value if isinstance(value, dict) else None


def member(value: Any, *names: str) -> Any:
    """The value below the names, one after the other; None where something on the way is no object."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_member(value: Any, *names: str) -> str:
    text = member(value, *names)
    return text if isinstance(text, str) else ""


def head_of(opened: Opened, size: int) -> bytes:
    """The first bytes, in whatever blocks they come."""
    head = bytearray()
    for block in opened():
        head += block
        if len(head) >= size:
            break
    return bytes(head[:size])
