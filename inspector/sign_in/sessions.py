"""How long a person stays signed in, in which browsers, and the end of all of it at once. A new password and a disabled account end every session, too."""

import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from inspector.actions import audit
from inspector.models import OpenSession
from inspector.presentation.visible import visible
from inspector.sign_in.browsers import LONGEST
from inspector.sign_in.client_address import client_address

BEGUN, SEEN, BY = "begun", "seen", "by"
"""What a session itself says: seconds since 1970, and how its person signed in."""
MOST_SHOWN = 50
STEP = 300
"""Seconds after which a session is noted as seen again: not with each request, which would write."""


def begin(request: HttpRequest, user: User, by: str) -> None:
    """Once its person is in."""
    session = request.session
    session[BEGUN] = session[SEEN] = int(time.time())
    session[BY] = by
    if not session.session_key:
        session.create()
    _forget()
    _note(request, user, session[BEGUN], by)


def _forget() -> None:
    """Sessions that ended by themselves."""
    engine().clear_expired()
    OpenSession.objects.filter(seen_at__lt=timezone.now() - timedelta(seconds=_idle())).delete()


def engine() -> Any:
    return import_module(settings.SESSION_ENGINE).SessionStore


def _idle() -> int:
    return int(settings.INSPECTOR_SESSION_IDLE_HOURS * 3600)


def end_if_over(request: HttpRequest) -> None:
    """Where it is too old, or nobody used it for too long, nobody is signed in any more."""
    if not request.user.is_authenticated:
        return
    session: SessionBase = request.session
    now, begun, seen = int(time.time()), session.get(BEGUN, 0), session.get(SEEN, 0)
    if now - begun >= settings.INSPECTOR_SESSION_HOURS * 3600 or now - seen >= _idle():
        end(session.session_key)
        session.flush()
        request.user = AnonymousUser()
    elif now - seen >= STEP:
        session[SEEN] = now
        _note(request, request.user, session.get(BEGUN, now), session.get(BY, ""))


def _note(request: HttpRequest, user: Any, begun: int, by: str) -> None:
    begun_at = datetime.fromtimestamp(begun, UTC)
    values = {"user": user, "begun_at": begun_at, "seen_at": timezone.now(), "address": client_address(request), "by": by}
    values["agent"] = visible(request.headers.get("User-Agent", "")[:LONGEST])[:LONGEST]
    OpenSession.objects.update_or_create(key=request.session.session_key, defaults=values)


def end(key: str | None) -> None:
    OpenSession.objects.filter(key=key or "").delete()


def open_sessions(user: Any) -> list[OpenSession]:
    """Those that still let in: a password that was changed since ended the others."""
    rows = list(OpenSession.objects.filter(user=user)[:MOST_SHOWN])
    valid = user.get_session_auth_hash()
    stored = Session.objects.filter(session_key__in=[row.key for row in rows], expire_date__gt=timezone.now())
    keys = {row.session_key for row in stored if row.get_decoded().get(HASH_SESSION_KEY) == valid}
    oldest = timezone.now() - timedelta(seconds=_idle())
    return [row for row in rows if row.key in keys and row.seen_at > oldest]


def end_one(user: User, row: OpenSession) -> None:
    """As a line of the audit log says, which names the browser and not the key."""
    engine()(row.key).delete()
    row.delete()
    audit.record(user.get_username(), "sign out of one session", browser=row.browser, address=row.address)


def end_everywhere(user: User) -> int:
    """How many there were."""
    keys = list(OpenSession.objects.filter(user=user).values_list("key", flat=True))
    for key in keys:
        engine()(key).delete()
    OpenSession.objects.filter(user=user).delete()
    audit.record(user.get_username(), "sign out everywhere", sessions=len(keys))
    return len(keys)
