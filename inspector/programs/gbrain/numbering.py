"""Indexes of gbrain's messages after a repair."""

from dataclasses import replace
from itertools import groupby

from inspector.conversation.model import Chunk, Conversation


def at_free_indexes(conversation: Conversation) -> Conversation:
    """No index that is stored is ever given again, since the program counts on it: a message that is put in takes the one after the message before it.

    Where that is taken too it keeps its number, and the format refuses the place.
    """
    rows = [list(group) for _, group in groupby(conversation.chunks, key=lambda chunk: chunk.msg_idx)]
    following: list[int | None] = []
    nearest: int | None = None
    for row in reversed(rows):
        following.append(nearest)
        nearest = row[0].msg_idx if any(chunk.raw for chunk in row) else nearest
    chunks: list[Chunk] = []
    before = -1
    for row, limit in zip(rows, reversed(following), strict=True):
        index = row[0].msg_idx
        if not any(chunk.raw for chunk in row) and (limit is None or before + 1 < limit):
            index = before + 1
        chunks += [replace(chunk, seq=len(chunks) + place + 1, msg_idx=index, chunk_idx=place) for place, chunk in enumerate(row)]
        before = before if index is None else index
    return replace(conversation, chunks=tuple(chunks))
