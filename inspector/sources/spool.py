"""Text that is written now and printed later, in a file without a name: the reports on ten thousand conversations need not fit into memory."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

Place = tuple[int, int]
"""Where a text is: offset and length in bytes."""


class Spool:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._end = 0

    def put(self, text: str) -> Place:
        data = text.encode("utf-8", "surrogatepass")
        self._file.seek(self._end)
        self._file.write(data)
        start, self._end = self._end, self._end + len(data)
        return start, len(data)

    def get(self, place: Place) -> str:
        self._file.seek(place[0])
        return self._file.read(place[1]).decode("utf-8", "surrogatepass")


@contextmanager
def spool() -> Iterator[Spool]:
    """Gone at the end of the `with`, and when the process ends."""
    with tempfile.SpooledTemporaryFile(max_size=1 << 16) as file:
        yield Spool(file)
