"""Writes whole messages of the older generation as rows before the present ones."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Kind, Message
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insertion import inserted


def propose(case: Case) -> Iterator[Edit]:
    """In the order of their numbers. What cannot be read as a chunk stays where it is, in the original."""
    present = {chunk.key for chunk in case.conversation.chunks}
    messages = [_rows(message) for message in case.conversation.legacy]
    return inserted(case, [(None, rows) for rows in messages if rows and rows[0].key not in present])


def _rows(message: Message) -> tuple[Chunk, ...]:
    # Its bytes are those of the whole message: each chunk becomes a row that is encoded again.
    return tuple(replace(chunk, key=f"new:{chunk.key}", raw=b"") for chunk in message.chunks if chunk.kind is not Kind.UNREADABLE)


STRATEGY = Strategy(
    name="convert-legacy-messages",
    safety=frozenset(),
    summary="writes the messages of the older store generation as rows before the present ones, in a new conversation",
    cost="One row per chunk. The old messages stay where they are; those that cannot be read are not converted.",
    user_visible_effect="The beginning of the chat, missing since the upgrade, is there again, in a new conversation.",
    pros="The program of today never reads these rows, so the model has forgotten what was said in them.",
    cons="The history becomes longer, and so does every request. It cannot be done in place: all rows that clients hold would get other numbers.",
    write_kind="W3",
    propose=propose,
    order=140,
)
