"""Gives back every byte that a repair changed, or says why it cannot."""

from pathlib import Path

from django.db import transaction
from django.utils import timezone

from inspector.actions import audit
from inspector.actions.import_source import import_targets
from inspector.actions.planning import current, preview_repair, web_may_write
from inspector.actions.problems import Refused
from inspector.actions.writing import back, kept, write
from inspector.models import Repair, loading
from inspector.sources.problems import SourceProblem

UNDOABLE = (Repair.State.APPLIED, Repair.State.VERIFIED)


def differences(repair: Repair) -> list[tuple[str, str]]:
    """Where the store no longer holds what the repair left there, as (record key, what); empty where all of it stands."""
    conversation = repair.conversation
    format_ = loading.format_of(conversation.source)
    preview = preview_repair(repair)
    now = current(conversation, format_.target(preview.plan))
    left = {chunk.key: chunk.raw for chunk in preview.after.case.conversation.chunks}
    found = {} if now is None else {chunk.key: chunk.raw for chunk in now.conversation.chunks}
    rows = [
        (key, "is new" if key not in left else "is gone" if key not in found else "has another value")
        for key in sorted(left.keys() | found.keys())
        if left.get(key) != found.get(key)
    ]
    held = {} if now is None else {record.key: record.value for record in now.records}
    facts = [
        (change.key, "has another value")
        for change in preview.changes
        if not change.element
        and change.key not in left
        and change.after is not None
        and held.get(change.key) != change.after
        and change.key.startswith("conv:")
    ]
    return rows + facts


def undo_repair(repair: Repair, operator: str, at_the_keyboard: bool = False) -> None:
    """Raises Refused; then nothing was written."""
    if repair.state not in UNDOABLE:
        raise Refused(f"This repair is {repair.state}; only an applied one can be undone.")
    conversation = repair.conversation
    source = conversation.source
    if not at_the_keyboard and not web_may_write(source):
        raise Refused(f"Writing to {source.name} is switched off: switch it on on the page of the source first.")
    format_ = loading.format_of(source)
    changed = differences(repair)
    if changed:
        shown = "; ".join(f"{key} {what}" for key, what in changed[:5])
        raise Refused(
            f"Undo is refused, since the store went on after the repair: {shown}{f' and {len(changed) - 5} more' if len(changed) > 5 else ''}. "
            "Undoing now would take those away; the values before are kept on this page."
        )
    now = current(conversation, format_.target(preview_repair(repair).plan))
    try:
        held = write(Path(source.path), format_, [now] if now else [], back(kept(repair)))
    except SourceProblem as problem:
        raise Refused(f"{problem.sentence} Nothing was undone.") from None
    with transaction.atomic():
        repair.state, repair.undone_by, repair.undone_at = Repair.State.UNDONE, operator, timezone.now()
        repair.outcome = "Undone: every record holds its bytes from before the repair."
        repair.save(update_fields=["state", "undone_by", "undone_at", "outcome"])
        audit.record(operator, "undo", source_path=source.path, conversation=conversation.oid, repair=repair.oid, lock_ms=round(held, 1))
    import_targets([source.path], operator)


def verify_repair(repair: Repair) -> tuple[bool, str]:
    """Whether the store still holds what the repair wrote, and the sentence that says so."""
    if repair.state not in UNDOABLE:
        return False, f"This repair is {repair.state}: {repair.outcome or 'nothing of it stands in the store.'}"
    changed = differences(repair)
    if not changed:
        return True, "The store holds exactly what this repair wrote; it can be undone."
    shown = "; ".join(f"{key} {what}" for key, what in changed[:5])
    return False, f"The store no longer holds what this repair wrote: {shown}{f' and {len(changed) - 5} more' if len(changed) > 5 else ''}."
