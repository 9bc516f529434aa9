"""Builds the trace of one conversation: turns with their steps, and the lane of what belongs to no turn."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from inspector.traces.log_record import KINDS
from inspector.traces.model import Span, Step, Trace, TraceRecord, Turn
from inspector.traces.spans import ById, Forest, hang, match, place_in_time, turn_id


def build(conversation_id: str, records: Iterable[TraceRecord], bodies: Callable[[str], bytes | None] = lambda name: None) -> Trace:
    """The trace of `conversation_id` out of `records` of any number of sources, in any order and with repetitions.

    Records of other conversations are left out, as are those that name no conversation and no turn or span of this one.
    `bodies` gives the content of a body by name, None where it is not there. The k-th `step` span of a turn (from 0) in order of
    start is step k. Every span stays reachable, and `problems` says what is missing.
    """
    merged, clashes = _merged(_own(conversation_id, records))
    forest = hang(match(record for record in merged if record.kind in KINDS[1:]))
    trace = Trace(conversation_id, bodies=bodies)
    turns = {record.turn_id: Turn(record.turn_id, None) for record in merged if record.turn_id}
    for index, span in enumerate(forest.spans):
        _place(trace, turns, forest, index, span)
    for turn in turns.values():
        if turn.span is not None:
            turn.other += [child for child in turn.span.children if child.name != "step"]
    starts = _starts(merged, forest)
    trace.turns = sorted(turns.values(), key=lambda turn: starts[turn.turn_id])
    _hang_logs(trace, forest.spans, merged)
    trace.problems = tuple(_problems(merged, forest, clashes))
    return trace


def is_side_call(span: Span) -> bool:
    """Whether it is a request that is no part of the conversation: a probe that keeps a cache warm, or the call that compacts."""
    return any(record.attributes.get(key) is True for record in (span.opened, span.closed) if record for key in ("warm", "compaction"))


def _own(conversation_id: str, records: Iterable[TraceRecord]) -> list[TraceRecord]:
    near = [record for record in records if record.conversation_id in ("", conversation_id)]
    named = [record for record in near if record.conversation_id]
    turns, spans = {record.turn_id for record in named} - {""}, {record.span_id for record in named} - {""}
    return [
        record
        for record in near
        if record.conversation_id == conversation_id or record.turn_id in turns or {record.span_id, record.parent_span_id} & spans
    ]


def _merged(records: list[TraceRecord]) -> tuple[list[TraceRecord], int]:
    first: dict[str, TraceRecord] = {}
    clashing: list[TraceRecord] = []
    for record in records:
        earlier = first.setdefault(record.id, record)
        if _identity(earlier) != _identity(record):
            clashing.append(record)
        elif earlier.body is None and record.body is not None:
            # Retention may have taken the body from the database while the journal still holds it.
            first[record.id] = replace(earlier, body=record.body)
    return sorted([*first.values(), *clashing], key=lambda record: (record.timestamp, record.order)), len(clashing)


def _identity(record: TraceRecord) -> tuple[object, ...]:
    return record.kind, record.timestamp, record.span_id, record.name, record.message


def _place(trace: Trace, turns: dict[str, Turn], forest: Forest, index: int, span: Span) -> None:
    is_root = forest.parents[index] is None
    turn = turns.get(forest.turn_of(index))
    if turn is None or (is_root and is_side_call(span)):
        if is_root:
            trace.lane.append(span)
    elif span.name == "step":
        turn.steps.append(_step(turn, span))
    elif span.name == "turn" and turn.span is None and turn_id(span):
        turn.span = span
    elif is_root:
        turn.other.append(span)


def _step(turn: Turn, span: Span) -> Step:
    children = span.children
    return Step(
        turn.turn_id,
        len(turn.steps),
        span,
        prompt=next((child for child in children if child.name == "prompt"), None),
        requests=[child for child in children if child.name == "provider.request" and not is_side_call(child)],
        tool_calls=[child for child in children if child.name == "tool-call"],
    )


def _starts(records: list[TraceRecord], forest: Forest) -> dict[str, tuple[int, int]]:
    starts: dict[str, tuple[int, int]] = {}
    for turn, start in [
        *((turn_id(span), place_in_time(span)) for span in forest.spans),
        *((record.turn_id, (record.timestamp, record.order)) for record in records),
    ]:
        starts[turn] = min(start, starts.get(turn, start))
    return starts


def _hang_logs(trace: Trace, spans: list[Span], records: list[TraceRecord]) -> None:
    by_id = ById(spans)
    for record in records:
        if record.kind not in KINDS[1:]:
            place = by_id.find(record.span_id, record.turn_id, record.timestamp)
            (trace.logs if place is None else spans[place].logs).append(record)


def _problems(records: list[TraceRecord], forest: Forest, clashes: int) -> Iterable[str]:
    spans, orphans = forest.spans, forest.orphans
    unopened = sum(span.opened is None for span in spans)
    unclosed = sum(span.closed is None for span in spans)
    named = [span.span_id for span in spans if span.span_id]
    unknown = sum(record.kind not in KINDS for record in records)
    stray = sum(span.name in ("prompt", "provider.request") and bool(turn_id(span)) for span in orphans)
    if unopened:
        yield (
            f"{_count(unopened, 'span has', 'spans have')} a close record but no open record (retention or rotation removed it): "
            "what was asked is unknown, not absent."
        )
    if unclosed:
        yield f"{_count(unclosed, 'span was', 'spans were')} opened and never closed (aborted, crashed or still running): the end is unknown."
    if orphans:
        yield f"{_count(len(orphans), 'span names', 'spans name')} a parent that is not recorded: they are shown on their own."
    if stray:
        yield f"{_count(stray, 'request or prompt', 'requests or prompts')} of a step that is not recorded: step numbers of these turns may be too low."
    if forest.looped:
        yield f"{_count(forest.looped, 'chain', 'chains')} of parents led back to its start: it was cut at its earliest span."
    if forest.too_deep:
        yield f"{_count(forest.too_deep, 'span', 'spans')} were nested too deep under others and are shown on their own."
    if len(named) > len(set(named)):
        reused = len(named) - len(set(named))
        yield f"{_count(reused, 'span', 'spans')} used the id of another span: they are kept apart by name and time."
    if clashes:
        yield f"{_count(clashes, 'record', 'records')} had the id of a different record: both are kept."
    if unknown:
        yield f"{_count(unknown, 'record', 'records')} of an unknown kind: they are listed as log lines."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
