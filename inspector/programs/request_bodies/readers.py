"""The reading of a request body: its messages as they are, nothing merged, dropped or added."""

from inspector.conversation import queries
from inspector.conversation.model import Conversation, Reading
from inspector.readers.base import Reader

NAME = "as-sent"


def read(conversation: Conversation) -> Reading:
    """A message of the request that contains results next to other blocks comes as several, one for each role; their chunks share a msgIdx."""
    messages = queries.true_messages(conversation.chunks)
    return Reading(NAME, messages, messages)


READER = Reader(
    NAME,
    "anthropic-request",
    "the messages of a request body, as they are",
    "Nothing is merged, dropped or added: this is what the provider was given.",
    "the body itself",
    read,
    is_universal=True,
)
