"""Where compaction certainly kept rows of its archive; stricter than an alignment, as a loss is only claimed after such a row."""

from bisect import bisect_left
from collections.abc import Sequence

from inspector.conversation.alignment import likeness
from inspector.conversation.model import Chunk, Conversation


def kept_for_certain(live: Conversation, archive: Conversation) -> dict[str, int]:
    """Key of a row that compaction kept -> place in the archive's chunks, never earlier than it can have been.

    Kept are the rows of compaction's own append after its first message, the summary, and rows whose step id and call the
    archive has too. Equal words alone prove nothing: people greet twice, and models answer alike.
    """
    places: dict[str, list[int]] = {}
    for place, chunk in enumerate(archive.chunks):
        places.setdefault(likeness(chunk), []).append(place)
    kept_places: dict[str, int] = {}
    end = len(archive.chunks)
    # From the end, as compaction keeps the end: a row is taken for the last one that it can be.
    for chunk in reversed(first_append(live.chunks)):
        equal_places = places.get(likeness(chunk), [])
        at = bisect_left(equal_places, end)
        if chunk.msg_idx and at and (chunk.text or chunk.call_id):
            end = equal_places[at - 1]
            kept_places[chunk.key] = end
    by_step = {likeness(chunk): place for place, chunk in enumerate(archive.chunks) if chunk.step_id and chunk.call_id}
    named = {chunk.key: likeness(chunk) for chunk in live.chunks if chunk.step_id and chunk.call_id}
    return {**{key: by_step[value] for key, value in named.items() if value in by_step}, **kept_places}


def first_append(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The rows of the first append: msgIdx starts at 0 and only rises.

    Empty where the first row does not start at 0: a repair has renumbered, and where the append ended is not known any more.
    """
    block: list[Chunk] = []
    for chunk in chunks:
        if chunk.msg_idx is None or chunk.chunk_idx is None:
            continue
        if not block and (chunk.msg_idx, chunk.chunk_idx) != (0, 0):
            break
        if block and not _goes_on(block[-1], chunk):
            break
        block.append(chunk)
    return block


def _goes_on(previous: Chunk, chunk: Chunk) -> bool:
    first, second = previous.msg_idx or 0, chunk.msg_idx or 0
    if first == second:
        return chunk.seq - (chunk.chunk_idx or 0) == previous.seq - (previous.chunk_idx or 0)
    return second > first and chunk.chunk_idx == 0
