"""Numbers of chunks after a repair, where a program does not number them in a way of its own."""

from dataclasses import replace
from itertools import groupby

from inspector.conversation.model import Chunk, Conversation


def in_order(conversation: Conversation) -> Conversation:
    """Chunks counted from 1, messages (runs of one number) from 0, blocks of a message from 0; what is before the list keeps its number below 0.

    A chunk without a number is a line that cannot be read: it counts as a message.
    """
    chunks: list[Chunk] = []
    number, place, before = -1, -1, None
    for seq, chunk in enumerate(conversation.chunks, start=1):
        if chunk.msg_idx is None:
            number, before = number + 1, None
            chunks.append(replace(chunk, seq=seq))
            continue
        place = place + 1 if chunk.msg_idx == before else 0
        if chunk.msg_idx != before and chunk.msg_idx >= 0:
            number += 1
        before = chunk.msg_idx
        chunks.append(replace(chunk, seq=seq, msg_idx=number if before >= 0 else before, chunk_idx=place))
    return replace(conversation, chunks=tuple(chunks))


def is_stored(chunk: Chunk) -> bool:
    """Whether a chunk of a tree is a block of an entry of the file, and not one that a strategy added."""
    return "entry" in chunk.payload


def after_the_file(conversation: Conversation) -> Conversation:
    """Of a path through a file, whose numbers are places in it: what is stored keeps its numbers; what is put in is numbered after it, or as a further block of the message that it joins."""
    spare = max((chunk.seq for chunk in conversation.chunks), default=0)
    chunks: list[Chunk] = []
    for _, group in groupby(conversation.chunks, key=lambda chunk: (chunk.msg_idx, chunk.role)):
        run = tuple(group)
        start = next((chunk.seq - chunk.chunk_idx for chunk in run if is_stored(chunk) and chunk.chunk_idx is not None), spare + 1)
        stays = [chunk for chunk in run if is_stored(chunk) and (chunk.chunk_idx is None or chunk.seq - chunk.chunk_idx == start)]
        own = {chunk.key for chunk in stays}
        place = max((chunk.chunk_idx for chunk in stays if chunk.chunk_idx is not None), default=-1)
        for chunk in run:
            if chunk.key not in own:
                place += 1
                chunk = replace(chunk, seq=start + place, chunk_idx=place)
            chunks.append(chunk)
            spare = max(spare, chunk.seq)
    return replace(conversation, chunks=tuple(chunks))
