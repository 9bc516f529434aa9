"""A conversation's trace as plain data: what the page's `.json` twin says, with everything that the page clips."""

from collections.abc import Sequence
from typing import Any

from inspector.conversation.model import Chunk
from inspector.reports import waterfall
from inspector.reports.waterfall import Row, TurnRows
from inspector.traces import observe
from inspector.traces.model import Trace, TraceRecord


def trace_report(trace: Trace, chunks: Sequence[Chunk]) -> dict[str, Any]:
    """Times are epoch milliseconds, durations milliseconds; None means unknown. Bodies are named by their digest."""
    return {
        "conversation_id": trace.conversation_id,
        "headline": waterfall.headline(trace),
        "problems": list(trace.problems),
        "turns": [_turn(turn) for turn in waterfall.turns(trace, chunks)],
        "lane": [_span(row) for row in waterfall.lane(trace)],
        "logs": [_log(record) for record in trace.logs],
    }


def _turn(turn: TurnRows) -> dict[str, Any]:
    return {
        "turn_id": turn.turn.turn_id,
        "state": turn.state,
        "start": turn.extent[0],
        "end": turn.extent[1],
        "steps": [_step(row) for row in turn.rows if row.step],
        "spans": [_span(row) for row in turn.rows],
    }


def _step(row: Row) -> dict[str, Any]:
    step = row.step
    assert step
    return {
        "step_id": step.step_id,
        "span_id": step.span.span_id,
        "state": step.span.state,
        "finish_reason": observe.finish_reason(step),
        "prompt_body": step.prompt.body if step.prompt else None,
        "request_body": step.request.body if step.request else None,
        "attempts": len(step.requests),
        "tool_calls": [span.span_id for span in step.tool_calls],
        "seqs": list(row.seqs),
    }


def _span(row: Row) -> dict[str, Any]:
    span = row.span
    return {
        "span_id": span.span_id,
        "name": span.name,
        "kind": row.kind,
        "depth": row.depth,
        "state": span.state,
        "start": span.start,
        "duration_ms": row.duration,
        "status": span.closed.status if span.closed else None,
        "words": list(row.words),
        "trouble": list(row.trouble),
        "seqs": list(row.seqs),
        "attributes": span.attributes,
        "links": [dict(link) for record in (span.opened, span.closed) if record for link in record.links],
        "body": span.body,
        "logs": [_log(record) for record in span.logs],
    }


def _log(record: TraceRecord) -> dict[str, Any]:
    return {
        "at": record.timestamp,
        "level": record.level,
        "message": record.message,
        "attributes": dict(record.attributes),
        "body": record.body,
    }
