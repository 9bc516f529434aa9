"""Lines that keep copies of the user's files, for a rewind of the code: they have no place in the chain, and no request has them."""

from collections.abc import Iterable

from inspector.conversation.model import Chunk, Span, kept_raw
from inspector.conversation.tree import about_of
from inspector.text.counted import counted

SNAPSHOT = "file-history-snapshot"
BLOAT = "snapshots"
"""The fact that says how much of a session snapshots are, where they are most of it."""
_LARGE = 1 << 20
"""Bytes from which on that is worth a note."""


def snapshot_lines(chunks: Iterable[Chunk]) -> frozenset[int]:
    """Numbers of the lines, counted from 0; without those that hold several records."""
    lines = ((chunk.msg_idx, about_of(chunk)) for chunk in chunks if not chunk.role)
    return frozenset(
        number
        for number, entry in lines
        if number is not None and entry.get("type") == SNAPSHOT and entry.get("id") is None and "fused" not in entry
    )


def bloat(chunks: Iterable[Chunk]) -> str:
    sizes: dict[int | None, int] = {}
    all_chunks = list(chunks)
    for chunk in all_chunks:
        raw = kept_raw(chunk)
        sizes[chunk.msg_idx] = raw.stop - raw.start if isinstance(raw, Span) else len(raw)
    lines, whole = snapshot_lines(all_chunks), sum(sizes.values())
    size = sum(sizes[number] for number in lines)
    if size < _LARGE or size * 2 <= whole:
        return ""
    return f"{counted(len(lines), 'snapshot')} of the user's files {'is' if len(lines) == 1 else 'are'} {size:,} of its {whole:,} bytes"
