"""Work for tests of workers, in a module that imports no Django: a worker that a server of processes starts has none yet."""

import time
from pathlib import Path

LAST = 40


def wait_or_write(piece: tuple[int, Path]) -> tuple[int, bool]:
    """The first piece ends when the last one was done, or after a while without it."""
    number, sign = piece
    if number == LAST:
        sign.touch()
    for _ in range(500 if number == 0 else 0):
        if sign.exists():
            break
        time.sleep(0.01)
    return number, sign.exists()
