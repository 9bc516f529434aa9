"""One line of the audit trail; each carries the hash of the line before it."""

from typing import Any

from django.utils import timezone

from inspector.models import AuditEntry
from inspector.models.transactions import one_writer
from inspector.presentation.visible import visible


def record(who: str, verb: str, *, source_path: str = "", conversation: str = "", repair: str = "", **detail: Any) -> AuditEntry:
    # One after the other: two lines that follow the same one would look like tampering.
    with one_writer():
        last = AuditEntry.objects.order_by("-id").first()
        entry = AuditEntry(
            at=timezone.now(),
            who=who,
            verb=verb,
            source_path=visible(source_path),
            conversation=conversation,
            repair=repair,
            detail=detail,
            previous=last.digest if last else "",
        )
        entry.digest = entry.content_digest()
        entry.save()
    return entry


def broken_at() -> AuditEntry | None:
    """The first line that does not follow from the one before it, or whose content was changed; None where the chain holds."""
    previous = ""
    for entry in AuditEntry.objects.order_by("id").iterator():
        if entry.previous != previous or entry.digest != entry.content_digest():
            return entry
        previous = entry.digest
    return None
