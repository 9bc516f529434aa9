"""Both sides of an exchange as lanes: events folded by kind, in the order in which they happened, with what is wrong next to them.

One pass over each side. What is kept of a capture of any length is bounded: rows up to MOST_ROWS, after them one row holds what is still to come.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import zip_longest
from types import MappingProxyType

from inspector.presentation.stream import words as stream_words
from inspector.presentation.stream.marks import StreamMark, marks_of
from inspector.presentation.stream.report import StreamAnalysis
from inspector.presentation.stream.split_secrets import split_secrets, without_secrets
from inspector.presentation.visible import beginning
from inspector.rules.base import Severity
from inspector.streams.model import End, Exchange, Framing, How, ObservedEvent, Read, Side
from inspector.streams.run import run
from inspector.streams.violations import BY_NAME, StreamRule

MOST_ROWS = 20_000
PREVIEW = 240
"""Characters of folded text that a cell shows."""
FOLDED = frozenset({"text", "thinking", "refusal", "arguments", "usage", "start", "block-end", "ping", "comment", "other"})
"""Kinds whose neighbors become one cell; of every other kind each event has a row of its own."""
_NOTHING: Mapping[str, int] = MappingProxyType({})


def _nothing() -> Mapping[str, int]:
    return _NOTHING


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """Events `first` to `last` of a side write a call as text."""

    side: Side
    first: int
    last: int


@dataclass(slots=True)
class LaneCell:
    """Events `first` to `last` of one side. `ended` is set on the cell of an end, which is no event. Times are milliseconds, `inputs` the numbers of the records from 1 on.

    `more`: rows of the table that events here violate next to those whose marks are shown, with how often. `kinds` counts the events of a cell that holds several kinds.
    """

    side: Side
    kind: str
    first: int
    last: int
    moment: int
    at: float | None
    until: float | None
    state: str
    before: str
    inputs: tuple[int, int]
    words: str = ""
    text: str = ""
    size: int = 0
    bytes: int = 0
    ended: How | None = None
    marks: tuple[StreamMark, ...] = ()
    more: Mapping[str, int] = field(default_factory=_nothing)
    kinds: Mapping[str, int] = field(default_factory=_nothing)
    is_closed: bool = False
    """It came after the terminal or the end of its side."""
    written_call: int | None = None
    """The event that ends the call which this event writes as text."""
    raw: tuple[tuple[int, str], ...] = ()
    """Its first events with their bytes, where they are asked for."""

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def summary(self) -> str:
        return stream_words.cell_words(self.kind, self.count, self.size, self.words, self.kinds, self.ended)

    @property
    def is_cut(self) -> bool:
        return self.size > len(self.text)

    @property
    def anchor(self) -> str:
        return f"end-{self.side.value}" if self.ended else f"e-{self.side.value}-{self.first}"

    @property
    def also(self) -> tuple[tuple[StreamRule, int], ...]:
        return tuple((BY_NAME[name], count) for name, count in sorted(self.more.items()))

    def holds(self, side: Side, event: int) -> bool:
        return self.ended is None and self.side is side and self.first <= event <= self.last


@dataclass(slots=True)
class Band:
    """One row of the page: what each side did at the same time. `records` of the backend had come before it."""

    cells: dict[Side, LaneCell]
    records: int = 0

    @property
    def marks(self) -> tuple[StreamMark, ...]:
        cell_marks = [mark for cell in self.cells.values() for mark in cell.marks]
        return tuple(sorted(cell_marks, key=lambda mark: mark.weight))

    @property
    def worst(self) -> str:
        return self.marks[0].severity.value if self.marks else ""


@dataclass(frozen=True, slots=True)
class Lanes:
    """`events`, `records` and `bytes` by side. `closed` is the number of the row after which a side got no more, by side; `span` the times of the first and last thing that happened."""

    bands: tuple[Band, ...]
    events: Mapping[Side, int]
    records: Mapping[Side, int]
    bytes: Mapping[Side, int]
    closed: Mapping[Side, int]
    span: tuple[float, float] | None
    is_whole: bool

    def place(self, side: Side, event: int) -> int | None:
        """Number of the row that holds an event; None where there is no such event."""
        numbers = (number for number, band in enumerate(self.bands) if side in band.cells and band.cells[side].holds(side, event))
        return next(numbers, None)


def lanes(analysis: StreamAnalysis, written_calls: Sequence[WrittenCall] = ()) -> Lanes:
    """Reads the capture once for its times and once for each side. What writes a call as text is one row."""
    exchange = analysis.exchange
    reads = _Reads(exchange)
    marks = marks_of(analysis)
    sides = [_side(exchange, side, reads, marks, [call for call in written_calls if call.side is side]) for side in exchange.sides]
    records = dict.fromkeys(exchange.sides, 0)
    events = dict.fromkeys(exchange.sides, 0)
    folding = _Folding()
    if exchange.ordered:
        for cell in merge(*sides, key=lambda cell: cell.moment):
            folding.take(cell)
        bands = folding.bands
    else:
        # Nothing says what was before what: rows are only next to each other.
        foldings = []
        for cells in sides:
            side_folding = _Folding()
            for cell in cells:
                side_folding.take(cell)
            foldings.append(side_folding)
        bands = [
            Band({side: cell for band in row if band for side, cell in band.cells.items()})
            for row in zip_longest(*(side_folding.bands for side_folding in foldings))
        ]
        folding = foldings[0] if len(foldings) == 1 else folding
    records_before = 0
    closed: dict[Side, int] = {}
    for number, band in enumerate(bands):
        band.records = records_before
        for side, cell in band.cells.items():
            if cell.ended is None:
                events[side], records[side] = max(events[side], cell.last + 1), max(records[side], cell.inputs[1])
            if side is Side.BACKEND:
                records_before = max(records_before, cell.inputs[1])
            if cell.kind in ("terminal", "end"):
                closed.setdefault(side, number)
    return Lanes(tuple(bands), events, records, reads.sizes, closed, reads.span, len(bands) < MOST_ROWS)


class _Reads:
    """Where each read ends, and its number among all happenings: which give the order of events of both sides."""

    def __init__(self, exchange: Exchange) -> None:
        self.sizes = dict.fromkeys(exchange.sides, 0)
        self.ends: list[tuple[int, End]] = []
        self.span: tuple[float, float] | None = None
        self._offsets = {side: array("q") for side in exchange.sides}
        self._moments = {side: array("q") for side in exchange.sides}
        for moment, happening in enumerate(exchange.happenings()):
            side, at = happening.side, happening.at
            if side not in self.sizes:
                continue
            if at is not None:
                self.span = (min(self.span[0], at), max(self.span[1], at)) if self.span else (at, at)
            if isinstance(happening, Read):
                self.sizes[side] += len(happening.data)
                self._offsets[side].append(self.sizes[side])
                self._moments[side].append(moment)
            else:
                self.ends.append((moment, happening))

    def moment(self, side: Side, end: int) -> int:
        """When the byte before `end` came."""
        moments = self._moments[side]
        number = bisect_right(self._offsets[side], end - 1)
        return moments[number] if number < len(moments) else moments[-1] if moments else 0


def _side(
    exchange: Exchange,
    side: Side,
    reads: _Reads,
    marks: Mapping[tuple[Side, int], Sequence[StreamMark]],
    written_calls: Sequence[WrittenCall],
) -> Iterator[LaneCell]:
    """A cell for each event, and for each end of the side, in order of happening."""
    ends = [end for end in reads.ends if end[1].side is side]
    before, records, closed = "start", 0, False
    masks = split_secrets(exchange, side)
    for observed in run(exchange, side):
        cell = _cell(side, without_secrets(observed, masks), before, records, reads)
        while ends and ends[0][0] < cell.moment:
            yield _end(*ends.pop(0), before, records, cell.first)
            closed = True
        cell.is_closed = closed
        closed = closed or cell.kind == "terminal"
        cell.marks = tuple(marks.get((side, cell.first), ()))
        cell.written_call = next((call.last for call in written_calls if call.first <= cell.first <= call.last), None)
        shown = {mark.name for mark in cell.marks}
        if observed.violations:
            cell.more = Counter(end.name for end in observed.violations if end.name not in shown)
        before, records = observed.state, cell.inputs[1]
        yield cell
    for end in ends:
        yield _end(*end, before, records, -1)


def _cell(side: Side, observed: ObservedEvent, before: str, records: int, reads: _Reads) -> LaneCell:
    frame = observed.frame
    kind, words, text = stream_words.event_words(observed)
    number = records + (frame.framing is not Framing.OTHER and bool(frame.data))
    return LaneCell(
        side,
        kind,
        frame.index,
        frame.index,
        reads.moment(side, frame.end),
        frame.at,
        frame.at,
        observed.state,
        before,
        (number, number),
        words,
        beginning(text, PREVIEW),
        len(text),
        frame.end - frame.start,
    )


def _end(moment: int, end: End, state: str, records: int, event: int) -> LaneCell:
    return LaneCell(end.side, "end", event, event, moment, end.at, end.at, state, state, (records, records), ended=end.how)


class _Folding:
    """Rows out of cells in order: a cell joins the last row while that has none of its side, or one of its kind that may grow."""

    def __init__(self) -> None:
        self.bands: list[Band] = []
        self._is_alone = True
        self._last: dict[Side, LaneCell] = {}

    def take(self, cell: LaneCell) -> None:
        is_marked = cell.written_call is None and any(mark.severity is not Severity.NOTE for mark in cell.marks)
        alone = cell.kind not in FOLDED or is_marked
        if len(self.bands) >= MOST_ROWS:
            self._pour(cell)
        elif alone or self._is_alone or not self.bands:
            self._new(cell, alone)
        elif (last := self.bands[-1].cells.get(cell.side)) is None:
            self.bands[-1].cells[cell.side] = cell
        elif _fits(last, cell):
            _join(last, cell)
        else:
            self._new(cell, alone)

    def _new(self, cell: LaneCell, alone: bool) -> None:
        self.bands.append(Band({cell.side: cell}))
        self._is_alone = alone

    def _pour(self, cell: LaneCell) -> None:
        """Beyond the limit all goes into the last row, counted by kind."""
        last = self.bands[-1].cells.get(cell.side)
        if last is None:
            self.bands[-1].cells[cell.side] = cell
        elif cell.ended is not None:
            last.until = cell.until if cell.until is not None else last.until
        elif last.ended is not None:
            self.bands[-1].cells[cell.side] = cell
        else:
            counts = Counter(last.kinds) if last.kinds else Counter({last.kind: last.count})
            counts[cell.kind] += 1
            _join(last, cell)
            last.kind, last.kinds = ("several" if len(counts) > 1 else cell.kind), counts


def _fits(last: LaneCell, cell: LaneCell) -> bool:
    return (
        last.kind == cell.kind
        and last.is_closed == cell.is_closed
        and last.written_call == cell.written_call
        and last.more.keys() == cell.more.keys()
    )


def _join(last: LaneCell, cell: LaneCell) -> None:
    if cell.ended is None:
        last.last = cell.last
    last.until = cell.until if cell.until is not None else last.until
    last.state = cell.state
    last.inputs = (last.inputs[0], cell.inputs[1])
    if len(last.text) < PREVIEW:
        last.text = beginning(last.text + cell.text, PREVIEW)
    last.size += cell.size
    last.bytes += cell.bytes
    if cell.more:
        last.more = Counter(last.more) + Counter(cell.more)
    if cell.marks:
        last.marks += cell.marks
