"""Bytes of one side as events: server-sent events by the rules of the HTML standard, lines of JSON, and what is neither, distinguished record by record.

Any split of the same bytes gives the same frames; only `at` and the mark `split` know of reads. One pass, in linear time. Memory is bounded: a record over the
limit is not kept but named (framing `other`, no data, mark `over-limit`), and the stream goes on after it.
"""

import re
from collections.abc import Iterable, Iterator

from inspector.streams.brackets import BRACE, nest
from inspector.streams.model import End, Exchange, Frame, Framing, Read, Side

LIMIT = 64 * 2**20
"""Bytes of the largest record whose data is given."""

MARKS = (
    "bom",
    "crlf",
    "bare-cr",
    "comment",
    "unknown-field",
    "no-data",
    "json-body",
    "interrupted",
    "unterminated",
    "no-line-end",
    "over-limit",
    "bad-utf8",
    "split",
)
"""All marks, in the order in which a frame has them. Beyond those that `Frame` names:

`no-data`: fields (`event`, `id`, `retry`) and a blank line, but no data: clients raise no event. `json-body`: JSON that was written over several lines, as an error answer of a
server is. `interrupted`: an event that a line of JSON follows without a blank line between. `no-line-end`: the bytes end within this line. `over-limit`: see above.
"""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_PIECE = 2**17
_PREFIX = 64
"""Bytes that are kept of a line over the limit: enough to know what it was."""
_FIELDS = frozenset((b"data", b"event", b"id", b"retry"))
_MARKS_OF: dict[bytes, tuple[str, ...]] = {b"\n": (), b"\r\n": ("crlf",), b"\r": ("bare-cr",)}


class _OpenRecord:
    """A record that further lines may belong to: an event, or (`stack` is not None) JSON over several lines."""

    __slots__ = ("data", "marks", "name", "stack", "start")

    def __init__(self, start: int, stack: list[int] | None = None) -> None:
        self.start = start
        self.stack = stack
        self.name = b""
        self.data: bytearray | None = None
        self.marks: set[str] = set()


class Framer:
    """Fed with reads in order; `end` gives what was begun. Never raises on any bytes. `limit` is the size in bytes over which a record is skipped.

    `reads`: read boundaries are real, so that frames are marked `split`.
    """

    def __init__(self, limit: int = LIMIT, reads: bool = True) -> None:
        self._limit = limit
        self._reads = reads
        self._index = 0
        self._buffer = bytearray()
        self._dropped = 0
        self._at = 0
        self._open: _OpenRecord | None = None
        self._bom = False
        self._frames: list[Frame] = []
        self._read = (0, 0)
        self._times: tuple[float | None, float | None] = (None, None)
        self._size = 0

    def feed(self, data: bytes, at: float | None = None) -> list[Frame]:
        """The frames that `data` completes. A CR at its end waits for what follows, since it may be half of a CRLF."""
        if not data:
            return []
        self._frames = []
        self._read = (self._read[1], self._size)
        self._times = (self._times[1], at)
        self._size += len(data)
        if len(data) <= _PIECE:
            self._take(data)
        else:
            for start in range(0, len(data), _PIECE):
                self._take(data[start : start + _PIECE])
        return self._frames

    def end(self) -> list[Frame]:
        """What the end of the bytes leaves: an event without blank line, a line without line end."""
        self._frames = []
        if self._buffer.endswith(b"\r"):
            self._lines(self._cut(len(self._buffer)))
        line, dropped = bytes(self._buffer), self._dropped
        self._buffer, self._dropped = bytearray(), 0
        if not self._at:
            line = self._without_bom(line)
        if line:
            end = self._at + len(line) + dropped
            self._line(line, self._at, end, ("no-line-end",))
            self._at = end
        self._close(self._at, "unterminated")
        return self._frames

    def _take(self, data: bytes) -> None:
        buffer = self._buffer
        if buffer.endswith(b"\r"):
            buffer += data
        else:
            last = max(data.rfind(b"\n"), data.rfind(b"\r"))
            if last < 0:
                self._hold(data)
                return
            if self._dropped:
                first = _LINE_END.search(data)
                assert first is not None
                self._dropped += first.start()
                data = data[first.start() :]
            buffer += data
        cut = max(buffer.rfind(b"\n"), buffer.rfind(b"\r", 0, len(buffer) - 1)) + 1
        if cut:
            self._lines(self._cut(cut))
        if len(buffer) > self._limit and not buffer.endswith(b"\r"):
            self._hold(b"")

    def _hold(self, data: bytes) -> None:
        if self._dropped:
            self._dropped += len(data)
            return
        self._buffer += data
        if len(self._buffer) > max(self._limit + len(_BOM), _PREFIX):
            self._dropped = len(self._buffer) - _PREFIX
            del self._buffer[_PREFIX:]

    def _cut(self, size: int) -> bytes:
        whole = bytes(self._buffer[:size]) if size < len(self._buffer) else bytes(self._buffer)
        del self._buffer[:size]
        return whole

    def _lines(self, body: bytes) -> None:
        """Whole lines, each with its end."""
        if not self._at:
            body = self._without_bom(body)
        ends = _one_line_end(body)
        if ends is None or self._dropped or self._bom or len(body) > self._limit:
            self._any_lines(body)
            return
        if self._open is not None:
            # The record that is open takes its lines first, so that what follows begins at a record.
            body = body[self._plain_lines(body[: self._end_of_open(body, ends)], ends) :]
        if body:
            self._plain_records(body, ends)

    def _without_bom(self, data: bytes) -> bytes:
        if not data.startswith(_BOM):
            return data
        self._at, self._bom = len(_BOM), True
        return data[len(_BOM) :]

    def _end_of_open(self, body: bytes, ends: bytes) -> int:
        if body.startswith(ends):
            return len(ends)
        end = body.find(ends + ends) if self._open is not None and self._open.stack is None else -1
        return len(body) if end < 0 else end + 2 * len(ends)

    def _plain_records(self, body: bytes, ends: bytes) -> None:
        """Lines that all end alike, with nothing open: what nearly all streams consist of."""
        blocks = body.split(ends + ends)
        remainder = blocks.pop()
        at, index, gap, marks = self._at, self._index, 2 * len(ends), _MARKS_OF[ends]
        ascii_only, frames, sse, when = body.isascii(), self._frames, Framing.SSE, self._times[1]
        # The first record may have begun in an earlier read; those after it have not.
        first = at < self._read[1]
        for block in blocks:
            end = at + len(block) + gap
            name, value = "", b"\n"
            if first:
                first = False
            elif block.startswith(b"data:"):
                value = block
            elif block.startswith(b"event:") and block.startswith(b"data:", cut := block.find(ends) + len(ends)):
                name, value = _name(block[: cut - len(ends)]), block[cut:]
            if b"\n" in value or not (ascii_only or _valid(block)):
                self._at, self._index = at, index
                self._plain_lines(block + ends + ends, ends)
                index = self._index
            else:
                frames.append(Frame(index, at, end, sse, value[6 if value.startswith(b" ", 5) else 5 :], name, when, marks))
                index += 1
            at = end
        self._at, self._index = at, index
        if remainder:
            self._plain_lines(remainder, ends)

    def _plain_lines(self, body: bytes, ends: bytes) -> int:
        at, marks = self._at, _MARKS_OF[ends]
        frames, ndjson, ascii_only, when = self._frames, Framing.NDJSON, body.isascii(), self._times[1]
        lines = body.split(ends)
        lines.pop()
        for line in lines:
            end = at + len(line) + len(ends)
            if (
                self._open is None
                and at >= self._read[1]
                and line.startswith(b"{")
                and line.endswith(b"}")
                and (ascii_only or _valid(line))
            ):
                frames.append(Frame(self._index, at, end, ndjson, line, "", when, marks))
                self._index += 1
            else:
                self._line(line, at, end, marks)
            at = end
        self._at = at
        return len(body)

    def _any_lines(self, body: bytes) -> None:
        start = 0
        for match in _LINE_END.finditer(body):
            line, how = body[start : match.start()], match[0]
            marks = _MARKS_OF[how]
            end = self._at + len(line) + len(how) + self._dropped
            self._dropped = 0
            self._line(line, self._at, end, marks)
            self._at, start = end, match.end()

    def _line(self, line: bytes, start: int, end: int, marks: tuple[str, ...]) -> None:
        """One line with its place. Of one over the limit only the beginning is looked at, for more may not be there."""
        if end - start > self._limit:
            line = line[:_PREFIX]
        open_ = self._open
        if open_ is not None and open_.stack is not None:
            if self._body_line(open_, open_.stack, line, (start, end), marks):
                return
            open_ = None
        if not line:
            if open_ is not None:
                open_.marks.update(marks)
                self._close(end)
            return
        if line.startswith(b":"):
            if open_ is not None:
                open_.marks.update(marks, ("comment",))
            else:
                self._emit(start, end, Framing.OTHER, line, b"", {"comment", *marks})
            return
        first = line.lstrip(b" \t")[:1]
        if first in (b"{", b"["):
            self._close(start, "interrupted")
            # Only a line that ends with an opening bracket: one that was cut off elsewhere is a damaged record, not the head of the next ones.
            if end - start <= self._limit and line.rstrip(b" \t")[-1:] in (b"{", b"[") and "no-line-end" not in marks:
                stack: list[int] = []
                if nest(stack, line):
                    self._open = body = _OpenRecord(start, stack)
                    body.data = bytearray(line)
                    body.marks = {"json-body", *marks}
                    return
            self._emit(start, end, Framing.NDJSON, line, b"", set(marks))
            return
        name, _, value = line.partition(b":")
        if name not in _FIELDS:
            if open_ is not None:
                open_.marks.update(marks, ("unknown-field",))
            else:
                self._emit(start, end, Framing.OTHER, line, b"", {"unknown-field", *marks})
            return
        if open_ is None:
            self._open = open_ = _OpenRecord(start)
        open_.marks.update(marks)
        value = value[1:] if value.startswith(b" ") else value
        if name == b"event":
            open_.name = value
        elif name == b"data":
            if open_.data is None:
                open_.data = bytearray(value)
            elif end - open_.start <= self._limit:
                open_.data += b"\n" + value
            else:
                open_.data = bytearray()

    def _body_line(self, body: _OpenRecord, stack: list[int], line: bytes, place: tuple[int, int], marks: tuple[str, ...]) -> bool:
        """Whether the line belongs to the JSON that is open. In an object no line begins with a brace, and in no JSON with a field's name."""
        text = line.strip(b" \t")
        if not text or text.partition(b":")[0] in _FIELDS or text.startswith(b":") or (text.startswith(b"{") and stack[-1] == BRACE):
            self._close(place[0], "unterminated")
            return False
        assert body.data is not None
        body.marks.update(marks)
        if place[1] - body.start <= self._limit:
            body.data += b"\n" + line
        else:
            body.data = bytearray()
        if not nest(stack, line):
            self._close(place[1])
        return True

    def _close(self, end: int, mark: str = "") -> None:
        record, self._open = self._open, None
        if record is None:
            return
        marks = record.marks | {mark} if mark else record.marks
        if record.stack is not None:
            self._emit(record.start, end, Framing.OTHER, bytes(record.data or b""), b"", marks)
        elif record.data is None:
            self._emit(record.start, end, Framing.OTHER, b"", record.name, marks | {"no-data"})
        else:
            self._emit(record.start, end, Framing.SSE, bytes(record.data), record.name, marks)

    def _emit(self, start: int, end: int, framing: Framing, data: bytes, name: bytes, marks: set[str]) -> None:
        if end - start > self._limit:
            framing, data, name, marks = Framing.OTHER, b"", b"", {"over-limit"}
        elif not (_valid(data) and _valid(name)):
            marks = marks | {"bad-utf8"}
        if self._bom:
            self._bom = False
            marks = marks | {"bom"}
        # A record whose last CR waited ended in the read before this one.
        read = 1 if end > self._read[1] else 0
        if self._reads and start < self._read[read]:
            marks = marks | {"split"}
        marks_in_order = tuple(mark for mark in MARKS if mark in marks) if marks else ()
        self._frames.append(
            Frame(self._index, start, end, framing, data, name.decode("utf-8", "replace"), self._times[read], marks_in_order)
        )
        self._index += 1


def _one_line_end(body: bytes) -> bytes | None:
    """LF or CRLF where all lines end so."""
    returns = body.count(b"\r") if b"\r" in body else 0
    if not returns:
        return b"\n"
    return b"\r\n" if returns == body.count(b"\n") == body.count(b"\r\n") else None


def _valid(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _name(line: bytes) -> str:
    return line[7 if line.startswith(b" ", 6) else 6 :].decode("utf-8", "replace")


def frames(happenings: Iterable[Read | End], side: Side, reads: bool = True, limit: int = LIMIT) -> Iterator[Frame]:
    """The frames of one side of an exchange, as its reads come."""
    framer = Framer(limit, reads)
    for happening in happenings:
        if isinstance(happening, Read) and happening.side is side:
            yield from framer.feed(happening.data, happening.at)
    yield from framer.end()


def frames_of(exchange: Exchange, side: Side) -> Iterator[Frame]:
    """The frames of one side; marked `split` only where the capture kept read boundaries."""
    return frames(exchange.happenings(), side, exchange.keeps_reads)
