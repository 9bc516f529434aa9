"""Dispatch distinguishes messages by msgIdx: after a repair every message has its own."""

from dataclasses import replace

from inspector.conversation import queries
from inspector.conversation.model import Conversation


def own_numbers(conversation: Conversation) -> Conversation:
    """From 1 and never ending on 0, so that the next plain append (msgIdx 0) starts a message under every known loader."""
    number = {
        chunk.key: index for index, message in enumerate(queries.true_messages(conversation.chunks), start=1) for chunk in message.chunks
    }
    return replace(
        conversation, chunks=tuple(replace(chunk, msg_idx=number.get(chunk.key, chunk.msg_idx)) for chunk in conversation.chunks)
    )
