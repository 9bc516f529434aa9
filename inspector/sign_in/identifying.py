"""Who sends a request, where people sign in: a program with a token, a person whom a proxy names, or the person of a session."""

from django.http import HttpRequest

from inspector.access.grants import access_of
from inspector.access.roles import Access
from inspector.models import ApiToken
from inspector.sign_in import proxy_header, sessions, throttle, tokens
from inspector.sign_in.accounts import NotLetIn

NO_TOKEN = "This token opens nothing: it was mistyped, revoked or is over, or its account is disabled. Make a new one on the page Account."  # noqa: S105
NOT_FOR_TOKENS = "A token reads twins (.json, .md), downloads and /metrics, and this is none of them: sign in with a browser."


def identify(request: HttpRequest) -> None:
    """Sets `request.user`; with a token, whose person it is then, `request.api_token`. Raises NotLetIn."""
    request.api_token = None  # type: ignore[attr-defined]
    if proxy_header.is_on():
        proxy_header.refuse_from_elsewhere(request)
    if shown := tokens.shown_in(request):
        _by_token(request, shown)
    elif proxy_header.is_on():
        request.user = proxy_header.person_of(request)
    else:
        sessions.end_if_over(request)


def _by_token(request: HttpRequest, shown: str) -> None:
    token = tokens.token_of(shown)
    if token is None:
        wait = tokens.refuse(request)
        raise NotLetIn(throttle.sentence(wait) if wait else NO_TOKEN, 429 if wait else 401, wait)
    if not tokens.is_open_to_tokens(request.path):
        raise NotLetIn(NOT_FOR_TOKENS)
    tokens.note_use(token)
    request.user = token.user
    request.api_token = token  # type: ignore[attr-defined]
    # No browser sends this header by itself, so that no page of others can make it send one.
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]


def access_of_request(request: HttpRequest) -> Access:
    """What the person may, or less, where a token asks for them."""
    token: ApiToken | None = getattr(request, "api_token", None)
    return access_of(request.user) if token is None else tokens.access_of_token(token)
