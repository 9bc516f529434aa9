"""What became of a repair, in our own database: its state, its outcome and the audit line in one transaction."""

from typing import Any

from django.utils import timezone

from inspector.actions import audit
from inspector.actions.writing import keep
from inspector.models import Repair, counting, outbox
from inspector.models.transactions import one_writer
from inspector.programs.formats import Change

UNDONE = "Undone: every record holds its bytes from before the repair."
UNDONE_FORK = "Undone: the repaired copy is removed, and the store holds every byte from before the repair."
UNDONE_BY_PROGRAM = "Undone: {} deleted the repaired conversation; every other one is as it was."
OVERWRITTEN = "Another program overwrote this repair: the store holds every value from before it, and what that program wrote since."


def intend(repair: Repair, intent: Repair.Intent, operator: str, changes: tuple[Change, ...] | None = None) -> None:
    """Says what is about to be written, by whom, and keeps every value before and after, before the store is touched."""
    with one_writer():
        if changes is not None:
            keep(repair, changes)
        repair.intent = intent
        setattr(repair, _BY[intent], operator)
        repair.save(update_fields=["intent", _BY[intent]])


def withdraw(repair: Repair) -> None:
    """The intent is over and nothing of it was written."""
    with one_writer():
        setattr(repair, _BY[Repair.Intent(repair.intent)], "")
        repair.intent = ""
        repair.save(update_fields=["intent", "applied_by", "undone_by"])


def record_applied(repair: Repair, **detail: Any) -> None:
    with one_writer():
        repair.state, repair.intent, repair.applied_at = Repair.State.APPLIED, "", timezone.now()
        repair.checked_at = repair.applied_at
        repair.save(update_fields=["state", "intent", "applied_at", "checked_at"])
        # A fork replaces its original, whose own rows stay as they are.
        counting.renew([repair.conversation_id])
        audit_repair(repair, repair.applied_by, "apply", plan=repair.plan_digest, records=repair.changes.count(), **detail)


def record_undone(repair: Repair, outcome: str = UNDONE, **detail: Any) -> None:
    with one_writer():
        repair.state, repair.intent, repair.undone_at, repair.outcome = Repair.State.UNDONE, "", timezone.now(), outcome
        repair.save(update_fields=["state", "intent", "undone_by", "undone_at", "outcome"])
        counting.renew([repair.conversation_id])
        audit_repair(repair, repair.undone_by, "undo", **detail)


def close_overwritten(repair: Repair, operator: str) -> None:
    """Nothing of the repair is in the store any more, so that there is nothing to undo; nobody undid it either."""
    record_outcome(repair, operator, Repair.State.OVERWRITTEN, f"{OVERWRITTEN} Nothing was written.", "overwritten")


def record_outcome(repair: Repair, operator: str, state: Repair.State, outcome: str, verb: str) -> None:
    with one_writer():
        repair.state, repair.intent, repair.outcome = state, "", outcome
        repair.save(update_fields=["state", "intent", "outcome"])
        counting.renew([repair.conversation_id])
        audit_repair(repair, operator, verb, outcome=outcome)


_BY = {Repair.Intent.APPLY: "applied_by", Repair.Intent.UNDO: "undone_by"}


def audit_repair(repair: Repair, who: str, verb: str, **detail: Any) -> None:
    """With a digest of the repair's row as this act leaves it, so that one that is changed in the database shows; and to whom it is announced."""
    conversation = repair.conversation
    audit.record(
        who,
        verb,
        source_path=conversation.source.path,
        conversation=conversation.oid,
        repair=repair.oid,
        record=audit.repair_digest(repair.oid),
        **detail,
    )
    outbox.announce_repair(repair, who, verb, str(detail.get("outcome", "")))
