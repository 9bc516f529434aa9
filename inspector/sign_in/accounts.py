"""The account of a person whom a provider or a proxy names, and the roles that follow from their groups there."""

import logging
import unicodedata
from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone

from inspector.access.context import everything
from inspector.access.grants import whom_to_ask
from inspector.actions import audit
from inspector.actions.problems import Refused
from inspector.models import Grant, Identity, SourceGroup
from inspector.models.transactions import one_writer
from inspector.presentation.visible import visible
from inspector.sign_in.mapping import roles_of

MOST_GROUPS = 2000
"""Of one person, that are looked at."""
LONGEST_NAME = 150
_log = logging.getLogger(__name__)


class NotLetIn(Exception):
    """Who asks is nobody who may. Its text is a sentence for them; `wait` the seconds until they may try again."""

    def __init__(self, sentence: str, status: int = 403, wait: int = 0) -> None:
        super().__init__(sentence)
        self.sentence, self.status, self.wait = sentence, status, wait


def is_name(name: str) -> bool:
    """Whether it can be the name of an account: none that looks like another one, and nothing that is not shown."""
    try:
        get_user_model()._meta.get_field("username").run_validators(name)
    except ValidationError:
        return False
    return 0 < len(name) <= LONGEST_NAME and unicodedata.normalize("NFKC", name) == name


def of_provider(issuer: str, subject: str, name: str, groups: Sequence[str]) -> User:
    """Whom the provider knows by `subject`, whatever they are called now. Raises NotLetIn."""
    with everything(), one_writer():
        identity = Identity.objects.select_related("user").filter(issuer=issuer, subject=subject).first()
        if identity is None:
            user = _new(name, groups, f" The provider knows you as {visible(subject)}.")
            bind(user.get_username(), user, issuer, subject)
        else:
            user = identity.user
        _let_in(user, groups)
    return user


def of_proxy(name: str, groups: Sequence[str]) -> User:
    """The account with the name that the proxy vouches for. Raises NotLetIn."""
    user = get_user_model()._default_manager.filter(username=name).first()
    if user is not None and user.is_active and not _changes(user, groups):
        return user
    with everything(), one_writer():
        user = get_user_model()._default_manager.filter(username=name).first() or _new(name, groups)
        _let_in(user, groups)
    return user


def bind(operator: str, user: User, issuer: str, subject: str) -> None:
    Identity.objects.create(user=user, issuer=issuer, subject=subject, bound_at=timezone.now())
    audit.record(operator, "connect user", user=user.get_username(), issuer=issuer, subject=subject)


def connect(operator: str, user: User, subject: str) -> None:
    """An account that there is with whom the provider knows by `subject`. Raises Refused."""
    issuer = settings.INSPECTOR_OIDC_ISSUER
    if not issuer:
        raise Refused("No provider is set: set INSPECTOR_OIDC_ISSUER first.")
    if not 0 < len(subject) <= 255:
        raise Refused("Name the id by which the provider knows the person, with --subject: who is refused at the sign-in is shown it.")
    with everything(), one_writer():
        other = Identity.objects.select_related("user").filter(issuer=issuer, subject=subject).first()
        if other is not None:
            raise Refused(f"{visible(subject)} signs in as {visible(other.user.get_username())} already.")
        bind(operator, user, issuer, subject)


def _let_in(user: User, groups: Sequence[str]) -> None:
    if not user.is_active:
        raise NotLetIn(f"Your account is disabled. Ask {whom_to_ask()} to enable it.")
    map_roles(user, groups)


def _new(name: str, groups: Sequence[str], who: str = "") -> User:
    if not is_name(name):
        raise NotLetIn(
            f"You have no name that can be one of an account here: letters, digits and @ . + - _ only. Ask {whom_to_ask()}.{who}"
        )
    users = get_user_model()
    if users._default_manager.filter(username__iexact=name).exists():
        raise NotLetIn(
            f"There is an account {visible(name)} already, and it does not sign in this way. Ask {whom_to_ask()} to connect it with `user connect`.{who}"
        )
    is_mapped = bool(roles_of(groups, settings.INSPECTOR_GROUP_ROLES))
    if settings.INSPECTOR_NEW_PEOPLE == "none" or (settings.INSPECTOR_NEW_PEOPLE == "mapped" and not is_mapped):
        raise NotLetIn(f"Inspector has no account for you. Ask {whom_to_ask()} for one.{who}")
    user = users(username=name)
    user.set_unusable_password()
    user.save()
    audit.record(name, "add user", user=name, by="sign-in")
    return user


def _wanted(groups: Sequence[str]) -> dict[str, str]:
    return roles_of(groups[:MOST_GROUPS], settings.INSPECTOR_GROUP_ROLES)


def _mapped(user: User) -> dict[str, Grant]:
    grants = Grant.objects.filter(user=user, is_mapped=True).select_related("group", "source", "user")
    return {grant.group.name if grant.group else "": grant for grant in grants}


def _changes(user: User, groups: Sequence[str]) -> bool:
    return {name: grant.role for name, grant in _mapped(user).items()} != _wanted(groups)


def map_roles(user: User, groups: Sequence[str]) -> None:
    """A group that was left takes its role along; what was given by hand stays."""
    wanted, had, name = _wanted(groups), _mapped(user), user.get_username()
    known = {group.name: group for group in SourceGroup.objects.filter(name__in=wanted)}
    for of, grant in had.items():
        if wanted.get(of) != grant.role:
            grant.delete()
            audit.record(name, "take role", user=name, role=grant.role, on=grant.on, by="sign-in")
    for of, role in wanted.items():
        if of and of not in known:
            _log.warning("INSPECTOR_GROUP_ROLES names a group of sources that there is not: %s", visible(of)[:60])
        elif of not in had or had[of].role != role:
            grant = Grant.objects.create(
                user=user, role=role, group=known.get(of), is_mapped=True, given_by="INSPECTOR_GROUP_ROLES", given_at=timezone.now()
            )
            audit.record(name, "give role", user=name, role=role, on=grant.on, by="sign-in")
