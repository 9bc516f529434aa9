"""TRACE101: the trace is incomplete where the rows show that something ran."""

from collections.abc import Iterator, Sequence

from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.traces.model import Span, Trace
from inspector.traces.tree import is_side_call
from inspector.traces.witness import spans_of, turn_of, turn_time

_SHOWN = 8
UNKNOWN = (("there was no request", "not to be concluded: retention, rotation and a server without a collector leave the same gap"),)


def check(case: Case) -> Iterator[Match]:
    if case.trace is None or not case.conversation.chunks:
        return
    rows: dict[str, list[Chunk]] = {}
    for chunk in case.conversation.chunks:
        if chunk.step_id is not None:
            rows.setdefault(turn_of(chunk.step_id)[0], []).append(chunk)
    yield from _unmatched(case, case.trace, rows)
    yield from _unseen(case.trace, rows)


def _unmatched(case: Case, trace: Trace, rows: dict[str, list[Chunk]]) -> Iterator[Match]:
    """Halves of spans inside of turns. An aborted probe outside of the conversation says nothing about its turns."""
    halves: list[Span] = []
    chunks: list[Chunk] = []
    for turn in trace.turns[:-1] if case.running else trace.turns:
        broken = [span for span in spans_of(turn) if span.state != "complete" and not is_side_call(span)]
        halves += broken
        chunks += rows.get(turn.turn_id, []) if broken else []
    if halves:
        unclosed = sum(span.closed is None for span in halves)
        counts = [f"{unclosed} opened and never closed"] * bool(unclosed) + [f"{len(halves) - unclosed} closed without an open record"] * (
            len(halves) > unclosed
        )
        yield Match(
            chunks or case.conversation.chunks[-1:],
            f"Of the spans of its turns the trace holds only half: {' and '.join(counts)}. What the other half said is unknown.",
            evidence=tuple((span.name[:60], f"{span.state}, {span.span_id[:60]}") for span in halves[:_SHOWN]),
            ruled_out=UNKNOWN,
        )


def _unseen(trace: Trace, rows: dict[str, list[Chunk]]) -> Iterator[Match]:
    """Turns whose rows carry a time inside of what the trace covers, and of which it holds no record."""
    times = _times(trace)
    traced_turns = {turn.turn_id for turn in trace.turns}
    turns = [turn for turn in rows if turn not in traced_turns and _covered(turn_time(turn), times)]
    if turns:
        chunks = [chunk for turn in turns for chunk in rows[turn]]
        yield Match(
            chunks,
            f"{'A turn' if len(turns) == 1 else f'{len(turns)} turns'} with rows (seq {span_text([chunk.seq for chunk in chunks])}) left no record in the trace, "
            "though it holds records from before and after. What was sent there is unknown.",
            evidence=tuple(("turn", turn[:80]) for turn in turns[:_SHOWN]),
            ruled_out=UNKNOWN,
        )


def _times(trace: Trace) -> list[int]:
    spans = [*trace.lane, *(turn.span or turn.steps[0].span for turn in trace.turns if turn.span or turn.steps)]
    return [*(span.start for span in spans), *(record.timestamp for record in trace.logs)]


def _covered(time: int | None, times: Sequence[int]) -> bool:
    return time is not None and bool(times) and min(times) < time < max(times)


RULE = Rule(
    code="TRACE101",
    state="Z1",
    name="trace-gap",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="the trace does not cover what the rows show",
    why=(
        "The collector loses records at rotation, retention deletes the oldest, and an aborted request never closes its span. "
        "Who reads a gap as `no request was sent` looks for the fault in the wrong place."
    ),
    example=(
        '1 user 0.0 text go\n2 assistant 0.0 tool-call a ls {} step="turn-1782590000000-a#0"\n3 tool 1.0 tool-result a f name=ls step="turn-1782590000000-a#0"\n'
        "step turn-1782590000000-a#0 unclosed"
    ),
    check=check,
    references=("derived from the collector of Dispatch: its offset does not notice rotation",),
    no_repair_reason="What was never recorded cannot be restored.",
    fixed_in_code="Let the collector notice rotation, and close the span of an abandoned request.",
)
