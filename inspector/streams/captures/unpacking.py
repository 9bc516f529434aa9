"""Bodies that a server packed (`content-encoding`), unpacked piece by piece, bounded, and as far as the bytes allow."""

import zlib
from collections.abc import Iterable, Iterator

GZIP = b"\x1f\x8b"
UNPACKED = 2**30
"""Bytes that are unpacked of one body at most: what is packed may be a thousand times as long unpacked."""

_PIECE = 2**16
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class Unpacker:
    """Fed with packed bytes in any split. After damage it gives nothing more, and says so in `problems`.

    A body that is not packed though its header says so passes unchanged: recorders unpack bodies and leave headers alone. An encoding that is not known here passes too.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._head = b""
        self._inflate: zlib._Decompress | None = None
        self._plain = self._encoding in ("", "identity", "none")
        self._size = 0
        self._taken = 0
        self._problem = ""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._plain:
            if data:
                yield data
            return
        if self._problem or not data:
            return
        if self._inflate is None:
            data, self._head = self._head + data, b""
            if len(data) < 2:
                self._head = data
                return
            if not self._begin(data):
                yield data
                return
        yield from self._unpacked(data)

    def _begin(self, data: bytes) -> bool:
        """Whether the body is packed at all, by its first two bytes."""
        window = _WINDOWS.get(self._encoding)
        if window == 31 and data.startswith(GZIP):
            self._inflate = zlib.decompressobj(31)
        elif window == 15 and data[0] & 15 == 8 and int.from_bytes(data[:2]) % 31 == 0:
            self._inflate = zlib.decompressobj(15)
        elif window is None and not data[:2].strip(b" \r\n").isascii():
            self._plain = True
            self._problem = (
                f"The body is packed as {self._encoding[:40]!r}, which is not unpacked here: record it with `accept-encoding: identity`."
            )
        else:
            self._plain = True
        return self._inflate is not None

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        inflate = self._inflate
        assert inflate is not None
        while data and not inflate.eof:
            before = len(data)
            try:
                piece = inflate.decompress(data, _PIECE)
            except zlib.error as error:
                self._problem = f"The body is packed as {self._encoding} and damaged after {self._taken:,} packed bytes ({error}); {self._size:,} unpacked bytes are shown."
                return
            data = inflate.unconsumed_tail
            self._taken += before - len(data)
            self._size += len(piece)
            if self._size > UNPACKED:
                self._problem = f"The body unpacks to more than {UNPACKED // 2**20:,} MB; what is after is not shown."
                return
            if piece:
                yield piece

    def problems(self) -> tuple[str, ...]:
        """To be asked at the end."""
        if self._problem:
            return (self._problem,)
        if self._head and not self._plain:
            return (f"The body is declared as packed with {self._encoding}, and is one byte long.",)
        if self._inflate is not None and not self._inflate.eof:
            return (f"The body is packed as {self._encoding} and ends before its end mark; {self._size:,} unpacked bytes are shown.",)
        return ()


def unpacked(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    unpacker = Unpacker(encoding)
    for block in blocks:
        yield from unpacker.feed(block)


def problems_of(blocks: Iterable[bytes], encoding: str) -> tuple[str, ...]:
    """What stops the unpacking: the blocks are read once, and nothing of them is kept."""
    unpacker = Unpacker(encoding)
    for block in blocks:
        for _ in unpacker.feed(block):
            pass
    return unpacker.problems()
