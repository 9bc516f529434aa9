"""Writes an approved repair: re-read, compare with what was signed, keep every `before`, write, read back, judge again."""

from dataclasses import replace

from django.utils import timezone

from inspector.actions import audit
from inspector.actions.claim import claimed
from inspector.actions.idle import refuse_unless_idle
from inspector.actions.import_source import import_after_write
from inspector.actions.planning import current, moved, preview_of, preview_repair, request_of, stale, web_may_write
from inspector.actions.problems import Refused, Stale
from inspector.actions.undo_repair import is_written, stands, went_on_after
from inspector.actions.writing import back, keep, kept, write
from inspector.formats.base import Claimable, Stored, after
from inspector.models import Repair, loading
from inspector.models.transactions import one_writer
from inspector.repairs.preview import Preview, digest, look
from inspector.sources.places import place
from inspector.sources.postgres_problems import UnknownOutcome
from inspector.sources.problems import Moved, SourceProblem

_WENT_ON = "Its program went on with it before it was read back: what came since is not ours, and stays."


def apply_repair(repair: Repair, operator: str, at_the_keyboard: bool = False) -> None:
    """Raises Refused (nothing was written) or Stale. `at_the_keyboard`: a command, whose person may write what their account may."""
    if repair.state != Repair.State.APPROVED:
        raise Refused(f"This repair is {repair.state}; only an approved one can be applied.")
    source = repair.conversation.source
    if not at_the_keyboard and not web_may_write(source):
        raise Refused(f"Writing to {source.name} is switched off: switch it on on the page of the source first.")
    with claimed(repair):
        if is_written(repair):
            _applied(repair, operator, preview_repair(repair), 0.0)
        elif went_on_after(repair):
            preview = preview_repair(repair)
            _recorded(repair, operator, preview, 0.0)
            _end(repair, operator, Repair.State.APPLIED, f"It was written, though that was never recorded. {_WENT_ON}", "verify")
            import_after_write(source.path, operator, loading.format_of(source).target(preview.plan))
        else:
            _write(repair, operator)


def _write(repair: Repair, operator: str) -> None:
    conversation = repair.conversation
    source = conversation.source
    format_ = loading.format_of(source)
    stored = current(conversation)
    if stored is None or digest(stored) != repair.base_digest:
        problem = stale(moved(loading.stored(conversation, repair.revision), stored))
        _end(repair, operator, Repair.State.STALE, str(problem), "stale")
        raise problem
    refuse_unless_idle(format_, stored)
    case = loading.case(conversation, repair.reader, repair.revision).again(stored.conversation)
    preview = preview_of(case, stored, format_, source.path, request_of(repair))
    if preview.digest != repair.approved_digest:
        raise Refused("The plan comes out otherwise than approved; propose it anew.")
    keep(repair, preview.changes)
    try:
        held = write(place(source.path), format_, [stored], preview.changes)
    except Moved as problem:
        _end(repair, operator, Repair.State.STALE, problem.sentence, "stale")
        raise Stale(problem.sentence, []) from None
    except UnknownOutcome as problem:
        # It may stand: nothing is said that `verify` could prove wrong.
        raise Refused(problem.sentence) from None
    except SourceProblem as problem:
        said = "" if "nothing was written" in problem.sentence.lower() else " Nothing was written."
        raise Refused(f"{problem.sentence}{said}") from None
    _applied(repair, operator, preview, held)


def _applied(repair: Repair, operator: str, preview: Preview, held: float) -> None:
    """Records the write, proves it, and reads the store again."""
    source = repair.conversation.source
    _recorded(repair, operator, preview, held)
    _prove(repair, operator, preview)
    import_after_write(source.path, operator, loading.format_of(source).target(preview.plan))


def _recorded(repair: Repair, operator: str, preview: Preview, held: float) -> None:
    conversation, source = repair.conversation, repair.conversation.source
    Repair.objects.filter(pk=repair.pk).update(state=Repair.State.APPLIED, applied_by=operator, applied_at=timezone.now())
    repair.refresh_from_db()
    audit.record(
        operator,
        "apply",
        source_path=source.path,
        conversation=conversation.oid,
        repair=repair.oid,
        plan=repair.plan_digest,
        records=len(preview.changes),
        bytes=preview.bytes_written,
        lock_ms=round(held, 1),
    )


def _prove(repair: Repair, operator: str, preview: Preview) -> None:
    """Reads the result back and judges it; anything but what was previewed is undone at once, under the same checks."""
    conversation = repair.conversation
    format_ = loading.format_of(conversation.source)
    result = current(conversation, format_.target(preview.plan))
    surprise = ""
    if result is None or [chunk.raw for chunk in preview.after.case.view(result.conversation).chunks] != [
        chunk.raw for chunk in preview.after.case.conversation.chunks
    ]:
        surprise = "what was written does not read back as previewed"
    else:
        found = result.conversation
        if format_.target(preview.plan) != preview.plan.conversation:
            # What a list beside it says of a new conversation, as that it does not hold it, is no record of the plan.
            own = {record.key for record in result.records}
            found = replace(found, facts={name: fact for name, fact in found.facts.items() if not fact.key or fact.key in own})
        side = look(preview.before.case.again(found), repair.projection, repair.profile)
        if [(found.code, found.seqs) for found in side.findings] != [(found.code, found.seqs) for found in preview.after.findings]:
            surprise = "the rules find something else than previewed"
    if not surprise:
        _end(repair, operator, Repair.State.VERIFIED, "Read back from the store: every byte and every finding as previewed.", "verify")
        return
    if isinstance(format_, Claimable) and result is not None and stands(repair, result) and moved(_as_written(repair), result):
        # A worker waits for the row that we held: what it goes on with is not taken from under it.
        _end(repair, operator, Repair.State.APPLIED, f"Every row was written as previewed. {_WENT_ON}", "verify")
        return
    try:
        write(place(conversation.source.path), format_, [result] if result else [], back(preview.changes))
    except SourceProblem as problem:
        # Still applied: only so can it be undone later.
        state = Repair.State.APPLIED
        sentence = f"After the write {surprise}, and undoing it failed: {problem.sentence} It still stands in the store: undo it here."
    else:
        state = Repair.State.FAILED
        sentence = f"After the write {surprise}; it was undone at once."
    _end(repair, operator, state, sentence, "fail")
    raise Refused(sentence)


def _as_written(repair: Repair) -> Stored:
    base = loading.stored(repair.conversation, repair.revision)
    return replace(base, records=tuple(after(base.records, kept(repair))))


def _end(repair: Repair, operator: str, state: Repair.State, outcome: str, verb: str) -> None:
    with one_writer():
        repair.state, repair.outcome = state, outcome
        repair.save(update_fields=["state", "outcome"])
        audit.record(
            operator,
            verb,
            source_path=repair.conversation.source.path,
            conversation=repair.conversation.oid,
            repair=repair.oid,
            outcome=outcome,
        )
