"""Writes an approved repair: re-read, compare with what was signed, keep every `before`, write, read back, judge again."""

from contextlib import suppress
from dataclasses import replace

from inspector.access.permits import acts
from inspector.actions.approvals import refuse_lapsed
from inspector.actions.audit import refuse_unless_intact
from inspector.actions.claim import claimed
from inspector.actions.comparison import UNDOABLE, base_of, compare, others_applied, target_of, writes_the_same
from inspector.actions.idle import refuse_unless_idle
from inspector.actions.import_source import import_after_write
from inspector.actions.planning import current, moved, preview_of, request_of, stale, web_may_write
from inspector.actions.problems import Refused, Stale
from inspector.actions.proving import surprise_in
from inspector.actions.recording import close_overwritten, intend, record_applied, record_outcome
from inspector.actions.settling import WENT_ON, complete, settle, settle_failed
from inspector.actions.undo_repair import NOT_COMMITTED
from inspector.actions.writing import back, kept_changes, write
from inspector.models import Repair, loading
from inspector.planning.preview import Preview, digest
from inspector.presentation.visible import visible
from inspector.programs.formats import Claimable, Stored, after
from inspector.sources import stores
from inspector.sources.places import place
from inspector.sources.postgres_problems import UnknownOutcome
from inspector.sources.problems import Moved, SourceProblem
from inspector.text.at_hand import at_work


@acts("apply")
@at_work()
def apply_repair(repair: Repair, operator: str, interactive: bool = False) -> None:
    """Raises Refused (nothing was written) or Stale. `interactive`: a command, whose person may write what their account may.

    A write of this repair that was interrupted is finished or recorded, never done twice.
    """
    if repair.state != Repair.State.APPROVED and not repair.intent:
        raise Refused(f"This repair is {repair.state}; only an approved one can be applied.")
    source = repair.conversation.source
    if not interactive and not web_may_write(source):
        raise Refused(f"Writing to {source.name} is switched off: switch it on on the page of the source first.")
    refuse_unless_intact(repair)
    with claimed(repair):
        if repair.intent:
            complete(repair, forward=True)
        if repair.state == Repair.State.APPROVED:
            _write(repair, operator)


def _write(repair: Repair, operator: str) -> None:
    conversation = repair.conversation
    source = conversation.source
    format_ = loading.format_of(source)
    refuse_lapsed(repair, operator)
    stored = current(conversation)
    if stored is None or digest(stored) != repair.base_digest:
        problem = stale(moved(base_of(repair), stored))
        record_outcome(repair, operator, Repair.State.STALE, str(problem), "stale")
        raise problem
    _compare_with_others(repair, operator)
    refuse_unless_idle(format_, stored)
    case = loading.case(conversation, repair.reader, repair.revision).with_conversation(stored.conversation)
    preview = preview_of(case, stored, format_, source.path, request_of(repair))
    if preview.digest != repair.approved_digest:
        sentence = "The plan comes out otherwise than approved, so its approval does not hold any more: propose the repair again."
        record_outcome(repair, operator, Repair.State.STALE, sentence, "stale")
        raise Refused(sentence)
    try:
        # After the intent, neither to finish nor to take back would be allowed.
        stores.refuse_out_of_reach(place(source.path), format_, [change.key for change in preview.changes])
    except SourceProblem as problem:
        raise Refused(f"{problem.sentence} Nothing was written.") from None
    intend(repair, Repair.Intent.APPLY, operator, preview.changes)
    try:
        milliseconds = write(place(source.path), format_, [stored], preview.changes)
    except SourceProblem as problem:
        _failed(repair, operator, problem)
        return
    record_applied(repair, bytes=preview.bytes_written, lock_ms=round(milliseconds, 1))
    _prove(repair, operator, preview)
    import_after_write(source.path, operator, format_.target(preview.plan))


def _compare_with_others(repair: Repair, operator: str) -> None:
    """Closes the applied repairs of the same conversation that another program overwrote: their undo would take away what is written now.

    Raises Stale where one of them wrote the same and is in the store: a new conversation does not change the records that the plan is based on.
    """
    for other in others_applied(repair):
        with claimed(other):
            comparison = compare(other)
            if comparison.is_overwritten:
                close_overwritten(other, operator)
            elif comparison.is_written and writes_the_same(repair, other):
                sentence = f"Repair {other.oid} wrote the conversation {visible(target_of(repair))} already, so nothing was written now."
                record_outcome(repair, operator, Repair.State.STALE, sentence, "stale")
                raise Stale(sentence, [])


def _failed(repair: Repair, operator: str, problem: SourceProblem) -> None:
    """What the store holds says whether a failed write happened all the same. Raises Refused, Stale; returns where it did, and is recorded."""
    settle_failed(repair, problem)
    if repair.state in UNDOABLE:
        return
    if repair.intent:
        # The store cannot be read now, or holds a part of it: nothing is reported that `verify` could prove wrong.
        raise Refused(problem.sentence) from None
    if isinstance(problem, UnknownOutcome):
        raise Refused(NOT_COMMITTED.format(problem.place, "written: apply")) from None
    if isinstance(problem, Moved):
        record_outcome(repair, operator, Repair.State.STALE, problem.sentence, "stale")
        raise Stale(problem.sentence, []) from None
    nothing = "" if "nothing was written" in problem.sentence.lower() else " Nothing was written."
    raise Refused(f"{problem.sentence}{nothing}") from None


def _prove(repair: Repair, operator: str, preview: Preview) -> None:
    """Reads the result back and judges it; anything but what was previewed is undone at once, under the same checks."""
    conversation = repair.conversation
    format_ = loading.format_of(conversation.source)
    result = current(conversation, format_.target(preview.plan))
    unexpected = surprise_in(repair, preview, result)
    if not unexpected:
        outcome = "Read back from the store: every byte and every finding as previewed."
        record_outcome(repair, operator, Repair.State.VERIFIED, outcome, "verify")
        return
    if isinstance(format_, Claimable) and result is not None and compare(repair).is_written and moved(_as_written(repair), result):
        # A worker waits for the row that we held: what it goes on with is not taken from under it.
        record_outcome(repair, operator, Repair.State.APPLIED, f"Every row was written as previewed. {WENT_ON}", "verify")
        return
    intend(repair, Repair.Intent.UNDO, operator)
    try:
        write(place(conversation.source.path), format_, [result] if result else [], back(preview.changes))
    except SourceProblem as problem:
        with suppress(Refused):
            settle(repair)
        if repair.state != Repair.State.UNDONE:
            sentence = f"After the write {unexpected}, and undoing it failed: {problem.sentence} It is still in the store: undo it here."
            if not repair.intent:
                # Still applied: only so can it be undone later.
                record_outcome(repair, operator, Repair.State.APPLIED, sentence, "fail")
            raise Refused(sentence) from None
    sentence = f"After the write {unexpected}; it was undone at once."
    record_outcome(repair, operator, Repair.State.FAILED, sentence, "fail")
    raise Refused(sentence)


def _as_written(repair: Repair) -> Stored:
    base = base_of(repair)
    return replace(base, records=tuple(after(base.records, kept_changes(repair))))
