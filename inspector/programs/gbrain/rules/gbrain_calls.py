"""Calls of gbrain's messages that have no result in the history, each with what the ledger knows of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Chunk, Execution, Kind, Message
from inspector.conversation.pairing import answered
from inspector.conversation.queries import span_text
from inspector.programs.gbrain.facts import PATH
from inspector.programs.gbrain.readers import FAILED, SETTLED, by_message, by_row, runs_of
from inspector.rules.base import Case
from inspector.text.jsontext import compact


@dataclass(frozen=True, slots=True)
class CallingRow:
    """A stored message with its calls and their runs. `results` are those of the row after it, where that is one of results."""

    index: int
    chunks: tuple[Chunk, ...]
    runs: tuple[tuple[Chunk, Execution | None], ...]
    results: tuple[Chunk, ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call without a result. `is_partial`: the row after its message has results, of other calls."""

    row: CallingRow
    call: Chunk
    run: Execution | None

    @property
    def is_settled(self) -> bool:
        return self.run is not None and self.run.status in SETTLED and not self.run.damage

    @property
    def is_partial(self) -> bool:
        return bool(self.row.results)


def rows_with_calls(case: Case) -> Iterator[CallingRow]:
    ledger = by_message(case.conversation.ledger)
    rows = [(index, tuple(chunks)) for index, chunks in by_row(case.conversation.chunks) if index is not None]
    for number, (index, chunks) in enumerate(rows):
        if chunks[0].role != "assistant" or not any(chunk.kind is Kind.TOOL_CALL for chunk in chunks):
            continue
        next_chunks = rows[number + 1][1] if number + 1 < len(rows) else ()
        is_results = not any(chunk.role == "assistant" for chunk in next_chunks)
        results = tuple(chunk for chunk in next_chunks if is_results and chunk.kind is Kind.TOOL_RESULT)
        runs = tuple(runs_of(Message("assistant", chunks), ledger.get(index, ())))
        yield CallingRow(index, chunks, runs, results, number + 1 == len(rows))


def open_calls(case: Case) -> list[OpenCall]:
    """In the order of the history; without those of a turn that is under way."""
    missing = {answer.call.key for answer in answered(case.messages) if not answer.results}
    if not missing:
        return []
    return [
        OpenCall(row, call, run)
        for row in rows_with_calls(case)
        if not (row.is_last and case.running)
        for call, run in row.runs
        if call.key in missing
    ]


def by_turn(calls: Sequence[OpenCall]) -> list[list[OpenCall]]:
    """Those of one message together."""
    turns: dict[int, list[OpenCall]] = {}
    for open_call in calls:
        turns.setdefault(open_call.row.index, []).append(open_call)
    return list(turns.values())


def calls_text(turn: Sequence[OpenCall]) -> str:
    """`2 calls of head, body (seq 2-3, index 1) have`."""
    names = ", ".join(dict.fromkeys(open_.call.tool_name[:60] for open_ in turn))[:80]
    where = f"(seq {span_text([open_.call.seq for open_ in turn])}, index {turn[0].row.index})"
    return f"A call of {names} {where} has" if len(turn) == 1 else f"{len(turn)} calls of {names} {where} have"


def path_text(case: Case) -> str:
    """Which of the program's paths the job ran on, in a sentence; "" where nothing shows it."""
    path = case.conversation.fact(PATH)
    return f" The job ran on {path}." if path else ""


def runs_text(turn: Sequence[OpenCall]) -> tuple[tuple[str, str], ...]:
    """Rows of evidence: what the ledger has of the first calls."""
    return tuple(
        (f"seq {open_.call.seq} {open_.call.tool_name[:40]} {open_.call.call_id[:40]!r}", run_text(open_.run)) for open_ in turn[:8]
    )


def run_text(run: Execution | None) -> str:
    if run is None:
        return "no row in the ledger"
    if run.damage:
        return f"{run.status[:20]}, but cannot be read: {run.reason[:120]}"
    if run.status == "complete":
        return f"complete: {compact(run.output)[:140]}"
    if run.status == "failed":
        return f"failed: {(FAILED if run.error is None else run.error)[:140]}"
    return run.status[:20] or "no status"
