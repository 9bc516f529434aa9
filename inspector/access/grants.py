"""What the grants in our database come to, for one person; and who may give more."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q

from inspector.access.context import everything
from inspector.access.roles import ROLES, Access, Role, RoleOn
from inspector.models import Grant, Source
from inspector.presentation.visible import visible

NAMED = 5
AN_ADMIN = "an administrator"


def access_of(user: AbstractBaseUser | AnonymousUser) -> Access:
    """Of nobody and of a disabled account nothing. One query; a second where it is not on all sources."""
    if not user.is_authenticated or not user.is_active:
        return Access("")
    name = str(user.get_username())
    if getattr(user, "is_superuser", False):
        return Access(name, (RoleOn(Role.ADMIN, None),))
    rows = Grant.objects.filter(user=user.pk).order_by("pk")
    return access_from(name, rows.values_list("pk", "role", "is_masked", "source", "group", "group__sources"))


def access_from(name: str, rows: Iterable[tuple[Any, ...]]) -> Access:
    """Each row is (grant, role, is_masked, source, group, source of the group); a group has as many rows as it has sources."""
    of_grant: dict[int, tuple[Role, bool, set[int] | None]] = {}
    for pk, role, is_masked, source, group, of_group in rows:
        _, _, sources = of_grant.setdefault(pk, (ROLES[role], is_masked, None if source is None and group is None else set()))
        if sources is not None:
            sources.update(one for one in (source, of_group) if one is not None)
    roles = tuple(RoleOn(role, None if sources is None else frozenset(sources), masked) for role, masked, sources in of_grant.values())
    access = Access(name, roles)
    seen = access.sources
    if not seen:
        return access
    # A trace is seen with any store that it belongs to.
    with everything():
        traces = frozenset(Source.traces.through._base_manager.filter(from_source__in=seen).values_list("to_source", flat=True))
    return Access(name, (*roles, RoleOn(Role.VIEWER, traces))) if traces - seen else access


def access_named(name: str) -> Access:
    """Of the account with this name; of none, nothing."""
    user = get_user_model()._default_manager.filter(username=name).first()
    return Access(name) if user is None else access_of(user)


def admins_of(source: int | None) -> list[str]:
    """Names of those who can give a role on a source; of none, on all."""
    on_it = Q(source=None, group=None) if source is None else Q(source=None, group=None) | Q(source=source) | Q(group__sources=source)
    of_grants = Grant.objects.filter(on_it, role=Role.ADMIN.word, user__is_active=True).values("user")
    users = get_user_model()._default_manager.filter(Q(is_superuser=True, is_active=True) | Q(pk__in=of_grants))
    return list(users.order_by("username").values_list("username", flat=True))


def whom_to_ask(source: int | None = None) -> str:
    names = [visible(name) for name in admins_of(source)]
    if not names:
        return AN_ADMIN
    named = names[:NAMED] + ([AN_ADMIN] if len(names) > NAMED else [])
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"


def active_admins() -> Iterator[int]:
    """Accounts that are admin of all: one of them has to stay."""
    users = get_user_model()._default_manager.filter(is_active=True)
    everywhere = Grant.objects.filter(source=None, group=None, role=Role.ADMIN.word).values("user")
    yield from users.filter(Q(is_superuser=True) | Q(pk__in=everywhere)).values_list("pk", flat=True)
