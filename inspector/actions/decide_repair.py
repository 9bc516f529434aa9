"""Approval signs the plan's digest; a plan that would come out otherwise has lost it."""

from django.conf import settings
from django.utils import timezone

from inspector.actions import audit
from inspector.actions.planning import preview_repair
from inspector.actions.problems import Refused
from inspector.actions.settling import settle_one
from inspector.models import Repair
from inspector.models.transactions import one_writer


def approve_repair(repair: Repair, operator: str, signed_digest: str, knows_server_is_unfixed: bool) -> None:
    """`signed_digest` is what the approver saw. Raises Refused."""
    if repair.state != Repair.State.PROPOSED:
        raise Refused(f"This repair is {repair.state}; only a proposed one can be approved.")
    if settings.INSPECTOR_REQUIRE_SECOND_APPROVER and operator == repair.proposed_by:
        raise Refused("A second person must approve this repair: the one who proposed it cannot (INSPECTOR_REQUIRE_SECOND_APPROVER).")
    if signed_digest != repair.plan_digest or preview_repair(repair).digest != repair.plan_digest:
        raise Refused("This is not the plan that you looked at: open the repair again, read it, and approve what it shows now.")
    if not knows_server_is_unfixed:
        raise Refused(
            "Tick the box first: a program that is not fixed does the same again on its next turn, and you should know that before it is repaired."
        )
    _decide(repair, operator, Repair.State.APPROVED, "approve")


def reject_repair(repair: Repair, operator: str) -> None:
    """Raises Refused."""
    if interrupted := settle_one(repair):
        raise Refused(interrupted.sentence)
    if repair.state not in (Repair.State.PROPOSED, Repair.State.APPROVED):
        raise Refused(f"This repair is {repair.state}; only a proposed or approved one can be rejected.")
    if repair.intent:
        raise Refused(
            "This repair was interrupted while it was written, and its store cannot be read now: make it readable, then apply or undo the repair."
        )
    _decide(repair, operator, Repair.State.REJECTED, "reject")


def _decide(repair: Repair, operator: str, state: Repair.State, verb: str) -> None:
    with one_writer():
        changed = Repair.objects.filter(pk=repair.pk, state=repair.state).update(
            state=state,
            approved_by=operator,
            approved_at=timezone.now(),
            approved_digest=repair.plan_digest if state == Repair.State.APPROVED else "",
        )
        if not changed:
            raise Refused("Somebody else decided on this repair a moment ago; open it again.")
        audit.record(
            operator,
            verb,
            source_path=repair.conversation.source.path,
            conversation=repair.conversation.oid,
            repair=repair.oid,
            plan=repair.plan_digest,
        )
    repair.refresh_from_db()
