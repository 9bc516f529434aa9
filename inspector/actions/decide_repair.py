"""Approval signs the plan's digest; a plan that would come out otherwise has lost it."""

from django.conf import settings
from django.utils import timezone

from inspector.access.permits import acts
from inspector.actions.approvals import BY_COMMAND as BY_COMMAND
from inspector.actions.approvals import why_not_approver
from inspector.actions.audit import refuse_unless_intact
from inspector.actions.claim import claimed
from inspector.actions.planning import preview_repair
from inspector.actions.problems import Refused
from inspector.actions.recording import audit_repair
from inspector.actions.reviewing import keep_comment, text_of_a_person
from inspector.actions.settling import settle_one
from inspector.models import AuditEntry, Repair, RepairComment
from inspector.models.transactions import one_writer

STATEMENTS = {
    "fixed": "The program that writes this store is fixed: it does not do this damage again.",
    "unfixed": "It is not fixed yet, or I do not know: the same repair may be needed again.",
}
"""What an approver may state about the cause of the damage. One of them has to be chosen, so that nobody approves a repair that a program undoes at once without knowing it."""
_BY_COMMAND = "nothing; a command approved it, which prints the warnings of the plan and does not ask whether the program is fixed."


def why_not_approve(repair: Repair, operator: str) -> str:
    """Why this person cannot approve this repair, as a sentence; "" where they can."""
    if settings.INSPECTOR_REQUIRE_SECOND_APPROVER and operator == repair.proposed_by:
        return "A second person must approve this repair: the one who proposed it cannot (INSPECTOR_REQUIRE_SECOND_APPROVER)."
    why = why_not_approver(operator, repair.conversation.source)
    return f"You cannot approve this repair: {why}. Ask somebody who may." if why else ""


@acts("approve")
def approve_repair(repair: Repair, operator: str, signed_digest: str, statement: str, comment: str = "", *, kept_digest: str = "") -> None:
    """`signed_digest` is what the approver saw, `statement` a key of STATEMENTS, or BY_COMMAND for a command. Raises Refused.

    `kept_digest` is that of the plan whose preview is kept, by this code and of this revision: the plan is then not worked out again here. It is when it
    is applied.
    """
    if repair.state != Repair.State.PROPOSED:
        raise Refused(f"This repair is {repair.state}; only a proposed one can be approved.")
    if statement == BY_COMMAND:
        if settings.INSPECTOR_REQUIRE_SECOND_APPROVER and operator == repair.proposed_by:
            raise Refused(why_not_approve(repair, operator))
    elif why := why_not_approve(repair, operator):
        raise Refused(why)
    text = text_of_a_person(comment, "The comment")
    if signed_digest != repair.plan_digest or (kept_digest or preview_repair(repair).digest) != repair.plan_digest:
        raise Refused("This is not the plan that you looked at: open the repair again, read it, and approve what it shows now.")
    if statement not in (*STATEMENTS, BY_COMMAND):
        raise Refused("Nothing was stated about the program that writes this store: choose whether it is fixed, then approve.")
    refuse_unless_intact(repair)
    _decide(repair, operator, Repair.State.APPROVED, RepairComment.Verdict.APPROVE, text, statement=statement)


def statement_of(repair: Repair) -> tuple[str, str]:
    """What was stated on approval, as (key, sentence), from the audit log; ("", "") where nothing is recorded."""
    entry = AuditEntry.objects.filter(repair=repair.oid, verb="approve").order_by("-id").first()
    key = str(entry.detail.get("statement", "")) if entry else ""
    return key, {**STATEMENTS, BY_COMMAND: _BY_COMMAND}.get(key, "")


@acts("reject")
def reject_repair(repair: Repair, operator: str, comment: str = "") -> None:
    """Raises Refused."""
    text = text_of_a_person(comment, "The comment")
    if interrupted := settle_one(repair):
        raise Refused(interrupted.sentence)
    if repair.state not in Repair.WAITING:
        raise Refused(f"This repair is {repair.state}; only a proposed or approved one can be rejected.")
    if repair.intent:
        raise Refused(
            "This repair was interrupted while it was written, and its store cannot be read now: make it readable, then apply or undo the repair."
        )
    # Who applies it now would write it all the same.
    with claimed(repair):
        _decide(repair, operator, Repair.State.REJECTED, RepairComment.Verdict.REJECT, text)


@acts("request changes")
def request_changes(repair: Repair, operator: str, text: str) -> None:
    """It then waits for who proposed it: for another proposal, which replaces it, or until somebody is asked again to review it. Raises Refused."""
    text = text_of_a_person(text, "The comment")
    if not text:
        raise Refused("Nothing was requested: say in the comment what is to be changed, then press the button again.")
    if repair.state != Repair.State.PROPOSED:
        raise Refused(f"This repair is {repair.state}; changes are requested to a proposed one.")
    if repair.group_id:
        raise Refused("This repair is one of a group, which is proposed again as a whole: comment on it, or reject it.")
    with one_writer():
        if not Repair.objects.filter(pk=repair.pk, state=repair.state).update(changes_by=operator):
            raise Refused("Somebody else decided on this repair a moment ago; open it again.")
        keep_comment(repair, operator, text, verdict=RepairComment.Verdict.CHANGES)
        audit_repair(repair, operator, "request changes", plan=repair.plan_digest)
    repair.refresh_from_db()


def replace_changed(newer: Repair) -> None:
    """Takes back what the same person proposed for the conversation and was asked to change; a group is reviewed as it is."""
    if newer.state != Repair.State.PROPOSED or newer.changes_by or newer.group_id:
        return
    waiting = Repair.objects.filter(conversation=newer.conversation, state=Repair.State.PROPOSED, proposed_by=newer.proposed_by, group=None)
    for repair in waiting.exclude(changes_by="").exclude(pk=newer.pk).select_related("conversation__source"):
        _decide(repair, newer.proposed_by, Repair.State.REJECTED, RepairComment.Verdict.REJECT, f"Replaced by repair {newer.oid}.")


def _decide(repair: Repair, operator: str, state: Repair.State, verdict: RepairComment.Verdict, text: str, **detail: str) -> None:
    with one_writer():
        changed = Repair.objects.filter(pk=repair.pk, state=repair.state).update(
            state=state,
            approved_by=operator,
            approved_at=timezone.now(),
            approved_digest=repair.plan_digest if state == Repair.State.APPROVED else "",
            outcome="",
            changes_by="",
        )
        if not changed:
            raise Refused("Somebody else decided on this repair a moment ago; open it again.")
        keep_comment(repair, operator, text, verdict=verdict)
        audit_repair(repair, operator, verdict.value, plan=repair.plan_digest, **detail)
    repair.refresh_from_db()
