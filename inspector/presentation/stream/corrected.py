"""What the client should have got: the stream of the captured side after its repairs, next to what it was."""

from dataclasses import dataclass

from inspector.presentation.stream.messages import SideMessage, side_messages
from inspector.presentation.stream.report import StreamAnalysis, analysed
from inspector.streams.correcting import CannotCorrect, correct
from inspector.streams.corrections import RE_ENCODE, StreamStrategy
from inspector.streams.drafting import StreamChange
from inspector.streams.model import Side

MOST_EVENTS = 20_000
"""Events of all sides up to which a page shows the corrected message: the capture is read several times more for it."""
CHANGES_SHOWN = 4
"""Of one cell."""


@dataclass(frozen=True, slots=True)
class CorrectedMessage:
    """`changes` are those of events; `refused` says in sentences what is not repaired."""

    side: Side
    used: tuple[StreamStrategy, ...]
    message: SideMessage
    changes: tuple[StreamChange, ...]
    refused: tuple[str, ...]

    def of_events(self, side: Side, first: int, last: int) -> tuple[StreamChange, ...]:
        own = (
            change
            for change in self.changes
            if change.event is not None and first <= change.event <= last and side is (Side.BACKEND if change.restored else self.side)
        )
        return tuple(own)[:CHANGES_SHOWN]


def corrected_message(analysis: StreamAnalysis) -> CorrectedMessage | None:
    """None where nothing is to be repaired, where the stream cannot be written again, and where it is too long for a page."""
    if analysis.events > MOST_EVENTS:
        return None
    try:
        correction = correct(analysis.exchange)
    except CannotCorrect:
        return None
    messages = side_messages(analysed(correction.exchange)) if correction.total else ()
    if not messages:
        return None
    used = tuple(strategy for strategy in correction.used if strategy.name != RE_ENCODE)
    return CorrectedMessage(messages[0].side, used, messages[0], correction.changes, correction.refused)
