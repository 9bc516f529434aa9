"""All records of a trace again, out of the tree that was built of them."""

from collections.abc import Iterator

from inspector.traces.model import Span, Trace, TraceRecord


def records(trace: Trace) -> list[TraceRecord]:
    """Each record once, in order of time."""
    by_identity: dict[tuple[str, str, str], TraceRecord] = {}
    for record in _records(trace):
        by_identity.setdefault((record.id, record.span_id, record.kind), record)
    return sorted(by_identity.values(), key=lambda record: (record.timestamp, record.order, record.id))


def _records(trace: Trace) -> Iterator[TraceRecord]:
    yield from trace.logs
    waiting = list(trace.lane)
    for turn in trace.turns:
        waiting += [*([turn.span] if turn.span else []), *(step.span for step in turn.steps), *turn.other]
    seen_spans: set[int] = set()
    while waiting:
        span: Span = waiting.pop()
        if id(span) in seen_spans:
            continue
        seen_spans.add(id(span))
        yield from (record for record in (span.opened, span.closed) if record is not None)
        yield from span.logs
        waiting += span.children
