"""The lane of a ledger next to the chunks: each run of a tool in the row of the call that it belongs to, and runs that no call has."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation.model import Chunk, Execution, Kind
from inspector.presentation.clock import moment
from inspector.presentation.conversation.panels import LedgerLane
from inspector.presentation.conversation.placed import LedgerCell
from inspector.programs.gbrain.readers import by_message, by_row
from inspector.programs.gbrain.rules.gbrain_calls import rows_with_calls
from inspector.programs.gbrain.rules.run_without_call import ONESHOT
from inspector.rules.base import Case
from inspector.text.jsontext import compact

CELLS_SHOWN = 20
"""Runs without a call next to one chunk; the others are counted."""
_TONES = {"complete": "ok", "failed": "", "pending": "warn"}
_NONE = "no row in the ledger: whether the tool ran is not known"
_NO_CALL = "no message holds its call"
_REPEATED = "another run of a call above"
_BY_DESIGN = "oneshot: written without a call of the model, by design"


def lane(case: Case) -> LedgerLane | None:
    """None for a store without a ledger, and where neither it nor the messages hold anything of tools."""
    conversation = case.conversation
    if not (conversation.ledger or any(chunk.kind is Kind.TOOL_CALL for chunk in conversation.chunks)):
        return None
    runs: dict[str, Execution | None] = {}
    called: dict[int, set[str]] = {}
    for row in rows_with_calls(case):
        runs |= {call.key: run for call, run in row.runs}
        called[row.index] = {call.call_id for call, _ in row.runs}
    matched_keys = {run.key for run in runs.values() if run is not None}
    last = sorted((index, group[-1].key) for index, group in by_row(conversation.chunks) if index is not None)
    others: dict[str, list[tuple[Execution, str]]] = {}
    loose: list[tuple[Execution, str]] = []
    anchors = iter([*last, None])
    following, anchor = next(anchors), ""
    for index, group in by_message(conversation.ledger).items():
        while following is not None and following[0] <= index:
            anchor, following = following[1], next(anchors)
        unmatched = [(run, _what(run, called.get(index, set()))) for run in group if run.key not in matched_keys]
        (others.setdefault(anchor, []) if anchor else loose).extend(unmatched)
    count = sum(what == _NO_CALL for group in (loose, *others.values()) for _, what in group)
    shown = tuple(_cells(loose))
    return LedgerLane(runs, {key: tuple(group) for key, group in others.items() if group}, shown, len(conversation.ledger), count)


def _what(run: Execution, called: set[str]) -> str:
    return _BY_DESIGN if run.call_id.startswith(ONESHOT) else _REPEATED if run.call_id in called else _NO_CALL


def cells(ledger: LedgerLane, chunk: Chunk) -> Iterator[LedgerCell]:
    """The runs that are shown next to a chunk."""
    if chunk.key in ledger.runs:
        run = ledger.runs[chunk.key]
        yield LedgerCell(note=_NONE) if run is None else _cell(run, _otherwise(chunk, run))
    yield from _cells(ledger.others.get(chunk.key, ()))


def _cells(runs: Sequence[tuple[Execution, str]]) -> Iterator[LedgerCell]:
    for run, what in runs[:CELLS_SHOWN]:
        yield replace(_cell(run, what), shows_tool=True, is_intentional=what == _BY_DESIGN)
    if len(runs) > CELLS_SHOWN:
        yield LedgerCell(note=f"and {len(runs) - CELLS_SHOWN:,} more runs of no call")


def _otherwise(call: Chunk, run: Execution) -> str:
    """Where a run that was found for a call says something else than the call."""
    if run.tool_name != call.tool_name:
        return f"the run is one of {run.tool_name}"
    if run.call_id != call.call_id:
        return "found by its place: its id is another than the call's"
    return ""


def _cell(run: Execution, note: str) -> LedgerCell:
    words = f"cannot be read: {run.reason}" if run.damage else ""
    if not words and run.status == "complete":
        words = run.output if isinstance(run.output, str) else compact(run.output)
    elif not words:
        words = run.error or ""
    place = f"{run.message_idx}.{'–' if run.ordinal is None else run.ordinal}"
    status = run.status or "no status"
    return LedgerCell(status, _TONES.get(run.status, "warn"), run.tool_name, place, words, _times(run), run.call_id, run.uuid, note)


def _times(run: Execution) -> str:
    """`06-07 10:02:03, 1.2 s`; a run that has not ended says so."""
    if run.started_at is None:
        return ""
    began = moment(run.started_at)[5:]
    return f"{began}, not ended" if run.ended_at is None else f"{began}, took {_took(run.ended_at - run.started_at)}"


def _took(milliseconds: int) -> str:
    """A clock that was set back gives a negative time, which is shown as it is."""
    if abs(milliseconds) < 1000:
        return f"{milliseconds} ms"
    return f"{milliseconds / 1000:.1f} s" if abs(milliseconds) < 120_000 else f"{milliseconds / 60_000:.0f} min"
