"""Writes an approved repair: re-read, compare with what was signed, keep every `before`, write, read back, judge again."""

from dataclasses import replace
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from inspector.actions import audit
from inspector.actions.claim import claimed
from inspector.actions.import_source import import_after_write
from inspector.actions.planning import current, moved, preview_of, preview_repair, request_of, stale, web_may_write
from inspector.actions.problems import Refused, Stale
from inspector.actions.undo_repair import is_written
from inspector.actions.writing import back, keep, write
from inspector.detectors.base import case_of
from inspector.formats.base import Stored
from inspector.models import Repair, loading
from inspector.repairs.preview import Preview, digest, look
from inspector.sources.problems import Moved, SourceProblem

# Automatic compaction starts right after a turn without marking the conversation active.
QUIET_MS = 60 * 1000


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
    _refuse_unless_idle(stored)
    case = loading.case(conversation, repair.reader, repair.revision).again(stored.conversation)
    preview = preview_of(case, stored, format_, source.path, request_of(repair))
    if preview.digest != repair.approved_digest:
        raise Refused("The plan comes out otherwise than approved; propose it anew.")
    keep(repair, preview.changes)
    try:
        held = write(Path(source.path), format_, [stored], preview.changes)
    except Moved as problem:
        _end(repair, operator, Repair.State.STALE, problem.sentence, "stale")
        raise Stale(problem.sentence, []) from None
    except SourceProblem as problem:
        said = "" if "nothing was written" in problem.sentence.lower() else " Nothing was written."
        raise Refused(f"{problem.sentence}{said}") from None
    _applied(repair, operator, preview, held)


def _applied(repair: Repair, operator: str, preview: Preview, held: float) -> None:
    """Records the write, proves it, and reads the store again."""
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
    _prove(repair, operator, preview)
    import_after_write(source.path, operator)


def _refuse_unless_idle(stored: Stored) -> None:
    now = int(timezone.now().timestamp() * 1000)
    last = stored.conversation.fact("lastActivityAt")
    if stored.conversation.fact("status") == "active" and case_of(stored.conversation, "exact", taken_at=now).running:
        raise Refused("A turn of this conversation is running: wait until it is idle, or stop the server, and apply again.")
    if last is not None and 0 <= now - int(last) < QUIET_MS:
        raise Refused(
            "The conversation was written to less than a minute ago, and compaction may still be at work: wait a minute and apply again."
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
    try:
        write(Path(conversation.source.path), format_, [result] if result else [], back(preview.changes))
    except SourceProblem as problem:
        # Still applied: only so can it be undone later.
        state = Repair.State.APPLIED
        sentence = f"After the write {surprise}, and undoing it failed: {problem.sentence} It still stands in the store: undo it here."
    else:
        state = Repair.State.FAILED
        sentence = f"After the write {surprise}; it was undone at once."
    _end(repair, operator, state, sentence, "fail")
    raise Refused(sentence)


def _end(repair: Repair, operator: str, state: Repair.State, outcome: str, verb: str) -> None:
    with transaction.atomic():
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
