"""Spans out of log records: opens matched with closes, and every span hung under its parent without losing or looping one."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.traces.model import Span, TraceRecord

MAX_DEPTH = 100
"""Levels of spans under one root; deeper ones are roots of their own, so that pages can draw a tree by recursion."""


@dataclass(slots=True)
class Forest:
    """All spans in order of start, with the place of each one's parent among them (None: it is a root)."""

    spans: list[Span]
    parents: list[int | None]
    orphans: list[Span]
    """Spans that name a parent that is not recorded."""
    looped: int = 0
    too_deep: int = 0

    def turn_of(self, index: int) -> str:
        """Turn id of a span, or of its nearest ancestor that has one; "" where none has."""
        place: int | None = index
        while place is not None:
            if turn := turn_id(self.spans[place]):
                return turn
            place = self.parents[place]
        return ""


def first_record(span: Span) -> TraceRecord:
    record = span.opened or span.closed
    assert record
    return record


def turn_id(span: Span) -> str:
    """Turn id that the span's own records give; "" for spans outside of turns."""
    return next((record.turn_id for record in (span.opened, span.closed) if record and record.turn_id), "")


def place_in_time(span: Span) -> tuple[int, int]:
    return span.start, first_record(span).order


def match(records: Iterable[TraceRecord]) -> list[Span]:
    """Spans in order of start, of `span-open` and `span-close` records in any order.

    A close belongs to the open of the same span id and name; a span id that is used twice makes two spans.
    """
    spans: list[Span] = []
    waiting: dict[tuple[str, str, bool], deque[Span]] = {}
    for record in records:
        opens = record.kind == "span-open"
        halves = waiting.get((record.span_id, record.name, opens)) if record.span_id else None
        if halves:
            span = halves.popleft()
        else:
            span = Span(record.span_id, record.name)
            spans.append(span)
            waiting.setdefault((record.span_id, record.name, not opens), deque()).append(span)
        if opens:
            span.opened = record
        else:
            span.closed = record
    return sorted(spans, key=place_in_time)


class ById:
    """Spans by span id, each id's in order of start: an id may have been used more than once."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._places: dict[tuple[str, str | None], list[int]] = {}
        for index, span in enumerate(spans):
            for key in ((span.span_id, None), (span.span_id, turn_id(span))):
                self._places.setdefault(key, []).append(index)

    def find(self, span_id: str, turn: str, time: int) -> int | None:
        """Place of the span of that id: one of the same turn, if there is one, and the last that had started at `time`."""
        places = self._places.get((span_id, turn)) or self._places.get((span_id, None))
        if not span_id or not places:
            return None
        started = bisect_right(places, time, key=lambda place: self._spans[place].start)
        return places[max(started - 1, 0)]


def hang(spans: Sequence[Span]) -> Forest:
    """Fills `children`. A parent that is missing, a loop and too deep a level all make the span a root."""
    by_id = ById(spans)
    forest = Forest(list(spans), [None] * len(spans), [])
    for index, span in enumerate(spans):
        parent_id = next((record.parent_span_id for record in (span.opened, span.closed) if record and record.parent_span_id), "")
        forest.parents[index] = by_id.find(parent_id, turn_id(span), span.start)
        if parent_id and forest.parents[index] is None:
            forest.orphans.append(span)
    _cut(forest)
    for index, parent in enumerate(forest.parents):
        if parent is not None:
            spans[parent].children.append(spans[index])
    return forest


def _cut(forest: Forest) -> None:
    depth: list[int | None] = [None] * len(forest.spans)
    for index in range(len(forest.spans)):
        while depth[index] is None:
            path: dict[int, None] = {}
            place: int | None = index
            while place is not None and depth[place] is None and place not in path:
                path[place] = None
                place = forest.parents[place]
            if place is not None and depth[place] is None:
                climbed = list(path)
                forest.parents[min(climbed[climbed.index(place) :])] = None
                forest.looped += 1
                continue
            level = -1 if place is None else depth[place] or 0
            for step in reversed(path):
                level += 1
                if level > MAX_DEPTH:
                    forest.parents[step], level = None, 0
                    forest.too_deep += 1
                depth[step] = level
