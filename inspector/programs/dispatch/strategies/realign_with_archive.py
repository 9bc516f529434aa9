"""Gives the chunks of a compacted history the roles and boundaries that they have in the archive."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from inspector.conversation import queries
from inspector.conversation.alignment import kept_places
from inspector.conversation.edits import Edit, between
from inspector.conversation.model import Chunk, Message
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.numbering import renumbered


def propose(case: Case) -> Iterator[Edit]:
    """Messages that hold chunks of several archived messages, or of one with another role. What the archive does not hold stays as it is."""
    if case.archive is None:
        return
    archived = queries.true_messages(case.archive.chunks)
    home = {chunk.key: number for number, message in enumerate(archived) for chunk in message.chunks}
    # An archived row without an index belongs to no message: its role and boundary are not known.
    places = {key: home.get(case.archive.chunks[place].key) for key, place in kept_places(case.conversation, case.archive).items()}
    spare = max((chunk.msg_idx or 0 for chunk in case.conversation.chunks), default=0) + 1
    corrected: dict[str, Chunk] = {}
    for message in case.messages:
        homes = [places.get(chunk.key) for chunk in message.chunks]
        if not _is_baked(message, homes, archived) or any(first.seq >= second.seq for first, second in pairwise(message.chunks)):
            continue
        for number, group in groupby(zip(homes, message.chunks, strict=True), key=lambda pair: pair[0]):
            chunks = [chunk for _, chunk in group]
            role = message.role if number is None else archived[number].role
            for chunk in chunks:
                # seq - chunkIdx distinguishes the messages permanently; the spare msgIdx does until the renumbering.
                corrected[chunk.key] = replace(chunk, role=role, msg_idx=spare, chunk_idx=chunk.seq - chunks[0].seq)
            spare += 1
    if corrected:
        final = replace(case.conversation, chunks=tuple(corrected.get(chunk.key, chunk) for chunk in case.conversation.chunks))
        yield from between(case.conversation, renumbered(final))


def _is_baked(message: Message, homes: Sequence[int | None], archived: Sequence[Message]) -> bool:
    numbers = {home for home in homes if home is not None}
    return len(numbers) > 1 or any(archived[home].role != message.role for home in numbers)


STRATEGY = Strategy(
    name="realign-with-archive",
    safety=frozenset(),
    summary="gives the chunks of a compacted history the roles and message boundaries that the archive has for them",
    cost="No content changes: only the role and the numbers of each row. Chunks that the archive does not hold, such as the summary, stay as they are.",
    user_visible_effect="Answers that were shown as the user's words are shown as the assistant's again, after a reload.",
    pros="Compaction wrote the merged reading back, so no grouping can repair it any more; the archive still has the rows as they were said.",
    cons="Rows are matched by content and order. Where a text occurs several times, a match may be the wrong one of equals.",
    write_kind="W1",
    propose=propose,
    order=150,
)
