"""The spans of a trace as rows on a time axis, with the stored chunks that a span wrote."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.conversation.queries import spans_of, true_messages
from inspector.presentation.clock import moment
from inspector.presentation.trace import span_words
from inspector.text import jsontext
from inspector.traces.model import Span, Step, Trace, TraceRecord, Turn
from inspector.traces.prompted import Differences, differences
from inspector.traces.written import StoredRows, written

AXIS = 1000
"""Width of the time axis in units of the drawing."""

_SHORTEST = 4
_MERGED_SHOWN = 3
_COMPARABLE = 10
"""Turns have one time axis where the longest lasts at most so many times as long as the shortest; else each has its own, that of its length."""

Extent = tuple[int, int]
"""First and last moment of a turn, epoch milliseconds."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A log record."""

    record: TraceRecord

    @property
    def clock(self) -> str:
        return span_words.clock(self.record.timestamp)

    @property
    def text(self) -> str:
        return span_words.text(self.record.message or self.record.name, 1500)

    @property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        return span_words.attributes(self.record.attributes)


@dataclass(frozen=True, slots=True)
class SpanRow:
    """One span; `x` and `width` are on the axis of the turn, `seqs` are the chunks that it wrote.

    `words` say what it did and how it ended, `problems` what went wrong or is unknown. `messages_before` of a prompt is the number of the messages that were
    stored before its step wrote, where that is known.
    """

    span: Span
    depth: int
    x: float
    width: float
    words: tuple[str, ...]
    problems: tuple[str, ...]
    seqs: tuple[int, ...] = ()
    step: Step | None = None
    messages_before: int | None = None
    shared: frozenset[str] = frozenset()
    """Names of attributes that the page shows once for all spans."""
    timings: tuple["SpanRow", ...] = ()
    """Of a request: how it went on, drawn in its bar."""
    written_from: int | None = None
    """Of a prompt: the first seq that its step wrote."""
    differences: Differences | None = None
    """Of a prompt with fewer messages: which of them, where that is known."""

    @property
    def fewer(self) -> str:
        """Of a prompt with fewer messages than were stored before it: a reader merged, dropped or compacted some."""
        return f"of the {self.messages_before:,} stored before it" if self.share else ""

    @property
    def share(self) -> str:
        """Of such a prompt, in figures: 2 of 3."""
        count, before = self.span.attributes.get("messageCount"), self.messages_before
        return f"{count:,} of {before:,}" if isinstance(count, int) and before is not None and count < before else ""

    @property
    def fewer_by(self) -> tuple[str, ...]:
        """Which stored messages are merged or left out in such a prompt, in words."""
        if self.differences is None:
            return ()
        merged, left_out = self.differences.merged, self.differences.left_out
        words = [f"seq {queries.span_text(seqs)} as one {span_words.text(role, 20)} message" for role, seqs in merged[:_MERGED_SHOWN]]
        words += [f"{len(merged) - _MERGED_SHOWN} more are merged"] if len(merged) > _MERGED_SHOWN else []
        return (*words, *([f"seq {queries.span_text(left_out)} left out"] if left_out else []))

    @property
    def is_failed_request(self) -> bool:
        """Of a request that was closed as an error, or had no HTTP answer or one of an error."""
        if self.span.name != "provider.request" or not self.span.closed:
            return False
        status = self.span.attributes.get("status")
        return self.span.closed.status == "error" or (isinstance(status, int) and not isinstance(status, bool) and not 0 < status < 400)

    @property
    def is_failed(self) -> bool:
        return self.is_failed_request or self.span.attributes.get("isError") is True

    @property
    def first_token(self) -> str:
        return next((row.lasted for row in self.timings if row.span.name == "ttft"), "")

    @property
    def answering(self) -> tuple["SpanRow", ...]:
        return tuple(row for row in self.timings if row.span.name != "ttft")

    @property
    def end(self) -> float:
        return round(self.x + self.width, 1)

    @property
    def short_problems(self) -> tuple[str, ...]:
        """`problems`, where the page explains the state once for all spans."""
        if self.span.state == "complete":
            return self.problems
        return (self.span.state, *self.problems[1:])

    @property
    def body_name(self) -> str:
        return self.kind if self.kind in ("prompt", "request") else "body"

    @property
    def name(self) -> str:
        return f"step {self.step.index}" if self.step else span_words.label(self.span)

    @property
    def kind(self) -> str:
        return span_words.kind(self.span)

    @property
    def clock(self) -> str:
        return span_words.clock(self.span.start)

    @property
    def day(self) -> str:
        return moment(self.span.start)

    @property
    def duration(self) -> int | None:
        """In milliseconds; None where it is unknown."""
        closed, opened = self.span.closed, self.span.opened
        if closed is None:
            return None
        if closed.duration_ms is not None:
            return closed.duration_ms
        return max(closed.timestamp - opened.timestamp, 0) if opened else None

    @property
    def lasted(self) -> str:
        return "unknown" if self.duration is None else span_words.lasted(self.duration)

    @property
    def stored_as(self) -> list[tuple[int, int]]:
        """The first and the last seq of each run of `seqs`."""
        return spans_of(self.seqs)

    @property
    def indent(self) -> str:
        # How a request went on is recorded next to it.
        return f"d{min(self.depth + (self.kind == 'timing'), 6)}"

    @property
    def attributes(self) -> tuple[tuple[str, str], ...]:
        own = {key: value for key, value in self.span.attributes.items() if key not in self.shared}
        return span_words.attributes(own)

    @property
    def links(self) -> tuple[str, ...]:
        records = (self.span.opened, self.span.closed)
        return tuple(span_words.text(jsontext.compact(dict(link))) for record in records if record for link in record.links)

    @property
    def logs(self) -> tuple[LogLine, ...]:
        return tuple(map(LogLine, self.span.logs))


@dataclass(frozen=True, slots=True)
class TurnRows:
    """`gap` is the time since the turn before in words, "" for the first; `number` counts from 1, `axis` is the length of its time axis in milliseconds."""

    number: int
    turn: Turn
    extent: Extent
    axis: int
    is_axis_shared: bool
    gap: str
    rows: tuple[SpanRow, ...]
    share: float
    """Its length on an axis that is as long as the longest turn."""
    is_folded: bool = False

    @property
    def head(self) -> SpanRow | None:
        """The turn's own span; None where it is not recorded."""
        return self.rows[0] if self.rows and self.rows[0].span is self.turn.span else None

    @property
    def below(self) -> tuple[SpanRow, ...]:
        return self.rows[1:] if self.head else self.rows

    @property
    def date(self) -> str:
        return moment(self.extent[0], "%Y-%m-%d")

    @property
    def day(self) -> str:
        return moment(self.extent[0])

    @property
    def lasted(self) -> str:
        return span_words.lasted(self.extent[1] - self.extent[0])

    @property
    def axis_middle(self) -> str:
        return span_words.lasted(self.axis // 2)

    @property
    def axis_end(self) -> str:
        return span_words.lasted(self.axis)

    @property
    def state(self) -> str:
        return self.turn.span.state if self.turn.span else "not recorded"


def turns(trace: Trace, chunks: Sequence[Chunk], shared: frozenset[str] = frozenset()) -> tuple[TurnRows, ...]:
    """`shared`: names of attributes that the rows leave out."""
    rows, by_step = StoredRows(chunks), written(trace, chunks)
    ends = sorted(message.chunks[-1].seq for message in true_messages(chunks))
    extents = [_extent(turn) for turn in trace.turns]
    lengths = [end - start for start, end in extents]
    longest = max(lengths, default=0)
    is_comparable = longest <= _COMPARABLE * min(lengths, default=0)
    return tuple(
        TurnRows(
            place + 1,
            turn,
            extents[place],
            axis := longest if is_comparable else lengths[place],
            is_comparable,
            _gap(extents[place - 1][1], extents[place][0]) if place else "",
            tuple(_rows(turn, extents[place], axis, rows, by_step, ends, shared)),
            round(max(lengths[place] * AXIS / max(longest, 1), _SHORTEST), 1),
        )
        for place, turn in enumerate(trace.turns)
    )


def lane(trace: Trace, shared: frozenset[str] = frozenset()) -> tuple[SpanRow, ...]:
    """Spans outside of turns: repairs by the loader, cache warming, compaction. Hours apart, so their bars all begin at the left."""
    flat = list(_flat(trace.lane))
    longest = max((span.end - span.start for span, _ in flat if span.end is not None), default=0)
    return tuple(
        SpanRow(
            span, depth, *_bar(span, (span.start, span.start + longest), longest), span_words.words(span, shared=shared),
            span_words.problems(span), shared=shared,
        )
        for span, depth in flat
    )  # fmt: skip


def with_timings(rows: Sequence[SpanRow]) -> tuple[SpanRow, ...]:
    """How a request went on is part of its row, where nothing else is recorded of it."""
    result: list[SpanRow] = []
    for row in rows:
        is_plain = row.kind == "timing" and not (row.problems or row.span.logs or row.span.body or row.links)
        if is_plain and result and result[-1].kind == "request" and result[-1].span.closed:
            result[-1] = replace(result[-1], timings=(*result[-1].timings, row))
        else:
            result.append(row)
    return tuple(result)


def with_differences(turns: Iterable[TurnRows], trace: Trace, chunks: Sequence[Chunk], most: int) -> tuple[TurnRows, ...]:
    """With what the first `most` prompts of fewer messages merge and leave out: each is a body to read."""
    result = []
    for turn in turns:
        rows, step = list(turn.rows), None
        for place, row in enumerate(rows):
            step = row.step or step
            if most and row.share and step and row.written_from is not None:
                rows[place] = replace(row, differences=differences(trace, step, chunks, row.written_from))
                most -= 1
        result.append(replace(turn, rows=tuple(rows)))
    return tuple(result)


def shared_attributes(trace: Trace) -> dict[str, Any]:
    """The attributes that have one value, a plain one, in all spans that have them, several at least; once for all of them."""
    values: dict[str, Any] = {}
    numbers: Counter[str] = Counter()
    for span, *_ in spans(trace):
        for name, value in span.attributes.items():
            is_same = isinstance(value, str | int | float) and (
                name not in values or (type(value), value) == (type(values[name]), values[name])
            )
            values[name] = value if is_same else None
            numbers[name] += 1
    return {name: value for name, value in values.items() if value is not None and numbers[name] > 1}


def counts(trace: Trace) -> str:
    steps = trace.steps()
    counted = (
        (len(trace.turns), "turn"),
        (len(steps), "step"),
        (sum(len(step.requests) for step in steps), "request"),
        (sum(len(step.tool_calls) for step in steps), "tool call"),
    )
    return ", ".join(span_words.count(number, word) for number, word in counted)


def headline(trace: Trace) -> str:
    """The headline of the page."""
    missing = sum(step.request is None for step in trace.steps())
    half = len(list(half_recorded(trace)))
    if missing:
        return f"{counts(trace)} observed; the request of {span_words.count(missing, 'step')} is not recorded, which is not the same as no request."
    if half:
        end = ", and the end of the trace is missing" if is_end_missing(trace) else ""
        return f"{counts(trace)} observed; {span_words.count(half, 'span')} {'has' if half == 1 else 'have'} only one end recorded{end}."
    return f"{counts(trace)} observed; every span was opened and closed."


def is_end_missing(trace: Trace) -> bool:
    """Whether a span was never closed that was opened in the last turn or after it."""
    start = _extent(trace.turns[-1])[0] if trace.turns else 0
    return any(span.state == "never closed" and span.start >= start for span, *_ in spans(trace))


def half_recorded(trace: Trace) -> Iterator[tuple[str, str, str]]:
    """(span and place in words, id of its turn or "", id of its step or "") of each span of which one end is not recorded."""
    for span, place, turn_id, step_id in spans(trace):
        if span.state != "complete":
            yield f"{span_words.label(span)} {place}", turn_id, step_id


def spans(trace: Trace) -> Iterator[tuple[Span, str, str, str]]:
    """Every span once, with its place in words (`of turn 3, step 1`), and the ids of the turn and of the step that it is or is a part of, or ""."""
    for number, turn in enumerate(trace.turns, 1):
        owners = {id(span): step for step in turn.steps for span in (step.span, *step.span.children)}
        for span, _ in _flat(_roots(turn)):
            step = owners.get(id(span))
            place = f"of turn {number}, step {step.index}" if step else f"of turn {number}"
            yield span, place, turn.turn_id, step.step_id if step else ""
    for span, _ in _flat(trace.lane):
        yield span, "outside of turns", "", ""


def body_owners(trace: Trace, digest: str) -> list[tuple[str, str]]:
    """(what had this body, step id or "") for each span and log line that did; empty where the body is not of this trace."""
    owners: list[tuple[str, str]] = []
    logs = list(trace.logs)
    for span, place, _, step_id in spans(trace):
        logs += span.logs
        if any(record and record.body == digest for record in (span.opened, span.closed)):
            owners.append((f"{span_words.label(span)} {place}, {moment(span.start)}", step_id))
    return owners + [(f"log line of {moment(record.timestamp)}", "") for record in logs if record.body == digest]


def _rows(
    turn: Turn,
    extent: Extent,
    axis: int,
    rows: StoredRows,
    by_step: Mapping[str, Sequence[Chunk]],
    ends: Sequence[int],
    shared: frozenset[str],
) -> Iterator[SpanRow]:
    """`ends` are the seqs with which the stored messages end, ascending."""
    steps = {id(step.span): step for step in turn.steps}
    prompts = {id(step.prompt): by_step[step.step_id][0].seq for step in turn.steps if step.prompt and step.step_id in by_step}
    attempts = {id(span): (place, len(step.requests)) for step in turn.steps for place, span in enumerate(step.requests, 1)}
    # The tokens of a step are those of its request, and of a turn of one step too: said once.
    requested = {id(step.span) for step in turn.steps if step.request is not None and span_words.has_usage(step.request)}
    if len(turn.steps) == 1 and requested:
        requested.add(id(turn.span))
    for span, depth in _flat(_roots(turn)):
        step = steps.get(id(span))
        stored = by_step.get(step.step_id, ()) if step else rows.of_call(turn, span) if span.name == "tool-call" else ()
        words = span_words.words(span, attempts.get(id(span)), with_usage=id(span) not in requested, shared=shared)
        problems = span_words.problems(span, step)
        first = prompts.get(id(span))
        yield SpanRow(
            span,
            depth,
            *_bar(span, extent, axis),
            words,
            problems,
            tuple(chunk.seq for chunk in stored),
            step,
            None if first is None else bisect_left(ends, first),
            shared,
            written_from=first,
        )


def _roots(turn: Turn) -> list[Span]:
    """The turn's own span first, which leads to its descendants; then the other roots."""
    own = [turn.span] if turn.span else []
    return [*own, *sorted([*(step.span for step in turn.steps), *turn.other], key=lambda span: span.start)]


def _flat(roots: Sequence[Span]) -> Iterator[tuple[Span, int]]:
    """Spans from the top, each once, with their depth; children are in order of start."""
    seen_ids: set[int] = set()
    stack = [(span, 0) for span in reversed(roots)]
    while stack:
        span, depth = stack.pop()
        if id(span) not in seen_ids:
            seen_ids.add(id(span))
            yield span, depth
            stack += [(child, depth + 1) for child in reversed(span.children)]


def _extent(turn: Turn) -> Extent:
    times = [time for span, _ in _flat(_roots(turn)) for time in (span.start, span.end) if time is not None]
    return (min(times), max(times)) if times else (0, 0)


def _gap(end: int, start: int) -> str:
    if start >= end:
        return f"{span_words.lasted(start - end)} later"
    return f"began {span_words.lasted(end - start)} before the last record of the turn above"


def _bar(span: Span, extent: Extent, axis: int) -> tuple[float, float]:
    """A span that was never closed reaches to the end of its turn."""
    first, last = extent
    scale = AXIS / max(axis, 1)
    x = min((span.start - first) * scale, AXIS - _SHORTEST)
    end = ((last if span.end is None else span.end) - first) * scale
    return round(x, 1), round(max(end - x, _SHORTEST), 1)
