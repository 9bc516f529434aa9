"""Restores every byte that a repair changed, or says why it cannot."""

from inspector.access.context import unlimited
from inspector.access.permits import acts
from inspector.actions.audit import refuse_unless_intact
from inspector.actions.claim import claimed
from inspector.actions.comparison import UNDOABLE as UNDOABLE
from inspector.actions.comparison import compare, differences, others_applied, refuse_forged, target_of
from inspector.actions.idle import refuse_unless_idle
from inspector.actions.import_source import import_after_write
from inspector.actions.planning import current, listed, web_may_write
from inspector.actions.problems import Refused
from inspector.actions.recording import OVERWRITTEN, UNDONE, UNDONE_BY_PROGRAM, UNDONE_FORK, close_overwritten, intend, record_undone
from inspector.actions.settling import complete, settle_failed, settle_one
from inspector.actions.writing import back, kept_changes, write
from inspector.models import Repair, loading
from inspector.programs.formats import Claimable, WrittenByProgram
from inspector.sources.places import place
from inspector.sources.postgres_problems import UnknownOutcome
from inspector.sources.problems import SourceProblem
from inspector.text.at_hand import at_work

NOT_COMMITTED = (
    "The connection to {} was lost while the write was being committed; the store was compared, and nothing was {} the repair again."
)
AT_WORK = "This repair is being written at this moment, or its store cannot be read: look at it again in a while."


@acts("undo")
@at_work()
def undo_repair(repair: Repair, operator: str, interactive: bool = False) -> None:
    """Raises Refused; then nothing was written. A write of this repair that was interrupted is taken back as far as it went."""
    if repair.state not in UNDOABLE and not repair.intent:
        raise Refused(f"This repair is {repair.state}; only an applied one can be undone.")
    source = repair.conversation.source
    if not interactive and not web_may_write(source):
        raise Refused(f"Writing to {source.name} is switched off: switch it on on the page of the source first.")
    refuse_unless_intact(repair)
    with claimed(repair):
        if repair.intent:
            complete(repair, forward=False)
            if repair.state == Repair.State.APPROVED:
                repair.undone_by = operator
                record_undone(repair, "Undone: its write was interrupted, and nothing of it is in the store.")
        if repair.state in UNDOABLE:
            _take_back(repair, operator)


def _take_back(repair: Repair, operator: str) -> None:
    source = repair.conversation.source
    format_, target = loading.format_of(source), target_of(repair)
    comparison = compare(repair)
    if comparison.is_overwritten:
        close_overwritten(repair, operator)
        import_after_write(source.path, operator, target)
        return
    if later := _later(repair):
        raise Refused(f"Repair {later.oid} was applied to this conversation later and is still in the store: undo that one first.")
    changed = differences(repair, comparison)
    if changed:
        raise Refused(
            f"Undo is refused, since the store went on after the repair: {listed(changed)}. "
            "Undoing now would take those away; the values before are kept on the page of the repair."
        )
    refuse_forged(repair)
    now = current(repair.conversation, target)
    if now is not None and isinstance(format_, Claimable):
        refuse_unless_idle(format_, now)
    intend(repair, Repair.Intent.UNDO, operator)
    try:
        milliseconds = write(place(source.path), format_, [now] if now else [], back(kept_changes(repair)))
    except SourceProblem as problem:
        settle_failed(repair, problem)
        if repair.state == Repair.State.UNDONE:
            return
        if repair.intent:
            raise Refused(problem.sentence) from None
        if isinstance(problem, UnknownOutcome):
            raise Refused(NOT_COMMITTED.format(problem.place, "undone: undo")) from None
        raise Refused(f"{problem.sentence} Nothing was undone.") from None
    outcome = UNDONE_FORK if repair.options.get("fork_id") else UNDONE
    if isinstance(format_, WrittenByProgram):
        outcome = UNDONE_BY_PROGRAM.format(format_.own_program.name)
    record_undone(repair, outcome, lock_ms=round(milliseconds, 1))
    import_after_write(source.path, operator, target)


def _not_applied(repair: Repair) -> str:
    """Our own database may be older than the store, as after it was restored: without values kept from a write there is nothing to compare."""
    if not repair.changes.exists():
        return "it was not applied, as far as Inspector's own database goes; the store was not compared."
    if compare(repair).is_written:
        return "the store holds what it writes, but Inspector's own database does not record it as applied."
    return "nothing of it is in the store."


def _later(repair: Repair) -> Repair | None:
    """A repair that was planned on what this one wrote, and would be left in the store by its undo: its own undo could not detect then whether the program went on.

    One that only finished what this one was interrupted in goes with it.
    """
    own = {change.key for change in kept_changes(repair)}
    for other in others_applied(repair):
        if other.pk > repair.pk and not own.issuperset(change.key for change in kept_changes(other)) and compare(other).is_written:
            return other
    return None


@unlimited
def verify_repair(repair: Repair) -> tuple[bool, str]:
    """As `still_holds`, once the repair is settled as far as reading goes."""
    interrupted = settle_one(repair)
    if interrupted is None and repair.intent:
        return False, AT_WORK
    return (False, interrupted.sentence) if interrupted else still_holds(repair)


@unlimited
def still_holds(repair: Repair) -> tuple[bool, str]:
    """Whether the store still holds what the repair wrote, and the sentence that says so. Raises Refused where it cannot be read."""
    if repair.state not in UNDOABLE:
        return False, f"This repair is {repair.state}: {repair.outcome or _not_applied(repair)}"
    comparison = compare(repair)
    if not Repair.objects.filter(pk=repair.pk, state=repair.state, intent="").exists():
        return False, AT_WORK
    if comparison.is_overwritten:
        return False, f"{OVERWRITTEN} Stop that program before you repair it again; undo this repair to close it (nothing is written)."
    changed = differences(repair, comparison)
    if not changed:
        later = _later(repair)
        undo = f"Undo repair {later.oid} first to undo this one: it was applied later." if later else "it can be undone."
        return True, f"The store holds exactly what this repair wrote{'.' if later else ';'} {undo}"
    return False, f"The store no longer holds what this repair wrote: {listed(changed)}."
