"""A stream that was pasted: its events around what is wrong, and the stream as it should have been."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspector.presentation.stream.corrected import MOST_EVENTS
from inspector.presentation.stream.event import raw_events
from inspector.presentation.stream.lanes import LaneCell, lanes
from inspector.presentation.stream.report import StreamAnalysis
from inspector.streams.correcting import CannotCorrect, Correction, correct
from inspector.streams.model import Read

CELLS = 16
"""Rows of a table of events; neighboring events of one kind are one row."""
LONGEST = 20_000
"""Characters of a corrected stream that a page shows."""


@dataclass(frozen=True, slots=True)
class PastedStream:
    """`cells` are all of the events, of many those that violate a rule and what is next to them, each with the bytes of its first event; `left_out` counts the others. `corrected` is "" where nothing is, or it is too long."""

    analysis: StreamAnalysis
    cells: tuple[LaneCell, ...] = ()
    left_out: int = 0
    corrected: str = ""
    correction: Correction | None = None


def pasted_stream(analysis: StreamAnalysis) -> PastedStream:
    if analysis.events > MOST_EVENTS:
        return PastedStream(analysis)
    cells = [cell for band in lanes(analysis).bands for cell in band.cells.values() if cell.ended is None]
    shown = _with_bytes(analysis, _shown(cells))
    left_out = sum(cell.count for cell in cells) - sum(cell.count for cell in shown)
    try:
        correction = correct(analysis.exchange)
    except CannotCorrect:
        return PastedStream(analysis, shown, left_out)
    reads = (event.data for event in correction.exchange.happenings() if isinstance(event, Read))
    text = b"".join(reads).decode("utf-8", "replace") if correction.total else ""
    return PastedStream(analysis, shown, left_out, text if len(text) <= LONGEST else "", correction)


def _with_bytes(analysis: StreamAnalysis, cells: Sequence[LaneCell]) -> tuple[LaneCell, ...]:
    """Each with the bytes of its first event."""
    raw = {
        side: raw_events(analysis.exchange, side, {cell.first for cell in cells if cell.side is side}) for side in analysis.exchange.sides
    }
    return tuple(replace(cell, raw=((cell.first, raw[cell.side].get(cell.first, "")),)) for cell in cells)


def _shown(cells: Sequence[LaneCell]) -> tuple[LaneCell, ...]:
    if len(cells) <= CELLS:
        return tuple(cells)
    near = {place + step for place, cell in enumerate(cells) if cell.marks for step in (-1, 0, 1)} or set(range(CELLS))
    return tuple(cells[place] for place in sorted(near & set(range(len(cells))))[:CELLS])
