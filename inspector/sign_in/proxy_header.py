"""Where a proxy signs people in: the name that it sends in a header, and nobody else's word."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from inspector.actions import audit
from inspector.sign_in import accounts
from inspector.sign_in.accounts import NotLetIn
from inspector.sign_in.client_address import client_of, comes_from_proxy

NOT_FROM_PROXY = "Inspector answers only its own proxy here, and this request came from elsewhere: open the address that the proxy serves."
NOBODY = "The proxy named nobody, so nobody is signed in: sign in there, or let it send the name as the guide on signing in shows."
NO_NAME = "The name that the proxy sent can be none of an account: it has to be sent once, of letters, digits and @ . + - _ only."
AGAIN = timedelta(hours=12)
"""After which a request is a sign-in of its own in the audit log: there is no session."""


def is_on() -> bool:
    return bool(settings.INSPECTOR_PROXY_USER_HEADER)


def refuse_from_elsewhere(request: HttpRequest) -> None:
    """Raises NotLetIn."""
    if not comes_from_proxy(request):
        raise NotLetIn(NOT_FROM_PROXY)


def person_of(request: HttpRequest) -> User:
    """Raises NotLetIn."""
    name = _value(request, settings.INSPECTOR_PROXY_USER_HEADER)
    if not name:
        raise NotLetIn(NOBODY)
    if not accounts.is_name(name):
        raise NotLetIn(NO_NAME)
    user = accounts.of_proxy(name, groups_of(request))
    now = timezone.now()
    if user.last_login is None or now - user.last_login > AGAIN:
        audit.record(name, "sign in", by="proxy", **client_of(request))
        user.last_login = now
        user.save(update_fields=["last_login"])
    return user


def groups_of(request: HttpRequest) -> list[str]:
    header = settings.INSPECTOR_PROXY_GROUPS_HEADER
    return [part.strip() for part in _value(request, header).split(",") if part.strip()] if header else []


def _value(request: HttpRequest, header: str) -> str:
    """As UTF-8, which WSGI hands over as if each byte were a character; "" for what is none."""
    try:
        return str(request.headers.get(header, "")).encode("latin-1").decode()
    except UnicodeError:
        return "\0"
