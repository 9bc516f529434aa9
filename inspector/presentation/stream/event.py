"""One event of a stream: its bytes, where they were cut, what it says, and the events around it."""

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from inspector.presentation.stream import words as stream_words
from inspector.presentation.stream.lanes import LaneCell
from inspector.presentation.stream.split_secrets import bytes_without_secrets, split_secrets, without_secrets
from inspector.presentation.stream.view import LaneWindow
from inspector.presentation.visible import LONGEST_CUT, beginning
from inspector.streams.model import End, Exchange, Frame, ObservedEvent, Read, Side
from inspector.streams.run import run
from inspector.text import jsontext

BEFORE, AFTER = 4, 12
"""Events around the one that is shown."""
SHOWN = 20_000
"""Bytes of an event that are shown; all of them can be downloaded."""
IN_A_ROW, OF_ONE = 50, 2_000
"""Where a row has the bytes of its events: of so many, and so many of each, without the line ends after them."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    event: int
    at: float | None
    kind: str
    summary: str
    text: str
    state: str
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class EventView:
    """`cuts`: places within the event's bytes at which a new read began. `reads`: numbers of the reads that it came in, of its side, from 1 on."""

    side: Side
    frame: Frame
    state: str
    before: str
    summary: str
    says: tuple[tuple[str, str], ...]
    wrong: tuple[str, ...]
    data: bytes
    cuts: tuple[int, ...]
    reads: tuple[int, int]
    near: tuple[Neighbor, ...]
    has_next: bool

    @property
    def size(self) -> int:
        return self.frame.end - self.frame.start

    @property
    def pieces(self) -> tuple[str, ...]:
        """The bytes as text, divided where a new read began; what is no UTF-8 shows as escapes."""
        places = [0, *self.cuts, len(self.data)]
        return tuple(self.data[start:end].decode("utf-8", "backslashreplace") for start, end in pairwise(places))

    @property
    def is_cut(self) -> bool:
        return self.size > SHOWN


def event_view(exchange: Exchange, side: Side, number: int) -> EventView | None:
    """None where there is no such event. Reads the side up to a little after it."""
    near: list[Neighbor] = []
    event: tuple[ObservedEvent, str] | None = None
    before, has_next = "start", False
    if side not in exchange.sides:
        return None
    masks = split_secrets(exchange, side)
    for observed in run(exchange, side):
        index = observed.frame.index
        if index > number + AFTER:
            has_next = True
            break
        if index >= number - BEFORE:
            near.append(_neighbor(without_secrets(observed, masks)))
        if index == number:
            event = (observed, before)
        before = observed.state
    if event is None:
        return None
    observed, before = event
    frame = observed.frame
    data, cuts, reads = _bytes(exchange, side, frame)
    if (shown := bytes_without_secrets(data, observed, masks)) != data:
        # The places of the cuts are those of the stored bytes.
        data, cuts = shown, ()
    observed = without_secrets(observed, masks)
    kind, words, text = stream_words.event_words(observed)
    return EventView(
        side,
        frame,
        observed.state,
        before,
        stream_words.cell_words(kind, 1, len(text), words, {}, None),
        tuple(_says(observed)),
        tuple(violation.text for violation in observed.violations),
        data,
        cuts,
        reads,
        tuple(near),
        has_next or bool(near and near[-1].event > number),
    )


def event_bytes(exchange: Exchange, side: Side, number: int) -> Iterator[bytes] | None:
    """The bytes of an event, in pieces, without parts of secrets unless the answer reveals; None where there is no such event."""
    if side not in exchange.sides:
        return None
    observed = next((observed for observed in run(exchange, side) if observed.frame.index >= number), None)
    if observed is None or observed.frame.index != number:
        return None
    pieces = (piece for _, _, piece in _slices(exchange, side, observed.frame))
    masks = split_secrets(exchange, side)
    if any((number, place) in masks for place in range(len(observed.deltas))):
        return iter((bytes_without_secrets(b"".join(pieces), observed, masks),))
    return pieces


def with_bytes(exchange: Exchange, window: LaneWindow) -> LaneWindow:
    """The same rows, each with the bytes of its events."""
    raw = {side: raw_events(exchange, side, _events(window, side)) for side in exchange.sides}

    def cell_with(cell: LaneCell | None) -> LaneCell | None:
        events = _of_cell(cell)
        return cell and replace(cell, raw=tuple((event, raw[cell.side][event]) for event in events if event in raw[cell.side]))

    rows = (replace(row, backend=cell_with(row.backend), client=cell_with(row.client)) for row in window.rows)
    return replace(window, rows=tuple(rows))


def _of_cell(cell: LaneCell | None) -> range:
    return range(cell.first, min(cell.last + 1, cell.first + IN_A_ROW)) if cell and not cell.ended else range(0)


def _events(window: LaneWindow, side: Side) -> set[int]:
    cells = (cell for row in window.rows for cell in (row.backend, row.client) if cell and cell.side is side)
    return {event for cell in cells for event in _of_cell(cell)}


def raw_events(exchange: Exchange, side: Side, wanted: Container[int]) -> dict[int, str]:
    """The bytes of these events as text, each cut at `OF_ONE` and without parts of secrets."""
    masks = split_secrets(exchange, side)
    events = [observed for observed in run(exchange, side) if observed.frame.index in wanted]
    data, at, first = defaultdict[int, bytearray](bytearray), 0, 0
    for happening in exchange.happenings():
        if isinstance(happening, End) or happening.side is not side:
            continue
        for observed in events[first:]:
            frame = observed.frame
            if frame.start >= at + len(happening.data):
                break
            data[frame.index] += happening.data[max(0, frame.start - at) : max(0, frame.end - at)][: OF_ONE + LONGEST_CUT]
            first += frame.end <= at + len(happening.data)
        at += len(happening.data)
    shown = {observed.frame.index: bytes_without_secrets(bytes(data[observed.frame.index]), observed, masks) for observed in events}
    return {event: beginning(raw.decode("utf-8", "backslashreplace").rstrip("\r\n"), OF_ONE) for event, raw in shown.items()}


def _neighbor(observed: ObservedEvent) -> Neighbor:
    kind, words, text = stream_words.event_words(observed)
    summary = stream_words.cell_words(kind, 1, len(text), words, {}, None)
    return Neighbor(observed.frame.index, observed.frame.at, kind, summary, beginning(text, 80), observed.state, bool(observed.violations))


def _says(observed: ObservedEvent) -> Iterator[tuple[str, str]]:
    for delta in observed.deltas[:20]:
        value = beginning(jsontext.compact(dict(delta.value)), 400) if delta.value else ""
        words = [beginning(delta.name, 200), beginning(delta.call_id, 200), beginning(delta.text, 400), value]
        yield delta.means.value, " · ".join(word for word in words if word)


def _slices(exchange: Exchange, side: Side, frame: Frame) -> Iterator[tuple[int, int, bytes]]:
    """(number of the read, place in the event, bytes) of what the event came in."""
    at = number = 0
    for happening in exchange.happenings():
        if isinstance(happening, End) or happening.side is not side:
            continue
        number += 1
        yield from _slice(happening, at, number, frame)
        at += len(happening.data)
        if at >= frame.end:
            return


def _slice(read: Read, at: int, number: int, frame: Frame) -> Iterator[tuple[int, int, bytes]]:
    start, end = max(frame.start - at, 0), min(frame.end - at, len(read.data))
    if start < end:
        yield number, at + start - frame.start, read.data[start:end]


def _bytes(exchange: Exchange, side: Side, frame: Frame) -> tuple[bytes, tuple[int, ...], tuple[int, int]]:
    data, cuts, reads = bytearray(), list[int](), (0, 0)
    for number, place, piece in _slices(exchange, side, frame):
        reads = (reads[0] or number, number)
        if place and place < SHOWN and exchange.keeps_reads and len(cuts) < 200:
            cuts.append(place)
        data += piece[: max(0, SHOWN - len(data))]
    return bytes(data), tuple(cuts), reads
