"""One's own account: API tokens, and the browsers in which one is signed in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from inspector.access.context import current
from inspector.access.roles import ROLES
from inspector.actions.problems import Refused
from inspector.cache_headers import exact
from inspector.masked_answers import own_content
from inspector.middleware import OperatorRequest, accepts
from inspector.models import ApiToken, OpenSession, Source, SourceGroup
from inspector.presentation.typed import NOTHING, Typed, refused
from inspector.presentation.visible import clipped, visible
from inspector.sign_in import proxy_header, sessions, tokens
from inspector.views.pages import as_json, page, refusal

SOURCES_SHOWN = 500
NAME_SHOWN = 80
"""Characters of the name of a source in a select."""
NO_ACCOUNT = "In local mode there are no accounts: a program sends the token of this machine, which the command serve --json prints."


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """`token` is a new one, shown now only; `by_proxy` where sessions are those of a proxy."""

    user: Any
    tokens: tuple[ApiToken, ...]
    sessions: tuple[OpenSession, ...]
    key: str
    role_choices: tuple[tuple[str, str], ...]
    places: tuple[tuple[str, str], ...]
    """What a token may be for, for a select."""
    days: int
    most_days: int
    by_proxy: bool
    has_password: bool
    now: Any
    token: str = ""
    typed: Typed = NOTHING


def _groups(request: OperatorRequest) -> QuerySet[SourceGroup]:
    access = current()
    all_of_them = access is not None and access.may("users")
    return SourceGroup.objects.all() if all_of_them else SourceGroup.objects.filter(grants__user=request.user.pk).distinct()


def _places(request: OperatorRequest) -> Iterator[tuple[str, str]]:
    yield "all", "all my sources"
    yield from ((f"group:{group.pk}", f"the group {visible(group.name)}") for group in _groups(request)[:SOURCES_SHOWN])
    sources = Source.objects.filter(is_trace=False).order_by("path")[:SOURCES_SHOWN]
    yield from ((f"source:{source.oid}", clipped(source.name, NAME_SHOWN)[0]) for source in sources)


def _of(request: OperatorRequest, token: str = "", typed: Typed = NOTHING) -> AccountPage:
    access, user = current(), request.user
    highest = max((one.role for one in access.roles), default=None) if access else None
    return AccountPage(
        user=request.user,
        tokens=tuple(ApiToken.objects.filter(user=request.user.pk).select_related("source", "group")),
        sessions=tuple(sessions.open_sessions(request.user)),
        key=request.session.session_key or "",
        role_choices=tuple((word, word) for word, role in ROLES.items() if highest is not None and role <= highest),
        places=tuple(_places(request)),
        days=tokens.DAYS,
        most_days=tokens.MOST_DAYS,
        by_proxy=proxy_header.is_on(),
        has_password=user.is_authenticated and user.has_usable_password() and settings.INSPECTOR_PASSWORDS and not proxy_header.is_on(),
        now=timezone.now(),
        token=token,
        typed=typed,
    )


def account(request: OperatorRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return page(request, "account_local.html", None)
    return page(request, "account.html", _of(request), twins=("json",))


def account_json(request: OperatorRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return as_json({"error": NO_ACCOUNT}, status=404)
    content = _of(request)
    return as_json(
        {
            "name": content.user.get_username(),
            "tokens": [
                {"id": row.pk, "name": row.name, "begins": row.shown, "role": row.role, "on": row.on}
                | {"created_at": row.created_at, "expires_at": row.expires_at, "used_at": row.used_at}
                for row in content.tokens
            ],
            "sessions": [
                {"id": row.pk, "browser": row.browser, "user_agent": row.agent, "address": row.address, "by": row.by}
                | {"begun_at": row.begun_at, "seen_at": row.seen_at, "is_this": row.key == content.key}
                for row in content.sessions
            ],
        }
    )


@accepts("POST")
def add_token(request: OperatorRequest) -> HttpResponse:
    """Shows it, once."""
    if not request.user.is_authenticated:
        return refusal(request, NO_ACCOUNT, status=404)
    form = request.POST
    try:
        days = form.get("days", "")
        _, token = tokens.make(
            request.operator, request.user, form.get("name", ""), form.get("role", ""),
            int(days) if days.isascii() and days.isdecimal() and len(days) < 5 else 0, **_on(request, form.get("on", "")),
        )  # fmt: skip
    except Refused as problem:
        typed = refused("token", form.dict(), problem)
        return page(request, "account.html", _of(request, typed=typed), twins=("json",), status=409)
    return exact(own_content(page(request, "account.html", _of(request, token))))


def _on(request: OperatorRequest, text: str) -> dict[str, Any]:
    """Raises Refused."""
    kind, _, name = text.partition(":")
    if kind in ("", "all"):
        return {}
    on: Any = None
    if kind == "source":
        on = Source.objects.filter(oid=name).first()
    elif kind == "group":
        on = next((group for group in _groups(request) if str(group.pk) == name), None)
    if on is None:
        raise Refused("Choose what the token is for: all your sources, a group, or one source.", "on")
    return {kind: on}


@accepts("POST")
def revoke_token(request: OperatorRequest, pk: int) -> HttpResponse:
    if not request.user.is_authenticated:
        return refusal(request, NO_ACCOUNT, status=404)
    token = get_object_or_404(ApiToken.objects.select_related("user", "source", "group"), pk=pk, user=request.user.pk)
    tokens.revoke(request.operator, token)
    messages.success(request, visible(f"The token {token.name} opens nothing any more."))
    return redirect("account")


@accepts("POST")
def end_session(request: OperatorRequest, pk: int) -> HttpResponse:
    """One of one's own: who ends that of this browser is signed out here."""
    if not request.user.is_authenticated:
        return refusal(request, NO_ACCOUNT, status=404)
    row = OpenSession.objects.filter(pk=pk, user=request.user.pk).first()
    if row is None:
        messages.error(request, "This session has ended already.")
        return redirect("account")
    is_this = row.key == request.session.session_key
    sessions.end_one(request.user, row)
    if is_this:
        request.session.flush()
        return redirect(f"{reverse('login')}?signed=out")
    messages.success(request, visible(f"{row.browser} at {row.address or 'an unknown address'} is signed out."))
    return redirect("account")


@accepts("POST")
def end_sessions(request: OperatorRequest) -> HttpResponse:
    """Everywhere, here too."""
    if not request.user.is_authenticated:
        return refusal(request, NO_ACCOUNT, status=404)
    sessions.end_everywhere(request.user)
    logout(request)
    return redirect(f"{reverse('login')}?signed=out")
