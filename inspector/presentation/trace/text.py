"""A conversation's trace as lines: each turn with its spans, what they did, and the rows that they wrote."""

from collections.abc import Iterator, Sequence

from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.presentation.trace import span_words, waterfall
from inspector.presentation.trace.waterfall import LogLine, SpanRow, TurnRows
from inspector.traces.model import Trace

SEQS_SHOWN = 8


def trace_lines(trace: Trace, chunks: Sequence[Chunk]) -> Iterator[str]:
    """Times are UTC. Steps have their number in the whole trace, from 1."""
    yield waterfall.headline(trace)
    yield from (f"Problem: {problem}" for problem in trace.problems)
    numbers = {id(step): number for number, step in enumerate(trace.steps(), start=1)}
    for turn in waterfall.turns(trace, chunks):
        yield ""
        yield _head(turn)
        for row in turn.rows:
            yield from _lines(row, f"step {numbers[id(row.step)]} ({row.step.step_id})" if row.step else row.name)
    if lane := waterfall.lane(trace):
        yield ""
        yield "Outside of turns:"
        for row in lane:
            yield from _lines(row, row.name, row.day)
    if trace.logs:
        yield ""
        yield "Log lines of no span:"
        yield from (_log(LogLine(record)) for record in trace.logs)


def _head(turn: TurnRows) -> str:
    at_least, state = ("", "") if turn.state == "complete" else ("at least ", f", {turn.state}")
    gap = f", {turn.gap}" if turn.gap else ""
    return f"Turn {turn.number}, {turn.turn.turn_id}: {turn.day}, {at_least}{turn.lasted}{state}{gap}"


def _lines(row: SpanRow, name: str, time: str = "") -> Iterator[str]:
    stored = [f"stored as seq {span_text(row.seqs, SEQS_SHOWN)}"] if row.seqs else []
    details = "; ".join((*row.words, *row.problems, *stored))
    indent = "  " * (min(row.depth, 6) + 1)
    yield f"{indent}{time or row.clock} {span_words.text(name, 200)}, {row.lasted}{f': {details}' if details else ''}"
    for line in row.logs:
        yield f"{indent}  {_log(line)}"


def _log(line: LogLine) -> str:
    return f"{line.clock} {line.record.level or 'log'}: {line.text}"
