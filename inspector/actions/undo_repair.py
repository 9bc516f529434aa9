"""Gives back every byte that a repair changed, or says why it cannot."""

from django.utils import timezone

from inspector.actions import audit
from inspector.actions.claim import claimed
from inspector.actions.idle import refuse_unless_idle
from inspector.actions.import_source import import_after_write
from inspector.actions.planning import current, listed, web_may_write
from inspector.actions.problems import Refused
from inspector.actions.writing import back, kept, write
from inspector.conversation.edits import Plan
from inspector.formats.base import Claimable, Format, Stored, after
from inspector.models import Repair, loading
from inspector.models.transactions import one_writer
from inspector.repairs.preview import digest, is_named
from inspector.sources.places import place
from inspector.sources.postgres_problems import UnknownOutcome
from inspector.sources.problems import SourceProblem

UNDOABLE = (Repair.State.APPLIED, Repair.State.VERIFIED)


def differences(repair: Repair) -> list[tuple[str, str]]:
    """Where the store no longer holds what the repair left there, as (record key, what); empty where all of it stands."""
    conversation = repair.conversation
    changes, target = kept(repair), _target(repair)
    records = after(loading.stored(conversation, repair.revision).records, changes)
    wrote = [each for each in loading.format_of(conversation.source).read(records) if is_named(each.conversation.native_id, target)]
    left = {chunk.key: chunk.raw for each in wrote for chunk in each.conversation.chunks}
    now = current(conversation, target)
    found = {} if now is None else {chunk.key: chunk.raw for chunk in now.conversation.chunks}
    rows = [
        (key, "is new" if key not in left else "is gone" if key not in found else "has another value")
        for key in sorted(left.keys() | found.keys())
        if left.get(key) != found.get(key)
    ]
    held = {} if now is None else {record.key: record.value for record in now.records}
    facts = [
        (change.key, "has another value")
        for change in changes
        if not change.element
        and change.key not in left
        and change.after is not None
        and held.get(change.key) != change.after
        and change.key.startswith("conv:")
    ]
    # A new conversation is the repair's alone: a record that it did not write came later, and would be left behind without the rest.
    written = {change.key for change in changes}
    is_new = target != _native_id(repair)
    later = [(key, "is new") for key in sorted(held.keys() - written - found.keys()) if is_new]
    return rows + facts + later


def _native_id(repair: Repair) -> str:
    return loading.stored(repair.conversation, repair.revision).conversation.native_id


def _target(repair: Repair) -> str:
    """Native id of the conversation that holds the result. Nothing here computes the plan again: undo must outlive a strategy."""
    source = repair.conversation.source
    plan = Plan(source.path, _native_id(repair), repair.mode, (), frozenset(), repair.base_digest, (), repair.options)
    return loading.format_of(source).target(plan)


def is_written(repair: Repair) -> bool:
    """Whether the store holds what an approved repair writes: the process ended after the write and before it was recorded."""
    return repair.state == Repair.State.APPROVED and repair.changes.exists() and not differences(repair)


def stands(repair: Repair, now: Stored) -> bool:
    """Whether every row that the repair wrote is in the store as written, whatever else came there since."""
    held = {record.key: record.value for record in now.records}
    return all(held.get(change.key) == change.after for change in kept(repair))


def went_on_after(repair: Repair) -> bool:
    """Whether an approved repair was written without being recorded, and its program went on with the result since."""
    if repair.state != Repair.State.APPROVED or not repair.changes.exists() or not isinstance(_format(repair), Claimable):
        return False
    now = current(repair.conversation, _target(repair))
    return now is not None and stands(repair, now)


def _format(repair: Repair) -> Format:
    return loading.format_of(repair.conversation.source)


def _is_back(repair: Repair) -> bool:
    """Whether nothing of the repair stands any more: the process ended after an undo and before it was recorded."""
    conversation = repair.conversation
    target = _target(repair)
    now = current(conversation, target)
    return now is None if target != _native_id(repair) else now is not None and digest(now) == repair.base_digest


def undo_repair(repair: Repair, operator: str, at_the_keyboard: bool = False) -> None:
    """Raises Refused; then nothing was written."""
    if repair.state not in UNDOABLE:
        raise Refused(f"This repair is {repair.state}; only an applied one can be undone.")
    source = repair.conversation.source
    if not at_the_keyboard and not web_may_write(source):
        raise Refused(f"Writing to {source.name} is switched off: switch it on on the page of the source first.")
    with claimed(repair):
        _give_back(repair, operator)


def _give_back(repair: Repair, operator: str) -> None:
    conversation = repair.conversation
    source = conversation.source
    format_ = loading.format_of(source)
    changed = differences(repair)
    held = 0.0
    if changed and not _is_back(repair):
        raise Refused(
            f"Undo is refused, since the store went on after the repair: {listed(changed)}. "
            "Undoing now would take those away; the values before are kept on this page."
        )
    if changed:
        _undone(repair, operator, held)
        return
    now = current(conversation, _target(repair))
    if now is not None and isinstance(format_, Claimable):
        refuse_unless_idle(format_, now)
    try:
        held = write(place(source.path), format_, [now] if now else [], back(kept(repair)))
    except UnknownOutcome as problem:
        raise Refused(problem.sentence) from None
    except SourceProblem as problem:
        raise Refused(f"{problem.sentence} Nothing was undone.") from None
    _undone(repair, operator, held)


def _undone(repair: Repair, operator: str, held: float) -> None:
    conversation, source = repair.conversation, repair.conversation.source
    with one_writer():
        repair.state, repair.undone_by, repair.undone_at = Repair.State.UNDONE, operator, timezone.now()
        repair.outcome = "Undone: every record holds its bytes from before the repair."
        repair.save(update_fields=["state", "undone_by", "undone_at", "outcome"])
        audit.record(operator, "undo", source_path=source.path, conversation=conversation.oid, repair=repair.oid, lock_ms=round(held, 1))
    import_after_write(source.path, operator, _target(repair))


def verify_repair(repair: Repair) -> tuple[bool, str]:
    """Whether the store still holds what the repair wrote, and the sentence that says so."""
    if is_written(repair):
        return (
            True,
            "The store holds exactly what this repair writes, though that was never recorded: apply it to record it, then it can be undone.",
        )
    if repair.state not in UNDOABLE:
        return False, f"This repair is {repair.state}: {repair.outcome or 'nothing of it stands in the store.'}"
    changed = differences(repair)
    if not changed:
        return True, "The store holds exactly what this repair wrote; it can be undone."
    if _is_back(repair):
        return (
            False,
            "Nothing of this repair stands in the store any more: it was undone, though that was never recorded; undo it to record it.",
        )
    return False, f"The store no longer holds what this repair wrote: {listed(changed)}."
