"""What a state machine of one dialect must offer, and the table of those that there are is in `catalogue`."""

from typing import Protocol

from inspector.streams.model import Assembled, Frame, How, Observed, Violation

TEXT_KEPT = 4_000_000
"""Characters of one block that are kept for the assembled message; what is beyond is counted. Memory stays bounded by this, not by the capture."""


class Machine(Protocol):
    """Fed with the frames of one side, in order; never raises on any bytes."""

    dialect: str
    state: str

    def feed(self, frame: Frame) -> Observed: ...

    def end(self, how: How) -> tuple[Violation, ...]:
        """What only the end shows: no terminal, open blocks, arguments that do not parse."""
        ...

    def assembled(self) -> Assembled: ...
