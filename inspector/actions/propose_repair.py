"""Proposes a repair: the plan, its preview, and a rehearsal on a copy. Nothing of the store changes."""

import secrets
from collections.abc import Iterable

from django.utils import timezone

from inspector.access.permits import acts
from inspector.actions.comparison import target_of
from inspector.actions.decide_repair import replace_changed
from inspector.actions.kept_previews import kept_preview
from inspector.actions.planning import RepairRequest, current, moved, shown_digest, stale
from inspector.actions.problems import Refused
from inspector.actions.recording import audit_repair
from inspector.actions.rehearse import rehearse
from inspector.actions.reviewing import incident_link, reviewers_named, text_of_a_person
from inspector.actions.settling import settle_one
from inspector.models import Conversation, Repair, RepairGroup, loading
from inspector.models.transactions import one_writer
from inspector.planning.preview import digest
from inspector.presentation.repair.alternatives import safety_words
from inspector.presentation.repair.plan import counts, headline
from inspector.sources.own_program import read_only
from inspector.sources.places import place
from inspector.text.at_hand import at_work

PURGED = "It was purged, or its source was removed."
GROUP_GONE = "This group is gone: its conversations were purged, or its source was removed."


@acts("propose")
@at_work()
def propose_repair(
    conversation: Conversation,
    request: RepairRequest,
    operator: str,
    seen_digest: str | None = None,
    *,
    reason: str = "",
    incident: str = "",
    reviewers: str | Iterable[str] = (),
    group: RepairGroup | None = None,
) -> Repair:
    """What the same person proposed and nobody decided yet is returned, and not proposed again.

    `seen_digest` is the `shown_digest` of the preview on a page; None where a command asks. Raises Refused (nothing to do, cannot be written, another
    plan than was shown, an interrupted write comes first, a reason, link or reviewer that cannot be), Stale (the store moved since its last import)."""
    source = conversation.source
    reason, incident, names = text_of_a_person(reason, "The reason"), incident_link(incident), reviewers_named(reviewers, source)
    format_ = loading.format_of(source)
    if sealed := read_only(format_.name):
        raise Refused(sealed)
    _refuse_interrupted(conversation)
    stored = loading.stored(conversation)
    now = current(conversation)
    if now is None or digest(now) != digest(stored):
        raise stale(moved(stored, now))
    preview = kept_preview(conversation, conversation.revision, request)
    if seen_digest not in (None, shown_digest(preview)):
        raise Refused(
            "Nothing is proposed yet: what is chosen now is another plan than the preview showed. This is its preview: read it, then propose it."
        )
    rehearsal = rehearse(place(source.path), format_, stored, preview)
    with one_writer():
        # The rehearsal took its time.
        if not Conversation.objects.filter(pk=conversation.pk).exists():
            raise Refused(PURGED)
        if group is not None and not RepairGroup.objects.filter(pk=group.pk).exists():
            raise Refused(GROUP_GONE)
        if waits := _waiting(conversation, preview.digest, operator, group):
            replace_changed(waits)
            return waits
        repair = Repair.objects.create(
            oid=secrets.token_hex(6),
            conversation=conversation,
            revision=conversation.revision,
            strategies=list(request.strategies),
            mode=request.mode,
            reader=request.reader,
            projection=request.projection,
            profile=request.profile,
            options=request.options,
            base_digest=preview.plan.base_digest,
            plan_digest=preview.digest,
            state=Repair.State.PROPOSED if rehearsal["ok"] else Repair.State.FAILED,
            outcome="" if rehearsal["ok"] else rehearsal["sentence"],
            rehearsal=rehearsal,
            proposed_by=operator,
            proposed_at=timezone.now(),
            reason=reason,
            incident=incident,
            reviewers=names,
            summary=headline(preview),
            safety=safety_words(preview.plan.safety),
            counts=counts(preview),
            group=group,
        )
        audit_repair(repair, operator, "propose", plan=preview.digest, mode=request.mode)
        replace_changed(repair)
    if not rehearsal["ok"]:
        raise Refused(rehearsal["sentence"])
    return repair


def _waiting(conversation: Conversation, plan_digest: str, operator: str, group: RepairGroup | None) -> Repair | None:
    """What the same person proposed and nobody decided: a form that is sent twice makes one repair."""
    waiting = Repair.objects.filter(conversation=conversation, state=Repair.State.PROPOSED, group=group)
    return waiting.filter(plan_digest=plan_digest, proposed_by=operator).first()


def _refuse_interrupted(conversation: Conversation) -> None:
    """A plan on a half of another repair's values would complete that repair under another name, and its undo would restore the half."""
    for repair in Repair.objects.exclude(intent="").filter(conversation__source=conversation.source).select_related("conversation__source"):
        is_same = repair.conversation_id == conversation.pk or target_of(repair) == conversation.native_id
        if is_same and (interrupted := settle_one(repair)):
            raise Refused(interrupted.sentence)
