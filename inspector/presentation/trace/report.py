"""A conversation's trace as plain data: the page's `.json` twin, with everything that the page clips."""

from collections.abc import Sequence

from inspector.conversation.model import Chunk
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.trace import waterfall
from inspector.presentation.trace.waterfall import SpanRow, TurnRows
from inspector.traces import observe
from inspector.traces.model import Step, Trace, TraceRecord


def trace_report(trace: Trace, chunks: Sequence[Chunk]) -> Json:
    """Times are epoch milliseconds, durations milliseconds; None means unknown. Bodies are named by their digest."""
    return {
        "conversation_id": trace.conversation_id,
        "headline": waterfall.headline(trace),
        "end_missing": waterfall.is_end_missing(trace),
        "problems": list(trace.problems),
        "turns": [_turn(turn) for turn in waterfall.turns(trace, chunks)],
        "lane": [_span(row) for row in waterfall.lane(trace)],
        "logs": [_log(record) for record in trace.logs],
    }


def _turn(turn: TurnRows) -> Json:
    return {
        **json_fields(turn, "turn_id=turn.turn_id state"),
        "start": turn.extent[0],
        "end": turn.extent[1],
        "steps": [_step(row.step, row.seqs) for row in turn.rows if row.step],
        "spans": [_span(row) for row in turn.rows],
    }


def _step(step: Step, seqs: Sequence[int]) -> Json:
    return {
        **json_fields(step, "step_id span_id=span.span_id state=span.state"),
        "finish_reason": observe.finish_reason(step),
        "prompt_body": step.prompt.body if step.prompt else None,
        "request_body": step.request.body if step.request else None,
        "attempts": len(step.requests),
        "tool_calls": [span.span_id for span in step.tool_calls],
        "seqs": list(seqs),
    }


def _span(row: SpanRow) -> Json:
    span = row.span
    return {
        **json_fields(row, "span_id=span.span_id name=span.name kind depth state=span.state start=span.start duration_ms=duration"),
        "status": span.closed.status if span.closed else None,
        **json_fields(row, "words trouble=problems seqs attributes=span.attributes"),
        "links": [dict(link) for record in (span.opened, span.closed) if record for link in record.links],
        "body": span.body,
        "logs": [_log(record) for record in span.logs],
    }


def _log(record: TraceRecord) -> Json:
    return {**json_fields(record, "at=timestamp level message"), "attributes": dict(record.attributes), "body": record.body}
