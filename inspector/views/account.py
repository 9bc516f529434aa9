"""One's own account: API tokens, and the browsers in which one is signed in."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from inspector.access.context import current
from inspector.access.roles import ROLES
from inspector.actions.problems import Refused
from inspector.cache_headers import exact
from inspector.masked_answers import own_content
from inspector.middleware import OperatorRequest, accepts
from inspector.models import ApiToken, OpenSession, Source, SourceGroup
from inspector.presentation.visible import visible
from inspector.sign_in import proxy_header, sessions, tokens
from inspector.views.pages import as_json, page, refusal

SOURCES_SHOWN = 500
NO_ACCOUNT = "In local mode nobody signs in, so there is no account: programs show the token of this machine, which `serve --json` prints."


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """`token` is a new one, shown now only; `by_proxy` where sessions are those of a proxy."""

    user: Any
    tokens: tuple[ApiToken, ...]
    sessions: tuple[OpenSession, ...]
    key: str
    roles: tuple[str, ...]
    sources: tuple[Source, ...]
    groups: tuple[SourceGroup, ...]
    days: int
    most_days: int
    by_proxy: bool
    now: Any
    token: str = ""


def _of(request: OperatorRequest, token: str = "") -> AccountPage:
    access = current()
    highest = max((one.role for one in access.roles), default=None) if access else None
    groups = (
        SourceGroup.objects.all() if access and access.may("users") else SourceGroup.objects.filter(grants__user=request.user.pk).distinct()
    )
    return AccountPage(
        user=request.user,
        tokens=tuple(ApiToken.objects.filter(user=request.user.pk).select_related("source", "group")),
        sessions=tuple(sessions.open_sessions(request.user)),
        key=request.session.session_key or "",
        roles=tuple(word for word, role in ROLES.items() if highest is not None and role <= highest),
        sources=tuple(Source.objects.filter(is_trace=False).order_by("path")[:SOURCES_SHOWN]),
        groups=tuple(groups[:SOURCES_SHOWN]),
        days=tokens.DAYS,
        most_days=tokens.MOST_DAYS,
        by_proxy=proxy_header.is_on(),
        now=timezone.now(),
        token=token,
    )


def account(request: OperatorRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return refusal(request, NO_ACCOUNT, status=404)
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
                {"begun_at": row.begun_at, "seen_at": row.seen_at, "address": row.address, "by": row.by, "is_this": row.key == content.key}
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
        messages.error(request, visible(str(problem)))
        return redirect("account")
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
        on = next((group for group in _of(request).groups if str(group.pk) == name), None)
    if on is None:
        raise Refused("Choose what the token is for: all your sources, a group, or one source.")
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
def end_sessions(request: OperatorRequest) -> HttpResponse:
    """Everywhere, here too."""
    if not request.user.is_authenticated:
        return refusal(request, NO_ACCOUNT, status=404)
    sessions.end_everywhere(request.user)
    logout(request)
    return redirect("login")
