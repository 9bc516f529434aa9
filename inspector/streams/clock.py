"""Violations that the times of one side show."""

from collections.abc import Iterator

from inspector.streams.model import End, Frame, StreamViolation

STALL_MS = 30_000
"""Clients and proxies that count the silence give up after 30 to 300 seconds."""
NEVER_MS = 120_000
"""A stream that stays open for this long after its last record, and has not ended, never will."""


class Clock:
    """Fed with every frame of one side, keep-alive comments included: they show that somebody is there."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._index = 0

    def feed(self, frame: Frame) -> tuple[StreamViolation, ...]:
        before, self._index = self._last, frame.index
        if frame.at is None:
            return ()
        self._last = frame.at
        if before is None or frame.at - before < STALL_MS:
            return ()
        return (StreamViolation("stall", frame.index, f"No record came for {(frame.at - before) / 1000:,.1f} s."),)

    def end(self, end: End | None, ended: bool) -> Iterator[StreamViolation]:
        """`ended`: the terminal came, or an error in its place."""
        if end is None or end.at is None or self._last is None or ended:
            return
        if end.at - self._last >= NEVER_MS:
            text = f"The stream stayed open for {(end.at - self._last) / 1000:,.1f} s after its last record, without a terminal."
            yield StreamViolation("never-terminated", self._index, text)
