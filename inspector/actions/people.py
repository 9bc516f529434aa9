"""Users, what they may do with which sources, and groups of sources. Each act is a line of the audit log."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils import timezone

from inspector.access.context import NotPermitted, current, everything
from inspector.access.grants import active_admins
from inspector.access.permits import permit, permit_now, why_not
from inspector.access.roles import ACTIONS, ROLES, Role
from inspector.actions import audit
from inspector.actions.problems import Refused
from inspector.actions.welcome import link_of
from inspector.models import Grant, Source, SourceGroup
from inspector.models.transactions import one_writer
from inspector.presentation.visible import visible
from inspector.sources.places import place, real
from inspector.sources.problems import SourceProblem

LONGEST_NAME = 150
GROUP_NAME = 60
LAST_ADMIN = "Nobody would be left who may look after users: first give somebody else the role of an admin on all sources."


@contextmanager
def _one_act(action: str, about: Any = None) -> Iterator[None]:
    """Refused, or done whole and recorded. Raises NotPermitted, Refused."""
    permit(action, about)
    access = current()
    with everything(), one_writer():
        if access is not None:
            permit_now(access.name, action, about)
        had_admin = any(True for _ in active_admins())
        yield
        if had_admin and not any(True for _ in active_admins()):
            raise Refused(LAST_ADMIN)


def add_user(operator: str, name: str, password: str = "") -> User:
    """Without a password nobody can sign in yet: a link sets one. Raises Refused."""
    permit("users")
    name = name.strip()
    users = get_user_model()
    try:
        users._meta.get_field("username").run_validators(name)
    except ValidationError:
        name = ""
    if not name or len(name) > LONGEST_NAME:
        raise Refused(f"This is no user name: write 1 to {LONGEST_NAME} letters, digits and @ . + - _ only.", "name")
    with _one_act("users"):
        if users._default_manager.filter(username__iexact=name).exists():
            raise Refused(f"There is an account {visible(name)} already: give it a role, or choose another name.", "name")
        user: Any = users(username=name)
        if password:
            _refuse_weak(password, user)
            user.set_password(password)
        else:
            user.set_unusable_password()
        user.save()
        audit.record(operator, "add user", user=name)
    return user  # type: ignore[no-any-return]


def _refuse_weak(password: str, user: Any) -> None:
    try:
        validate_password(password, user)
    except ValidationError as problem:
        raise Refused(f"This password cannot be taken. {' '.join(problem.messages)}", "password") from None


def why_no_password(user: User) -> str:
    """Why the person of this request sets no password of the account: with it they would be the account, and see what it sees. "" where they may."""
    if why := why_not("users"):
        return why
    why = why_not("reveal")
    return f"Whoever may not see secrets sets no password of an account that may. {why}" if why and _may_reveal(user) else ""


def _may_reveal(user: User) -> bool:
    """On any source; a disabled account too, since it can be enabled."""
    return user.is_superuser or _reveals(Grant.objects.filter(user=user))


def _reveals(grants: QuerySet[Grant]) -> bool:
    roles = [word for word, role in ROLES.items() if role >= ACTIONS["reveal"].least]
    return grants.filter(is_masked=False, role__in=roles).exists()


def new_password_link(operator: str, user: User, base: str) -> str:
    """As `link_of`. Raises NotPermitted."""
    if why := why_no_password(user):
        raise NotPermitted(why)
    with _one_act("users"):
        audit.record(operator, "make password link", user=user.username)
    return link_of(user, base)


def set_password(operator: str, user: User, password: str) -> None:
    """Raises NotPermitted, Refused."""
    if why := why_no_password(user):
        raise NotPermitted(why)
    with _one_act("users"):
        _refuse_weak(password, user)
        user.set_password(password)
        user.save(update_fields=["password"])
        audit.record(operator, "set password", user=user.username)


def set_active(operator: str, user: User, on: bool) -> None:
    """A disabled account cannot sign in, and its sessions end with the next request. Raises Refused."""
    with _one_act("users"):
        if user.is_active == on:
            return
        user.is_active = on
        user.save(update_fields=["is_active"])
        audit.record(operator, "enable user" if on else "disable user", user=user.username)


def role_named(name: str) -> str:
    """Raises Refused."""
    if name not in ROLES:
        raise Refused(f"There is no role {visible(name)[:40]}: choose one of {', '.join(ROLES)}.", "role")
    return name


def source_named(name: str) -> Source:
    """The imported source of this id or path. Raises Refused."""
    rows = Source.objects.filter(oid=name) if len(name) == 12 else Source.objects.none()
    try:
        row = rows.first() or Source.objects.filter(oid=Source.oid_of(visible(real(place(name))))).first()
    except SourceProblem:
        row = None
    if row is None:
        raise Refused(
            f"No source {visible(name)[:200]} is imported: import it first, or write its path or id as the page of sources has it."
        )
    return row


def group_named(name: str) -> SourceGroup:
    """Raises Refused."""
    row = SourceGroup.objects.filter(name=name).first()
    if row is None:
        raise Refused(f"There is no group of sources {visible(name)[:GROUP_NAME]}: make it on the page of people first.")
    return row


def give(
    operator: str, user: User, role: str, source: Source | None = None, group: SourceGroup | None = None, is_masked: bool = False
) -> Grant:
    """In place of what the account had on the same. On a source its admin may; on a group or on all an admin of all. Raises NotPermitted, Refused."""
    if not is_masked and ROLES.get(role, Role.VIEWER) >= ACTIONS["reveal"].least and (why := why_not("reveal", source)):
        # Else they would give it to themselves.
        raise NotPermitted(f"Whoever may not see secrets gives no role that may: tick that secrets stay masked. {why}")
    with _one_act("users" if source is None else "grant", source):
        values = {"role": role_named(role), "is_masked": is_masked, "given_by": visible(operator), "given_at": timezone.now()}
        grant, _ = Grant.objects.update_or_create(user=user, source=source, group=group, is_mapped=False, defaults=values)
        masked = {"secrets": "masked"} if is_masked else {}
        audit.record(operator, "give role", source_path=source.path if source else "", user=user.username, role=role, on=grant.on, **masked)
    return grant


def take(operator: str, grant: Grant) -> None:
    """Raises NotPermitted, Refused."""
    source = grant.source
    with _one_act("users" if source is None else "grant", source):
        grant.delete()
        path = source.path if source else ""
        audit.record(operator, "take role", source_path=path, user=grant.user.username, role=grant.role, on=grant.on)


def add_group(operator: str, name: str) -> SourceGroup:
    name = visible(" ".join(name.split()))
    if not name or len(name) > GROUP_NAME:
        raise Refused(f"Give the group a name of at most {GROUP_NAME} characters.", "name")
    with _one_act("users"):
        group, is_new = SourceGroup.objects.get_or_create(name=name)
        if not is_new:
            raise Refused(f"There is a group {name} already: put the sources into it, or choose another name.", "name")
        audit.record(operator, "add source group", group=name)
    return group


def remove_group(operator: str, group: SourceGroup) -> None:
    """With the roles that were given on it."""
    with _one_act("users"):
        name, roles, sources = group.name, group.grants.count(), group.sources.count()
        group.delete()
        audit.record(operator, "remove source group", group=name, roles=roles, sources=sources)


def put_into_group(operator: str, group: SourceGroup, source: Source, is_in: bool) -> None:
    """Into it, or out of it. Raises NotPermitted, Refused."""
    if is_in and (why := why_not("reveal", source)) and _reveals(group.grants.all()):
        # Else they would give it to whoever has a role on the group.
        raise NotPermitted(f"Whoever may not see secrets puts no source into a group on which somebody may. {why}")
    with _one_act("users"):
        group.sources.add(source) if is_in else group.sources.remove(source)
        verb = "put source into group" if is_in else "take source out of group"
        audit.record(operator, verb, source_path=source.path, group=group.name)
