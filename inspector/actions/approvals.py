"""Whether an approval holds: it expires, and it ends with the role of who gave it."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from inspector.access.grants import access_of
from inspector.access.roles import ACTIONS, ROLES
from inspector.actions.audit import LAPSE
from inspector.actions.problems import Refused
from inspector.actions.recording import audit_repair
from inspector.models import AuditEntry, Grant, Repair, Source
from inspector.models.transactions import one_writer
from inspector.presentation.visible import visible

BY_COMMAND = "not-asked"
"""What is stated on an approval by a command, whose person needs no account here: who types commands can write the store without them."""


def why_not_approver(name: str, source: Source) -> str:
    """Why who has this name may not approve repairs of this source on the pages; "" where they may. In local mode nobody has an account."""
    if settings.INSPECTOR_LOCAL:
        return ""
    user = get_user_model().objects.filter(username=name).first()
    shown, group = visible(name), settings.INSPECTOR_APPROVERS
    if user is None:
        return f"there is no account {shown}"
    if not user.is_active:
        return f"the account {shown} is disabled"
    if group and not user.is_superuser and not user.groups.filter(name=group).exists():
        return f"{shown} is not in the group {group}, which may approve (INSPECTOR_APPROVERS)"
    access = access_of(user)
    if not access.may("approve", source.pk):
        role = access.role_on(source.pk)
        has = f"has the role of {role.article} {role.word}" if role else "has no role"
        return f"{shown} {has} on {visible(source.name)}, and to approve takes an approver"
    return ""


def approvers_of(source: Source) -> QuerySet[User]:
    """Active accounts that may approve repairs of this source."""
    roles = [word for word, role in ROLES.items() if role >= ACTIONS["approve"].least]
    on_it = Q(source=None, group=None) | Q(source=source) | Q(group__sources=source)
    may = Q(is_superuser=True) | Q(pk__in=Grant.objects.filter(on_it, role__in=roles).values("user"))
    if settings.INSPECTOR_APPROVERS:
        may &= Q(is_superuser=True) | Q(groups__name=settings.INSPECTOR_APPROVERS)
    return User.objects.filter(may, is_active=True).distinct().order_by("username")


def expires_at(repair: Repair) -> datetime | None:
    """None where it never does, or where nothing is approved."""
    days: int = settings.INSPECTOR_APPROVAL_EXPIRES
    if not days or repair.state != Repair.State.APPROVED or repair.approved_at is None:
        return None
    return repair.approved_at + timedelta(days=days)


def why_lapsed(repair: Repair) -> str:
    """Why the approval of an approved repair does not hold any more, in one sentence with the way on; "" where it holds."""
    if repair.state != Repair.State.APPROVED:
        return ""
    who = visible(repair.approved_by)
    end, days = expires_at(repair), settings.INSPECTOR_APPROVAL_EXPIRES
    if end is not None and end <= timezone.now():
        why = f"it was given on {repair.approved_at:%Y-%m-%d %H:%M} UTC, and one holds for {days} day{'s' if days != 1 else ''} (INSPECTOR_APPROVAL_EXPIRES)"
        return f"The approval by {who} expired: {why}. Read the plan again, and approve it again."
    if settings.INSPECTOR_REQUIRE_SECOND_APPROVER and repair.approved_by == repair.proposed_by:
        why = "who proposed the repair gave it, and a second person must (INSPECTOR_REQUIRE_SECOND_APPROVER)"
    elif _is_by_command(repair):
        return ""
    else:
        why = why_not_approver(repair.approved_by, repair.conversation.source)
    return f"The approval by {who} does not hold any more: {why}. Somebody who may approve has to approve it again." if why else ""


def refuse_lapsed(repair: Repair, operator: str) -> None:
    """Before a write. Raises Refused; the repair is then proposed again, and waits for another approval."""
    sentence = why_lapsed(repair)
    if not sentence:
        return
    with one_writer():
        values = {"approved_by": "", "approved_at": None, "approved_digest": "", "outcome": sentence}
        changed = Repair.objects.filter(pk=repair.pk, state=Repair.State.APPROVED).update(state=Repair.State.PROPOSED, **values)
        if changed:
            audit_repair(repair, operator, LAPSE, outcome=sentence)
    repair.refresh_from_db()
    raise Refused(f"{sentence} Nothing was written.")


def _is_by_command(repair: Repair) -> bool:
    entry = AuditEntry.objects.filter(repair=repair.oid, verb="approve").order_by("-id").first()
    return entry is not None and entry.detail.get("statement") == BY_COMMAND
