"""Who signed in and out, as lines of the audit log. Those that fail are counted where they are made, and recorded where they lock something."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.http import HttpRequest

from inspector.actions import audit
from inspector.sign_in import sessions
from inspector.sign_in.client_address import client_of

PASSWORD = "password"  # noqa: S105


def record_sign_ins() -> None:
    """Once, when Django is ready."""
    user_logged_in.connect(_signed_in)
    user_logged_out.connect(_signed_out)


def _signed_in(user: Any, request: HttpRequest, **_: Any) -> None:
    by = getattr(request, "signed_in_by", PASSWORD)
    audit.record(user.get_username(), "sign in", by=by, **client_of(request))
    sessions.begin(request, user, by)


def _signed_out(user: AbstractBaseUser | None, request: HttpRequest, **_: Any) -> None:
    # None: the session of somebody who was signed out already.
    if user is not None:
        sessions.end(request.session.session_key)
        audit.record(user.get_username(), "sign out")
