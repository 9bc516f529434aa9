"""Our own short ids: native ids are client text and do not belong in a URL. The same thing gets the same id on every machine and import."""

import hashlib
from collections.abc import Iterable, Iterator

from inspector.presentation.visible import visible

LONGEST = 2000
"""Bytes: PostgreSQL refuses index rows of more than 2,704."""
_SHORTENED = 300


def short_id(*parts: str) -> str:
    """12 hex digits over the parts."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()[:12]


def indexed(native_id: str) -> str:
    """A native id, escaped or not, as an index takes it: visible, and of one that is too long the beginning, with a hash of the whole."""
    shown = visible(native_id)
    if len(shown) <= LONGEST and len(shown.encode()) <= LONGEST:
        return shown
    return f"{shown[:_SHORTENED]}… {hashlib.sha256(shown.encode()).hexdigest()}"


def native_hash(native_id: str) -> str:
    """Knows a conversation again by its native id without saying that."""
    return short_id("native", indexed(native_id))


def finding_oids(conversation_oid: str, anchors: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The id of each finding, which stays over re-imports: it is anchored to its rule and its chunk. `anchors` are (code, key) in their order."""
    counts: dict[tuple[str, str], int] = {}
    for anchor in anchors:
        counts[anchor] = counts.get(anchor, 0) + 1
        yield short_id("finding", conversation_oid, *anchor, str(counts[anchor]))
