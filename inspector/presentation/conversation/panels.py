"""What only some programs can show of a conversation: crash files, the state of a job, a ledger of tool runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from inspector.conversation.model import Chunk, Execution
from inspector.presentation.conversation.placed import LedgerCell

NEAR = 4
"""Blocks that are shown before the one that an error names, and after it."""


@dataclass(frozen=True, slots=True)
class AlignedBlock:
    """A block of the refused request and the stored chunk it came from; None where no stored chunk is like it. `is_equal`: word for word."""

    path: str
    sent: Chunk
    stored: Chunk | None
    is_equal: bool


@dataclass(frozen=True, slots=True)
class Alignment:
    """`version` says which code replays the request best, and `reader` is the name of that; `named` are the pieces at the place that the error text names."""

    pieces: tuple[AlignedBlock, ...]
    version: str
    named: tuple[AlignedBlock, ...]
    says: tuple[str, ...]
    ruled_out: tuple[str, ...]
    reader: str

    @property
    def message(self) -> tuple[tuple[AlignedBlock, bool], ...]:
        """The blocks of the message that the error names, around the one that it names; True of the first of another stored message than the one before."""
        if not self.named:
            return ()
        blocks = [piece for piece in self.pieces if piece.sent.msg_idx == self.named[0].sent.msg_idx]
        at = max(0, blocks.index(self.named[0]) - NEAR)
        stored = [piece.stored.msg_idx if piece.stored else None for piece in blocks]
        starts = [place > 0 and None not in (stored[place - 1], own) and own != stored[place - 1] for place, own in enumerate(stored)]
        return tuple(zip(blocks, starts, strict=True))[at : at + 2 * NEAR + 1]

    @property
    def cause(self) -> str:
        """The sentence that explains the rejection, the last of `says`; "" where they only name the place."""
        is_located = bool(self.named and self.named[0].stored is not None)
        return self.says[-1] if len(self.says) > is_located else ""

    @property
    def facts(self) -> tuple[str, ...]:
        """The other sentences of `says`."""
        return self.says[:-1] if self.cause else self.says


@dataclass(frozen=True, slots=True)
class Ending:
    """`word`: crashed, cancelled, running, cut, completed, truncated or open."""

    word: str
    sentence: str


@dataclass(frozen=True, slots=True)
class JobLine:
    """`is_bad`: it says that something is wrong, or that nothing may be written now."""

    name: str
    text: str
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class LedgerLane:
    """`runs`: key of a call -> its run; `others`: key of a chunk -> runs of no call that belong after it, as (run, what it is); `loose` belong after none."""

    runs: Mapping[str, Execution | None]
    others: Mapping[str, tuple[tuple[Execution, str], ...]]
    loose: tuple[LedgerCell, ...]
    total: int
    without_call: int
