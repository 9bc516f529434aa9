"""A stream next to the stream as it should have been: what was done, what it cost, and what the rules say of both."""

from collections.abc import Collection
from dataclasses import dataclass

from inspector.reports.stream_report import Analysis, analysed
from inspector.streams.correcting import CannotCorrect, Correction, correct
from inspector.streams.model import Exchange


@dataclass(frozen=True, slots=True)
class Corrected:
    """`correction` is None where the stream cannot be written again, `why_not` then says why. `after` is what the rules say of the new capture."""

    correction: Correction | None
    why_not: str = ""
    after: Analysis | None = None


def corrected(exchange: Exchange, invented: bool = False, strategies: Collection[str] = ()) -> Corrected:
    """All strategies that the stream needs, or those that were picked."""
    try:
        correction = correct(exchange, invented, strategies or None)
    except CannotCorrect as problem:
        return Corrected(None, str(problem))
    return Corrected(correction, "", analysed(correction.exchange) if correction.total else None)
