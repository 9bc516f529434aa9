"""Who signed in, out, and in vain, as lines of the audit log."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed

from inspector.actions import audit

NAME = 150
"""Characters of a user name that is kept of a sign-in that failed: as many as Django's own may have."""


def record_sign_ins() -> None:
    """Once, when Django is ready."""
    user_logged_in.connect(_signed_in)
    user_logged_out.connect(_signed_out)
    user_login_failed.connect(_failed)


def _signed_in(user: AbstractBaseUser, **_: Any) -> None:
    audit.record(user.get_username(), "sign in")


def _signed_out(user: AbstractBaseUser | None, **_: Any) -> None:
    # None: the session of somebody who was signed out already.
    if user is not None:
        audit.record(user.get_username(), "sign out")


def _failed(credentials: dict[str, Any], **_: Any) -> None:
    # Who typed it is not known: the name is what was typed.
    audit.record("", "sign in failed", name=str(credentials.get("username", ""))[:NAME])
