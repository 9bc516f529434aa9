"""Nothing is written to a conversation that its program is at work on."""

from django.utils import timezone

from inspector.actions.problems import Refused
from inspector.programs.formats import Claimable, Format, Stored
from inspector.rules.base import case_of

# Automatic compaction starts right after a turn without marking the conversation active.
QUIET_MS = 60 * 1000


def refuse_unless_idle(format_: Format, stored: Stored) -> None:
    """Raises Refused."""
    now = int(timezone.now().timestamp() * 1000)
    if isinstance(format_, Claimable):
        if sentence := format_.at_work(stored, now):
            raise Refused(sentence)
        return
    last = stored.conversation.fact("lastActivityAt")
    if stored.conversation.fact("status") == "active" and case_of(stored.conversation, format_.default_reader, taken_at=now).running:
        raise Refused("A turn of this conversation is running: wait until it is idle, or stop the server, and apply again.")
    if last is not None and abs(now - int(last)) < QUIET_MS:
        raise Refused(
            "The conversation was written to less than a minute ago, and compaction may still be at work: wait a minute and apply again."
        )
