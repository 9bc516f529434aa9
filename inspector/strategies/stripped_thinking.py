"""Thinking taken out of messages: what the strategies share that do so to more or fewer of them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Remove, Replace
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.strategies.arrangement import by_message, entry_of

THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)
EMPTY = {"type": "control", "empty": "[]"}


def stripped(case: Case, wanted: Callable[[Chunk], bool]) -> Iterator[Edit]:
    """An assistant message that holds nothing else stays as an empty one, so that it does not vanish from between two of the user's.

    Dispatch has no rows for an empty message, and its newest loader drops such a message anyway; in Responses a reasoning item stands by itself.
    """
    stands_alone = by_message(case) or case.conversation.format in case.program.single_items
    for message in case.messages:
        gone = [chunk for chunk in message.chunks if chunk.kind in THINKING and wanted(chunk)]
        if len(gone) == len(message.chunks) and not stands_alone:
            yield Replace(gone[0], replace(gone[0], kind=Kind.CONTROL, payload={**EMPTY, **entry_of(gone[0])}))
            gone = gone[1:]
        yield from (Remove(chunk) for chunk in gone)


def latest_turn(case: Case) -> frozenset[str]:
    """Keys of the chunks in the turn of the last assistant message, whose thinking providers want back unchanged, also after the user's next message."""
    answered = [turn for turn in queries.turns(case.messages) if any(message.role == "assistant" for message in turn)]
    return frozenset(chunk.key for message in answered[-1] for chunk in message.chunks) if answered else frozenset()
