"""API tokens: a program shows one in place of a person, for twins, downloads and metrics, and may at most what its person may."""

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from inspector.access.context import everything
from inspector.access.grants import access_of
from inspector.access.roles import ROLES, Access, narrowed
from inspector.actions import audit
from inspector.actions.problems import Refused
from inspector.models import ApiToken, Source, SourceGroup
from inspector.models.transactions import one_writer
from inspector.presentation.visible import visible
from inspector.sign_in import throttle
from inspector.sign_in.client_address import client_address, network_of

PREFIX = "insp_"
"""By which a person, and whatever looks for secrets in texts, recognizes one."""
SCHEME = "Bearer "
DAYS, MOST_DAYS = 90, 366
MOST = 50
"""Of one person."""
LONGEST_NAME = 60
STEP = timedelta(minutes=5)
"""Uses that are closer together than this are noted as one."""
_TWIN = re.compile(r"/metrics|/[^?]*\.(?:json|md|html|zip|jsonl|csv)")
_CLOSED = ("/login", "/logout", "/account", "/password", "/users", "/welcome")
"""How people get in, and who may what: no program changes or reads that."""


def shown_in(request: HttpRequest) -> str:
    """What is shown in place of a person; "" where it is no token of ours."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return value.strip() if scheme.lower() == SCHEME.strip().lower() and value.strip().startswith(PREFIX) else ""


def is_open_to_tokens(path: str) -> bool:
    """Twins and downloads: what ends like a file."""
    return _TWIN.fullmatch(path) is not None and not path.startswith(_CLOSED)


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def token_of(shown: str) -> ApiToken | None:
    """The token, where it is one, of an account that may sign in, and not over yet."""
    row = ApiToken.objects.select_related("user", "source", "group").filter(digest=digest_of(shown)).first()
    if row is None or not row.user.is_active or row.expires_at <= timezone.now():
        return None
    return row


def note_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.used_at is None or now - token.used_at >= STEP:
        ApiToken.objects.filter(pk=token.pk).update(used_at=now)


def refuse(request: HttpRequest) -> int:
    """Counts a token that is none, by the address it came from. The seconds to wait, 0 as long as there are few. A token that is one is never refused for those."""
    address = client_address(request)
    digest = salted_hmac("inspector.sign_in.token", network_of(address), algorithm="sha256").hexdigest()
    attempt = throttle.begin("", address, {"token": digest})
    throttle.failed(attempt)
    return attempt.wait


def access_of_token(token: ApiToken) -> Access:
    """The lower of both: what its person may, and what it was made for. Secrets stay masked."""
    access = access_of(token.user)
    return narrowed(access, ROLES[token.role], _scope(token))


def _scope(token: ApiToken) -> frozenset[int] | None:
    with everything():
        if token.source_id is not None:
            stores = {token.source_id}
        elif token.group is not None:
            stores = set(token.group.sources.values_list("pk", flat=True))
        else:
            return None
        traces = Source.traces.through._base_manager.filter(from_source__in=stores).values_list("to_source", flat=True)
        return frozenset(stores | set(traces))


def make(
    operator: str, user: User, name: str, role: str, days: int = DAYS, source: Source | None = None, group: SourceGroup | None = None
) -> tuple[ApiToken, str]:
    """The row, and the token itself, which nothing keeps. Raises Refused."""
    name = visible(" ".join(name.split()))
    if not name or len(name) > LONGEST_NAME:
        raise Refused(f"Give the token a name of at most {LONGEST_NAME} characters, such as what will use it.", "name")
    if not 1 <= days <= MOST_DAYS:
        raise Refused(f"A token holds for 1 to {MOST_DAYS} days.", "days")
    if not user.is_active:
        raise Refused(f"The account {visible(user.username)} is disabled: its tokens would open nothing.")
    with everything(), one_writer():
        access = access_of(user)
        own = max((one.role for one in access.roles), default=None)
        if role not in ROLES or own is None or ROLES[role] > own:
            raise Refused(
                f"A token may at most what its person may: choose {'no more than ' + own.word if own else 'it when there is a role'}.",
                "role",
            )
        if source is not None and not access.sees(source.pk):
            raise Refused("There is no such source: choose one of those that you see.", "on")
        if ApiToken.objects.filter(user=user).count() >= MOST:
            raise Refused(f"There are {MOST} tokens already: revoke one that is not used.")
        token = f"{PREFIX}{secrets.token_urlsafe(32)}"
        now = timezone.now()
        row = ApiToken.objects.create(
            user=user, name=name, digest=digest_of(token), shown=token[:10], role=role, source=source, group=group,
            created_at=now, expires_at=now + timedelta(days=days),
        )  # fmt: skip
        audit.record(
            operator, "add token", source_path=source.path if source else "", **_described(row), until=row.expires_at.date().isoformat()
        )
    return row, token


def revoke(operator: str, token: ApiToken) -> None:
    with everything(), one_writer():
        token.delete()
        audit.record(operator, "revoke token", source_path=token.source.path if token.source else "", **_described(token))


def _described(token: ApiToken) -> dict[str, Any]:
    return {"user": token.user.get_username(), "token": token.name, "begins": token.shown, "role": token.role, "on": token.on}


def is_over(token: ApiToken, now: datetime | None = None) -> bool:
    return token.expires_at <= (now or timezone.now())
