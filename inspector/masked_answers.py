"""The one place where what is stored becomes what is shown on pages: every answer is masked here, unless it reveals.

To reveal is a POST of the field `reveal` to the address of the page, download or twin itself: it answers once, exactly, and the audit log keeps who asked
for what. It needs the role of a proposer on the source; in local mode the operator may.
"""

import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase

from inspector.actions import audit
from inspector.cache_headers import exact
from inspector.kept_answers import keep
from inspector.models import Conversation
from inspector.presentation.masked_html import masked_html
from inspector.presentation.masked_json import masked_bytes
from inspector.presentation.masking import masked, revealing, start_revealing
from inspector.views.pages import forbidden, may_reveal, why_not_reveal

FIELD = "reveal"
SHARED = "/share/"
"""Of links without a login, which say themselves whether they are masked."""
HEADER = "Inspector-Masked"
"""Says of a download that it is not the stored bytes."""
_NEVER = ("application/zip",)
"""A bundle is masked, or not, by what seals it, and its manifest says so."""
_LINES = 1 << 16
"""Characters of a stream of lines that are looked at together."""


def own_content(response: HttpResponse) -> HttpResponse:
    """Marks an answer that contains nothing but what its request brought: a repaired body goes back to who sent it, to be sent."""
    response.is_own_content = True  # type: ignore[attr-defined]
    return response


def asks_to_reveal(request: HttpRequest, methods: Sequence[str]) -> bool:
    """`methods` are those of the view: one that only acts has nothing to show."""
    return request.method == "POST" and "GET" in methods and FIELD in request.POST and not request.path.startswith(SHARED)


def mask_secrets(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Comes after the check of the form token, and before the view, which answers as it answers a GET."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with revealing(False):
            response = get_response(request)
        if getattr(request, "reveals", False):
            return exact(response)
        if getattr(response, "is_own_content", False) or getattr(response, "is_masked", False):
            return response
        answer = _masked(response)
        if getattr(answer, "may_be_kept", False):
            keep(answer)
        return answer

    def process_view(request: HttpRequest, view: Any, arguments: list[Any], named: dict[str, Any]) -> HttpResponse | None:
        if not asks_to_reveal(request, getattr(view, "methods", ("GET",))):
            return None
        if not may_reveal(request):
            return forbidden(request, why_not_reveal(request))
        row = Conversation.objects.select_related("source").filter(oid=named.get("oid", "")).first()
        audit.record(
            request.operator,  # type: ignore[attr-defined]
            "reveal",
            source_path=row.source.path if row else "",
            conversation=row.oid if row else "",
            address=masked(request.get_full_path()),
        )
        request.method = "GET"
        request.POST = QueryDict()
        request.reveals = True  # type: ignore[attr-defined]
        start_revealing()
        return None

    middleware.process_view = process_view  # type: ignore[attr-defined]
    return middleware


def _masked(response: HttpResponse) -> HttpResponse:
    kind = response.get("Content-Type", "").partition(";")[0]
    if kind.startswith(_NEVER) or kind.startswith(("image/", "text/css", "text/javascript")):
        return response
    if response.streaming:
        response.streaming_content = _masked_lines(response.streaming_content)  # type: ignore[attr-defined]
        return response
    before = response.content
    if kind == "text/html":
        text, count = masked_html(before.decode())
        after = text.encode() if count else before
    elif kind in ("application/json", "application/octet-stream"):
        after = masked_bytes(before)
    else:
        after = masked(before.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    if after != before:
        response.content = after
        _say_so(response)
    for name in ("Location", "HX-Redirect", "Content-Disposition"):
        if response.has_header(name):
            response[name] = masked(response[name])
    return response


def _say_so(response: HttpResponseBase) -> None:
    response[HEADER] = "secrets are masked: this is not what is stored"
    name = response.get("Content-Disposition", "")
    if "filename=" in name:
        before, dot, after = name.rpartition(".")
        response["Content-Disposition"] = f"{before}-masked{dot}{after}"


def _masked_lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, many at a time, so that a secret of several lines is seen."""
    waiting = bytearray()
    for part in parts:
        waiting += part
        if len(waiting) >= _LINES and (end := waiting.rfind(b"\n") + 1):
            yield _text_masked(bytes(waiting[:end]))
            del waiting[:end]
    yield _text_masked(bytes(waiting))


def _text_masked(data: bytes) -> bytes:
    if b'"b64":"' in data:
        data = _CAPTURED.sub(_masked_piece, data)
    return masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


_CAPTURED = re.compile(rb'(?<="b64":")[A-Za-z0-9+/=]+(?=")')
"""The bytes of one piece of a captured stream."""


def _masked_piece(match: re.Match[bytes]) -> bytes:
    data = binascii.a2b_base64(match[0])
    shown = masked_bytes(data)
    return match[0] if shown == data else binascii.b2a_base64(shown, newline=False)
