"""The token of local mode: who has the link that `serve` prints is the person who may read its file, and nobody else of this machine."""

import secrets
from http import HTTPStatus
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils.crypto import salted_hmac
from django.utils.encoding import escape_uri_path
from django.utils.http import escape_leading_slashes

from inspector.cache_headers import NOTHING
from inspector.environment import kept_secret
from inspector.installation import program
from inspector.presentation.json_text import json_text

PARAMETER = "token"
SCHEME = "Bearer "
DAYS = 30
"""After which a browser needs the link again."""
KEPT_NOWHERE = {"Cache-Control": NOTHING, "Referrer-Policy": "no-referrer"}
_SALT = "inspector.access_token"


def token() -> str:
    """The token of this data folder, made the first time. Raises ImproperlyConfigured where it cannot be kept, or others could read it."""
    return kept_secret(settings.VAR_DIR / "token")


def link(url: str) -> str:
    """The address `url` with the token, as a person opens it."""
    return f"{url}?{urlencode({PARAMETER: token()})}"


def bearer() -> dict[str, str]:
    """The header by which a program shows the token."""
    return {"Authorization": f"{SCHEME}{token()}"}


def refusal_or_redirect(request: HttpRequest) -> HttpResponse | None:
    """None for who may enter; a redirect with the cookie for who opened the link, to the address without the token; else 403 in one sentence."""
    try:
        expected = token()
    except ImproperlyConfigured:
        return _refused(request, "Inspector cannot read the file with its access token", HTTPStatus.SERVICE_UNAVAILABLE)
    may_enter = _has_cookie(request, expected) or _has_header(request, expected)
    if request.method in ("GET", "HEAD") and PARAMETER in request.GET:
        shown = _is_same(request.GET[PARAMETER], expected)
        if shown or may_enter:
            return _to_address_without_token(request, expected if shown else "")
    return None if may_enter else _refused(request, "This page is for the person who started Inspector", HTTPStatus.FORBIDDEN)


def _cookie_name(request: HttpRequest) -> str:
    # Browsers send the cookies of one port of localhost to all others.
    return f"inspector_token_{request.get_port()}"


def _cookie_value(expected: str) -> str:
    """Of another token another value: who makes a new token closes the pages to every browser."""
    return salted_hmac(_SALT, expected, algorithm="sha256").hexdigest()


def _has_cookie(request: HttpRequest, expected: str) -> bool:
    value = request.get_signed_cookie(_cookie_name(request), default="", salt=_SALT, max_age=DAYS * 86_400)
    return _is_same(value or "", _cookie_value(expected))


def _has_header(request: HttpRequest, expected: str) -> bool:
    header = request.headers.get("Authorization", "")
    return header.startswith(SCHEME) and _is_same(header.removeprefix(SCHEME), expected)


def _is_same(shown: str, expected: str) -> bool:
    return secrets.compare_digest(shown.encode("utf-8", "surrogatepass"), expected.encode())


def _to_address_without_token(request: HttpRequest, shown: str) -> HttpResponse:
    query = request.GET.copy()
    del query[PARAMETER]
    address = escape_leading_slashes(escape_uri_path(request.path)) + (f"?{query.urlencode()}" if query else "")
    response = HttpResponseRedirect(address, headers=KEPT_NOWHERE)
    if shown:
        # Lax and not Strict: a link in somebody's issue leads here with the cookie. What changes anything is a POST, which comes without it.
        response.set_signed_cookie(
            _cookie_name(request), _cookie_value(shown), salt=_SALT, max_age=DAYS * 86_400, httponly=True, samesite="Lax"
        )
    return response


def _refused(request: HttpRequest, what: str, status: HTTPStatus) -> HttpResponse:
    command = f"{program()} serve --url --port {request.get_port()}"
    sentence = f"{what}: run `{command}` on this machine, and open the link that it prints."
    if request.path.endswith(".json"):
        response = HttpResponse(json_text({"error": sentence}), status=status, content_type="application/json")
    elif request.path.endswith(".md"):
        response = HttpResponse(sentence + "\n", status=status, content_type="text/plain; charset=utf-8")
    else:
        response = HttpResponse(render_to_string("no_token.html", {"what": what, "command": command}), status=status)
    # htmx shows nothing of a refusal: with this header it loads the page again, which does.
    for name, value in {**KEPT_NOWHERE, "HX-Refresh": "true"}.items():
        response[name] = value
    return response
