"""Which role and numbers a row must have, from what is left of it and from the rows next to it; never a guess."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Chunk, Kind

_ROLES = ("system", "user", "assistant", "tool")
# The program writes chunks of these types in messages of one role only.
_ROLE_OF = {
    "tool-call": "assistant",
    "thinking": "assistant",
    "error": "assistant",
    "tool-result": "tool",
    "image": "user",
    "system": "system",
}


@dataclass(frozen=True, slots=True)
class Suffix:
    role: str
    msg_idx: int
    chunk_idx: int


def suffix(chunks: Sequence[Chunk], place: int, payload: Mapping[str, Any], starts: str = "") -> Suffix | None:
    """Of the row at `place`, were `payload` its chunk; None where more than one would do. `starts`: the role of a message known to begin here.

    An append counts seq and chunkIdx in lockstep: a next row that does not begin its message determines all of this one.
    """
    row = chunks[place]
    role = starts or (row.role if row.role in _ROLES else "") or _ROLE_OF.get(str(payload.get("type")), "")
    msg_idx, chunk_idx = _counted(row.msg_idx), 0 if starts else _counted(row.chunk_idx)
    inside = within_next(chunks, place)
    if inside is not None:
        return inside if _agrees(inside, role, msg_idx, chunk_idx) else None
    previous = neighbor(chunks, place, -1)
    continued = after_previous(previous) if previous is not None else None
    if chunk_idx:
        return continued if continued is not None and _agrees(continued, role, msg_idx, chunk_idx) else None
    parted = chunk_idx == 0 or (place == 0 and row.seq <= 1) or (continued is not None and not _agrees(continued, role, msg_idx, None))
    if parted and role:
        own = msg_idx if msg_idx is not None else _index_of_own(role, previous)
        return Suffix(role, own, 0) if own is not None else None
    return None


def neighbor(chunks: Sequence[Chunk], place: int, step: int) -> Chunk | None:
    """The readable row whose number is the one before (-1) or after (1)."""
    at = place + step
    if 0 <= at < len(chunks) and chunks[at].kind is not Kind.UNREADABLE and chunks[at].seq == chunks[place].seq + step:
        return chunks[at]
    return None


def within_next(chunks: Sequence[Chunk], place: int) -> Suffix | None:
    """Where the next row does not begin its message, and the row before does not speak against it."""
    following, previous = neighbor(chunks, place, 1), neighbor(chunks, place, -1)
    if following is None or following.msg_idx is None or not following.chunk_idx or following.chunk_idx < 0:
        return None
    candidate = Suffix(following.role, following.msg_idx, following.chunk_idx - 1)
    if candidate.chunk_idx > 0 and previous is not None and after_previous(previous) != candidate:
        return None
    return candidate


def after_previous(previous: Chunk) -> Suffix | None:
    if previous.msg_idx is None or previous.chunk_idx is None or previous.chunk_idx < 0:
        return None
    return Suffix(previous.role, previous.msg_idx, previous.chunk_idx + 1)


def _index_of_own(role: str, previous: Chunk | None) -> int | None:
    """A user message begins an append; results follow their call in the same one. An assistant may do either."""
    if role == "user":
        return 0
    if role == "tool" and previous is not None and previous.role in ("assistant", "tool") and previous.msg_idx is not None:
        return previous.msg_idx + 1
    return None


def _agrees(suffix: Suffix, role: str, msg_idx: int | None, chunk_idx: int | None) -> bool:
    return suffix.role == (role or suffix.role) and msg_idx in (None, suffix.msg_idx) and chunk_idx in (None, suffix.chunk_idx)


def _counted(index: int | None) -> int | None:
    return index if index is not None and index >= 0 else None
