"""Gives every message a msgIdx of its own, counted from 1, so that every known reader parts them."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Replace, between
from inspector.conversation.model import Chunk, Conversation
from inspector.programs.pi_openclaw.readers.rows import OPENCLAW, OPENCLAW_SQLITE, PI
from inspector.rules.base import DISPATCH, GBRAIN, Case
from inspector.strategies.base import Strategy

TREES = (PI, OPENCLAW, OPENCLAW_SQLITE)
"""Formats whose conversation is a path through a file: the numbers of a chunk are its place in that file."""


def renumbered(conversation: Conversation) -> Conversation:
    """Each message with a number of its own, where the program of the store goes by such numbers.

    From 1 and never ending on 0, so that the next plain append (msgIdx 0) starts a message under every known rule of Dispatch.
    Elsewhere a number names a line or an element of the request, and chunks of several roles may share it: these stay together.
    """
    if conversation.format in TREES:
        return _behind_the_file(conversation)
    if conversation.format in GBRAIN:
        return _at_free_indexes(conversation)
    if conversation.format not in DISPATCH:
        return _in_order(conversation)
    number = {
        chunk.key: index for index, message in enumerate(queries.true_messages(conversation.chunks), start=1) for chunk in message.chunks
    }
    return replace(
        conversation, chunks=tuple(replace(chunk, msg_idx=number.get(chunk.key, chunk.msg_idx)) for chunk in conversation.chunks)
    )


def _in_order(conversation: Conversation) -> Conversation:
    """Chunks counted from 1, messages (runs of one number) from 0, blocks of a message from 0; what stands before the list keeps its number below 0.

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


def _at_free_indexes(conversation: Conversation) -> Conversation:
    """No index that is stored is ever given anew, since the program counts on it: a message that is put in takes the one behind the message before it.

    Where that is taken too it keeps its number, and the format refuses the place.
    """
    rows = [list(held) for _, held in groupby(conversation.chunks, key=lambda chunk: chunk.msg_idx)]
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


def is_stored(chunk: Chunk) -> bool:
    """Whether a chunk of a tree is a block of an entry of the file, and not one that a strategy made up."""
    return "entry" in chunk.payload


def _behind_the_file(conversation: Conversation) -> Conversation:
    """What is stored keeps its numbers; what is put in is numbered behind it, or as a further block of the message that it joins."""
    spare = max((chunk.seq for chunk in conversation.chunks), default=0)
    chunks: list[Chunk] = []
    for _, held in groupby(conversation.chunks, key=lambda chunk: (chunk.msg_idx, chunk.role)):
        run = tuple(held)
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


def propose(case: Case) -> Iterator[Edit]:
    """Nothing where the reader's messages already are the true ones under every grouping, that is, where no neighbours share a msgIdx."""
    if case.conversation.format in DISPATCH and any(
        first.chunks[-1].msg_idx == second.chunks[0].msg_idx for first, second in zip(case.messages, case.messages[1:], strict=False)
    ):
        yield from (edit for edit in between(case.conversation, renumbered(case.conversation)) if isinstance(edit, Replace))


STRATEGY = Strategy(
    name="renumber-messages",
    safety=frozenset(),
    summary="gives each message its own msgIdx, so that every reader parts the messages as they were written",
    cost="No content changes: only the number behind each row.",
    noticed_by_user="Nothing in the history view, which hides the number. The next answer sees the conversation as it was.",
    argued_for="Every stored row still says which message it belongs to (seq - chunkIdx), so nothing is guessed; it works with the unfixed loader and with both proposed fixes.",
    argued_against="A fixed loader needs no write at all. An unfixed server merges the next turns again; the repair must then be repeated.",
    write_kind="W1",
    propose=propose,
    order=570,
)
