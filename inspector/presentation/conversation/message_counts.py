"""How many messages a history has: stored, read and sent are three numbers, and each has one name everywhere."""

from collections.abc import Mapping

from inspector.projections.base import Prompt
from inspector.rules.base import Case, stored_messages


def message_counts(case: Case, prompt: Prompt) -> dict[str, int]:
    """By the names that reports use. `messages` are those that the reader reads before its own repair, `messages_read` those after it, `messages_sent`
    those of the request's list, without a system prompt outside of it; `messages_stored` are the messages as they were appended, of a tree those
    on its path."""
    return {
        "messages": len(case.reading.grouped),
        "messages_stored": len(stored_messages(case.conversation)),
        "messages_read": len(case.reading.messages),
        "messages_sent": len(prompt.messages),
    }


def counted(counts: Mapping[str, int]) -> str:
    """`9 messages stored, 3 read (4 before the reader's own repair), 8 sent`."""
    own = "" if counts["messages"] == counts["messages_read"] else f" ({counts['messages']:,} before the reader's own repair)"
    stored = f"{counts['messages_stored']:,} message{'s' * (counts['messages_stored'] != 1)} stored"
    return f"{stored}, {counts['messages_read']:,} read{own}, {counts['messages_sent']:,} sent"
