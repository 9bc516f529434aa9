"""Messages that a rollout file holds twice: an item of the history, and an event that shows its words to a person."""

from collections import deque
from collections.abc import Mapping, Sequence

from inspector.conversation.model import Chunk, Kind
from inspector.programs.codex.entries import REPLACEMENT, entry_of
from inspector.programs.codex.items import EVENT

_ROLE_OF = {
    "user_message": "user",
    "item_completed UserMessage": "user",
    "agent_message": "assistant",
    "item_completed AgentMessage": "assistant",
    "agent_reasoning": "thinking",
    "item_completed Reasoning": "thinking",
}
_NEAR = 40
"""Chunks between the two records of one message."""


def place_of(key: str) -> str:
    """The record, or the item of a replacement history, that the key of a chunk names."""
    return key.rpartition(".")[0]


def speaker_of_event(chunk: Chunk) -> str:
    """Whose words an event shows: of the user, the assistant, or its thinking; "" for an event that shows none."""
    entry = entry_of(chunk)
    return _ROLE_OF.get(str(entry.get("name")), "") if entry.get("type") == EVENT and "unread" not in entry else ""


def words_of(chunks: Sequence[Chunk]) -> str:
    return "\n".join(chunk.text for chunk in chunks if chunk.kind in (Kind.TEXT, Kind.THINKING))


def messages_of(chunks: Sequence[Chunk]) -> dict[str, list[Chunk]]:
    """The items of the history by their places; not those of a replacement history, which events do not show."""
    by_place: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        if chunk.role and entry_of(chunk) and entry_of(chunk).get("type") != REPLACEMENT:
            by_place.setdefault(place_of(chunk.key), []).append(chunk)
    return by_place


def twins_of(chunks: Sequence[Chunk]) -> Mapping[str, Chunk]:
    """Place of an item -> the event near it that shows the same words. Each event is of one item, in the order of both."""
    events: dict[tuple[str, str], deque[tuple[int, Chunk]]] = {}
    for number, chunk in enumerate(chunks):
        if (speaker := speaker_of_event(chunk)) and chunk.text:
            events.setdefault((speaker, chunk.text), deque()).append((number, chunk))
    index = {chunk.key: number for number, chunk in enumerate(chunks)} if events else {}
    twins: dict[str, Chunk] = {}
    for place, message in messages_of(chunks).items() if events else ():
        speaker = "thinking" if message[0].kind is Kind.THINKING else message[0].role
        near = events.get((speaker, words_of(message)))
        at = index[message[0].key]
        # In the order of the file: what is too far before this message is so for all that follow.
        while near and near[0][0] < at - _NEAR:
            near.popleft()
        if near and near[0][0] <= at + _NEAR:
            twins[place] = near.popleft()[1]
    return twins
