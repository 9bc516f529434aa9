"""A stream that was pasted: its events around what is wrong, and the stream as it should have been."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from inspector.presentation.check.lines import LineChange, line_changes
from inspector.presentation.stream.corrected import MOST_EVENTS
from inspector.presentation.stream.event import raw_events
from inspector.presentation.stream.lanes import LaneCell, lanes
from inspector.presentation.stream.marks import StreamMark
from inspector.presentation.stream.report import StreamAnalysis, StreamFinding
from inspector.presentation.stream.split_secrets import bytes_without_secrets, split_secrets
from inspector.rules.base import Severity
from inspector.streams.assembling import arguments
from inspector.streams.corrected_answers import corrected_answer
from inspector.streams.correcting import CannotCorrect, Correction, correct
from inspector.streams.model import Exchange, Read
from inspector.streams.run import run

CELLS = 24
"""Rows of a table of events; neighboring events of one kind are one row."""
LONGEST = 20_000
"""Bytes of a corrected stream that a page shows."""


class AnswerPart(NamedTuple):
    """A block of an answer that was not streamed; `is_cut`: its arguments end inside."""

    kind: str
    name: str
    text: str
    marks: tuple[StreamMark, ...]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class PastedStream:
    """`cells` are all of the events, of many the worst that violate a rule and what is next to them, each with the bytes of its first event; `left_out` counts the others.

    `corrected` is "" where nothing is, and where it is too long to be shown; `why_not` says in a sentence why there are no events or no corrected stream.
    """

    analysis: StreamAnalysis
    cells: tuple[LaneCell, ...] = ()
    left_out: int = 0
    correction: Correction | None = None
    corrected: str = ""
    why_not: str = ""
    is_json: bool = False
    """`corrected` is the JSON of an answer that was not streamed."""
    changes: tuple[LineChange, ...] = ()
    """Of such an answer, with a line for each value."""

    @property
    def parts(self) -> list[AnswerPart]:
        """Of an answer that was not streamed: each block that has words was one event with them."""
        main = self.analysis.main
        blocks = [block for block in main.assembled.blocks if block.text] if main else []
        marks = [cell.marks for cell in self.cells if cell.text]
        if len(marks) != len(blocks):
            marks = [()] * len(blocks)
        return [
            AnswerPart(block.kind, block.name, block.text, tuple(of_block), block.kind == "tool-call" and arguments(block.text).cut)
            for block, of_block in zip(blocks, marks, strict=True)
        ]

    @property
    def findings(self) -> list[tuple[StreamFinding, str]]:
        """Each with what its message says besides the verdict."""
        verdict = self.analysis.verdict
        return [(finding, finding.message.removeprefix(verdict).lstrip()) for finding in self.analysis.findings]


def pasted_stream(analysis: StreamAnalysis, answer: Mapping[str, Any] | None = None) -> PastedStream:
    """`answer`: what was given and was not streamed, of which the analysis has the events."""
    if analysis.events > MOST_EVENTS:
        return PastedStream(analysis, why_not=f"Of more than {MOST_EVENTS:,} events neither a table nor a corrected stream is shown here.")
    cells = [cell for band in lanes(analysis).bands for cell in band.cells.values() if cell.ended is None]
    if answer is not None:
        # Nobody sent these events: what they say is what is shown of them.
        cells = [
            replace(cell, marks=tuple(mark for mark in cell.marks if mark.severity is not Severity.NOTE))
            for cell in cells
            if cell.text or cell.marks
        ]
    shown = _shown(cells) if answer is not None else _with_bytes(analysis, _shown(cells))
    left_out = sum(cell.count for cell in cells) - sum(cell.count for cell in shown)
    try:
        correction = correct(analysis.exchange)
    except CannotCorrect as problem:
        return PastedStream(analysis, shown, left_out, why_not=str(problem) if analysis.findings else "")
    text = _text(correction.exchange) if correction.total else ""
    why_not = "The corrected stream is too long to be shown here." if correction.total and not text else ""
    if answer is not None and text:
        # What no event can say as this answer does is shown as events.
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            whole = json.dumps(corrected_answer(answer, text), indent=2, ensure_ascii=False, allow_nan=False)
            if len(whole) > LONGEST:
                return PastedStream(analysis, shown, left_out, correction, why_not="The corrected answer is too long to be shown here.")
            changes = line_changes(json.dumps(answer, indent=2, ensure_ascii=False), whole)
            return PastedStream(analysis, shown, left_out, correction, whole, is_json=True, changes=changes)
    return PastedStream(analysis, shown, left_out, correction, text, why_not)


def _with_bytes(analysis: StreamAnalysis, cells: Sequence[LaneCell]) -> tuple[LaneCell, ...]:
    raw = {
        side: raw_events(analysis.exchange, side, {cell.first for cell in cells if cell.side is side}) for side in analysis.exchange.sides
    }
    return tuple(replace(cell, raw=((cell.first, raw[cell.side].get(cell.first, "")),)) for cell in cells)


def _shown(cells: Sequence[LaneCell]) -> tuple[LaneCell, ...]:
    if len(cells) <= CELLS:
        return tuple(cells)
    marked = sorted((min(mark.weight for mark in cell.marks), place) for place, cell in enumerate(cells) if cell.marks)
    wrong = [place for _, place in marked] + [place for place, cell in enumerate(cells) if cell.more and not cell.marks]
    near = [other for place in wrong or range(CELLS) for other in (place - 1, place, place + 1) if 0 <= other < len(cells)]
    return tuple(cells[place] for place in sorted(list(dict.fromkeys(near))[:CELLS]))


def _text(exchange: Exchange) -> str:
    """Of its one side, without secrets that are in pieces; "" where it is too long."""
    data = b"".join(event.data for event in exchange.happenings() if isinstance(event, Read))
    if len(data) > LONGEST:
        return ""
    (side,) = exchange.sides
    masks, parts, at = split_secrets(exchange, side), list[bytes](), 0
    for observed in run(exchange, side) if masks else ():
        frame = observed.frame
        parts += [data[at : frame.start], bytes_without_secrets(data[frame.start : frame.end], observed, masks)]
        at = frame.end
    return b"".join([*parts, data[at:]]).decode("utf-8", "replace")
