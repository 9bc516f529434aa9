"""Chunks numbered as the program of their store numbers them."""

from inspector.conversation.model import Conversation
from inspector.programs.registry import program_or_default


def renumbered(conversation: Conversation) -> Conversation:
    """Each message with a number of its own, where the program distinguishes messages by such numbers.

    Elsewhere a number names a line or an element of the request, and chunks of several roles may share it: these stay together.
    """
    return program_or_default(conversation.format).numbering.renumber(conversation)
