"""The spans of a trace as rows on a time axis, each with the words that say how it ended and the chunks that it wrote."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from inspector.conversation import jsontext
from inspector.conversation.model import Chunk
from inspector.reports.visible import clipped
from inspector.traces import observe
from inspector.traces.model import Span, Step, Trace, TraceRecord, Turn
from inspector.traces.tree import is_side_call

AXIS = 1000
"""Width of the time axis in units of the drawing."""

_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One span. `x` and `width` are on the axis of its turn; `duration` is in milliseconds, None where its end is unknown.

    `words` say what it did and how it ended; `seqs` are the stored chunks that it wrote.
    """

    depth: int
    name: str
    kind: str
    span_id: str
    state: str
    start: int
    duration: int | None
    x: float
    width: float
    words: tuple[str, ...]
    trouble: tuple[str, ...]
    seqs: tuple[int, ...]
    step_id: str
    attributes: tuple[tuple[str, str], ...]
    links: tuple[str, ...]
    logs: tuple["Line", ...]
    body: str | None
    prompt_body: str | None = None
    request_body: str | None = None

    @property
    def clock(self) -> str:
        return span_words.clock(self.start)

    @property
    def lasted(self) -> str:
        return "unknown" if self.duration is None else span_words.lasted(self.duration)

    @property
    def is_step(self) -> bool:
        return self.kind == "step"

    @property
    def depth_class(self) -> str:
        return f"d{min(self.depth, 6)}"


@dataclass(frozen=True, slots=True)
class Line:
    """A log record."""

    at: int
    level: str
    text: str
    attributes: tuple[tuple[str, str], ...]
    body: str | None

    @property
    def clock(self) -> str:
        return span_words.clock(self.at)


@dataclass(frozen=True, slots=True)
class TurnRows:
    """A turn on its own axis. `gap` is the time since the turn before in words, "" for the first; `number` counts from 1."""

    number: int
    turn_id: str
    state: str
    start: int
    length: int
    gap: str
    words: tuple[str, ...]
    trouble: tuple[str, ...]
    step_count: int
    rows: tuple[Row, ...]

    @property
    def day(self) -> str:
        return span_words.day(self.start)

    @property
    def axis_end(self) -> str:
        return span_words.lasted(self.length)


def turns(trace: Trace, chunks: Sequence[Chunk]) -> tuple[TurnRows, ...]:
    by_call: dict[str, list[Chunk]] = {}
    by_step: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        if chunk.call_id:
            by_call.setdefault(chunk.call_id, []).append(chunk)
        if chunk.step_id:
            by_step.setdefault(chunk.step_id, []).append(chunk)
    extents = [_extent(turn) for turn in trace.turns]
    gaps = ["", *(_gap(before[1], after[0]) for before, after in pairwise(extents))]
    return tuple(
        _turn_rows(number, turn, extent, gap, by_call, by_step)
        for number, (turn, extent, gap) in enumerate(zip(trace.turns, extents, gaps, strict=True), 1)
    )


def lane(trace: Trace) -> tuple[Row, ...]:
    """Spans outside of turns: repairs by the loader, cache warming, compaction. Hours apart, so they have no axis."""
    return tuple(_row(span, depth, None, (0, 1), ()) for root in trace.lane for span, depth in _flat([root], 0))


def lines(logs: Sequence[TraceRecord]) -> tuple[Line, ...]:
    return tuple(
        Line(record.timestamp, record.level, record.message or record.name, span_words.attributes(record.attributes), record.body) for record in logs
    )


def headline(trace: Trace) -> str:
    """The one sentence that stands first."""
    steps = trace.steps()
    called = sum(len(step.tool_calls) for step in steps)
    sent = sum(len(step.requests) for step in steps)
    counts = ", ".join(
        span_words.count(number, word)
        for number, word in ((len(trace.turns), "turn"), (len(steps), "step"), (sent, "request"), (called, "tool call"))
    )
    missing = sum(step.request is None for step in steps)
    if missing:
        return f"{counts} observed; {span_words.count(missing, 'step')} without a recorded request, which is not the same as no request."
    open_ended = sum(span.state != "complete" for span, _, _ in spans(trace))
    if open_ended:
        return f"{counts} observed; {span_words.count(open_ended, 'span')} with only one end recorded."
    return f"{counts} observed; every span was opened and closed."


def spans(trace: Trace) -> Iterator[tuple[Span, int, Step | None]]:
    """Every span of the trace once: with the number of its turn (0: none), and its step where it is one or a part of one."""
    for number, turn in enumerate(trace.turns, 1):
        steps = {id(span): step for step in turn.steps for span in (step.span, *step.span.children)}
        for span, _ in _flat(_roots(turn), 0):
            yield span, number, steps.get(id(span))
    for span, _ in _flat(trace.lane, 0):
        yield span, 0, None


def body_owners(trace: Trace, digest: str) -> list[tuple[str, str]]:
    """(what had this body, step id or "") for each span and log line that did; empty where the body is not of this trace."""
    owners: list[tuple[str, str]] = []
    loose = list(trace.logs)
    for span, number, step in spans(trace):
        loose += span.logs
        if digest in {record.body for record in (span.opened, span.closed) if record}:
            place = (
                f"turn {number}, step {_step_number(trace, number, step)}, "
                if step
                else f"turn {number}, "
                if number
                else "outside of turns, "
            )
            owners.append((f"{place}{span_words.label(span)} of {span_words.day(span.start)}", step.step_id if step else ""))
    owners += [(f"log line of {span_words.day(record.timestamp)}", "") for record in loose if record.body == digest]
    return owners


def _turn_rows(
    number: int, turn: Turn, extent: tuple[int, int], gap: str, by_call: Mapping[str, list[Chunk]], by_step: Mapping[str, list[Chunk]]
) -> TurnRows:
    steps = {id(step.span): (place, step) for place, step in enumerate(turn.steps)}
    retried = {id(span): (place, len(step.requests)) for step in turn.steps for place, span in enumerate(step.requests, 1)}
    rows: list[Row] = []
    for span, depth in _flat(_roots(turn), 0):
        place, step = steps.get(id(span), (0, None))
        if step is not None:
            written = _written(turn, place, step, by_call, by_step)
        else:
            written = _of_call(turn, span, by_call) if span.name == "tool-call" else ()
        rows.append(_row(span, depth, step, extent, written, retried.get(id(span)), place))
    span_of = turn.span
    words = span_words.outcome(span_of) if span_of else ()
    trouble = span_words.trouble(span_of) if span_of else ("the span of the turn is not recorded; its steps are shown on their own",)
    state = span_of.state if span_of else "not recorded"
    return TurnRows(number, turn.turn_id, state, extent[0], extent[1] - extent[0], gap, words, trouble, len(turn.steps), tuple(rows))


def _row(
    span: Span,
    depth: int,
    step: Step | None,
    extent: tuple[int, int],
    written: Sequence[Chunk],
    attempt: tuple[int, int] | None = None,
    place: int = 0,
) -> Row:
    x, width = _bar(span, extent)
    words = span_words.words(span, step, attempt)
    return Row(
        depth=depth,
        name=f"step {place + 1}" if step else span_words.label(span),
        kind=span_words.kind(span),
        span_id=span.span_id,
        state=span.state,
        start=span.start,
        duration=_duration(span),
        x=x,
        width=width,
        words=words,
        trouble=span_words.trouble(span, step),
        seqs=tuple(chunk.seq for chunk in written),
        step_id=step.step_id if step else "",
        attributes=span_words.attributes(span.attributes),
        links=tuple(jsontext.compact(dict(link)) for record in (span.opened, span.closed) if record for link in record.links),
        logs=lines(span.logs),
        body=span.body,
        prompt_body=step.prompt.body if step and step.prompt else None,
        request_body=step.request.body if step and step.request else None,
    )


def _roots(turn: Turn) -> list[Span]:
    """Spans of the turn from the top. Steps and others that hang under the turn's own span are reached through it."""
    roots = [turn.span] if turn.span else []
    return [*roots, *sorted([*(step.span for step in turn.steps), *turn.other], key=lambda span: span.start)]


def _flat(roots: Sequence[Span], depth: int) -> Iterator[tuple[Span, int]]:
    seen: set[int] = set()
    stack = [(span, depth) for span in reversed(roots)]
    while stack:
        span, depth = stack.pop()
        if id(span) in seen:
            continue
        seen.add(id(span))
        yield span, depth
        stack += [(child, depth + 1) for child in sorted(span.children, key=lambda child: child.start, reverse=True)]


def _extent(turn: Turn) -> tuple[int, int]:
    times = [time for span, _ in _flat(_roots(turn), 0) for time in (span.start, span.end) if time is not None]
    return (min(times), max(times)) if times else (0, 0)


def _gap(end: int, start: int) -> str:
    return f"{span_words.lasted(start - end)} later" if start >= end else f"began {span_words.lasted(end - start)} before the end of the turn above"


def _bar(span: Span, extent: tuple[int, int]) -> tuple[float, float]:
    first, last = extent
    scale = AXIS / max(last - first, 1)
    x = min((span.start - first) * scale, AXIS - _SHORTEST)
    end = (span.end if span.end is not None else last) - first
    return round(x, 1), round(max(min(end * scale, AXIS) - x, _SHORTEST), 1)


def _duration(span: Span) -> int | None:
    if span.closed is None:
        return None
    if span.closed.duration_ms is not None:
        return span.closed.duration_ms
    return max(span.closed.timestamp - span.opened.timestamp, 0) if span.opened else None


def _written(
    turn: Turn, place: int, step: Step, by_call: Mapping[str, list[Chunk]], by_step: Mapping[str, list[Chunk]]
) -> tuple[Chunk, ...]:
    """Chunks of the step: those of its calls, else those with its step id, which count the steps of a turn from 0 in the store."""
    called = [chunk for span in step.tool_calls for chunk in _of_call(turn, span, by_call)]
    return tuple(sorted(called, key=lambda chunk: chunk.seq)) or tuple(by_step.get(f"{turn.turn_id}#{place}", ()))


def _of_call(turn: Turn, span: Span, by_call: Mapping[str, list[Chunk]]) -> tuple[Chunk, ...]:
    call_id = span.attributes.get("toolCallId")
    found = by_call.get(call_id, []) if isinstance(call_id, str) else []
    return tuple(chunk for chunk in found if chunk.step_id is None or chunk.step_id.startswith(f"{turn.turn_id}#"))


def _step_number(trace: Trace, number: int, step: Step) -> int:
    return next(place for place, other in enumerate(trace.turns[number - 1].steps, 1) if other is step)


