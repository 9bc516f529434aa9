"""Rollout files that Codex packed with zstd, unpacked within a limit: a small file can be a bomb."""

import zstandard

SUFFIX = ".zst"
MAGIC = b"\x28\xb5\x2f\xfd"
MOST = 1 << 30
"""Bytes of an unpacked file, as many as a file that is read at once may have."""
_WINDOW = 1 << 27
_PIECE = 1 << 10


class Packed(Exception):
    """The archive cannot be unpacked; `reason` is the end of a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def is_packed(data: bytes) -> bool:
    return data.startswith(MAGIC)


def unpacked(data: bytes, most: int = MOST) -> bytes:
    """The content of all frames. Raises Packed."""
    content, problem = start_of(data, most + 1)
    if problem:
        raise Packed(problem)
    if len(content) > most:
        raise Packed(f"it unpacks to more than {most:,} bytes, which is over what is unpacked here")
    return content


def start_of(data: bytes, size: int) -> tuple[bytes, str]:
    """The first `size` bytes of the content, or as many as there are, and why there are no more where that is damage."""
    pieces: list[bytes] = []
    total = at = 0
    try:
        while at < len(data) and total < size:
            frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
            # In pieces: one call gives all that its input unpacks to.
            while at < len(data) and not frame.eof and total < size:
                piece = frame.decompress(data[at : at + _PIECE])
                at = min(at + _PIECE, len(data))
                pieces.append(piece)
                total += len(piece)
            if total < size and not frame.eof:
                return b"".join(pieces), "it ends before its end mark"
            at -= len(frame.unused_data)
    except zstandard.ZstdError as error:
        return b"".join(pieces), f"it cannot be unpacked ({error})"
    return b"".join(pieces)[:size], ""
