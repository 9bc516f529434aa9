"""What the rules on error chunks share: the error chunks of each assistant message, and which merge hides them."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.dispatch.rules.merges import merges
from inspector.rules.base import Case


def messages_with_errors(case: Case) -> Iterator[tuple[Message, list[Chunk], bool]]:
    """Each assistant message that holds error chunks, those chunks, and whether a merge of the reader hides them."""
    # In a merge that is read as the assistant's, reconcile strips the error as in any other assistant message.
    hidden = {chunk.key for message, _ in merges(case) if message.role != "assistant" for chunk in message.chunks}
    for message in case.messages:
        errors = [chunk for chunk in message.chunks if chunk.kind is Kind.ERROR]
        if message.role == "assistant" and errors:
            yield message, errors, any(chunk.key in hidden for chunk in errors)
