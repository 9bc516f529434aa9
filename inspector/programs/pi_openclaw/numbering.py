"""Numbers of a path through a session file after a repair: the place of an entry in the file."""

from dataclasses import replace
from itertools import groupby

from inspector.conversation.model import Chunk, Conversation
from inspector.conversation.numbering import is_stored


def after_the_file(conversation: Conversation) -> Conversation:
    """What is stored keeps its numbers; what is put in is numbered after it, or as a further block of the message that it joins."""
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
