"""How far a long command is: one line on a terminal, written over again, and nothing anywhere else."""

import sys
from time import monotonic
from typing import TextIO

SECONDS = 0.2
"""Between two updates of the line."""
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """`done` of `total` conversations (None: not known), the rate since the beginning, and the time that is left at this rate. Gone when its `with` ends."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty()
        self._began = monotonic()
        self._next = 0.0

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *details: object) -> None:
        if self._next:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def show(self, done: int, total: int | None, chunks: int | None = None) -> None:
        now = monotonic()
        if not self._is_shown or now < self._next:
            return
        self._next = now + SECONDS
        self._stream.write(_CLEAR + sentence(done, total, chunks, now - self._began))
        self._stream.flush()


def sentence(done: int, total: int | None, chunks: int | None, seconds: float) -> str:
    """`12 of 102 conversations, 12,000 chunks (24,000 a second), 4 s left`."""
    of = f"{done:,} conversations" if total is None else f"{done:,} of {total:,} conversations"
    count, what = (done, "conversations") if chunks is None else (chunks, "chunks")
    rate = f"{count / seconds:,.0f} a second" if seconds >= 1 else ""
    counted = f", {count:,} {what} ({rate})" if rate and chunks is not None else f" ({rate})" if rate else ""
    left = f", {_time((total - done) * seconds / done)} left" if total is not None and done and seconds >= 1 else ""
    return f"{of}{counted}{left}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
