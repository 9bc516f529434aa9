"""What a browser may keep of an answer: nothing of what is not masked, anything else as long as it asks each time whether it is still right."""

import hashlib
import re
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

NOTHING = "no-store"
ASK_EACH_TIME = "private, no-cache"
_FORM_TOKENS = tuple(re.compile(before + rb"\w{64}") for before in (rb'csrfmiddlewaretoken" value="', rb'x-csrftoken": "'))
"""In text of a page every quotation mark is escaped, so that only our own forms match. Two, since one with a choice takes six times as long."""

Answer = TypeVar("Answer", bound=HttpResponseBase)


def exact(response: Answer) -> Answer:
    """Marks an answer with stored or sent content that is not masked, so that nothing keeps it."""
    response.is_exact = True  # type: ignore[attr-defined]
    return response


def limit_what_is_kept(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponseBase]:
    """`no-store` for what is marked as exact; for all else that says nothing itself `private, no-cache`, with an ETag of its content."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if getattr(response, "is_exact", False):
            response["Cache-Control"] = NOTHING
            del response["ETag"]
        elif not response.has_header("Cache-Control"):
            response["Cache-Control"] = ASK_EACH_TIME
            if _may_be_asked_again(request, response):
                response["ETag"] = _etag(request, response)
                return get_conditional_response(request, response["ETag"], None, response) or response
        return response

    return middleware


def _may_be_asked_again(request: HttpRequest, response: HttpResponse) -> bool:
    if response.status_code != 200 or request.method not in ("GET", "HEAD") or response.streaming:
        return False
    # A page that brings a cookie is of use only together with it. Django sends the one of the form token with every form.
    brought = set(response.cookies) - ({settings.CSRF_COOKIE_NAME} & set(request.COOKIES))
    return not brought


def _etag(request: HttpRequest, response: HttpResponse) -> str:
    content = response.content
    if response.get("Content-Type", "").startswith("text/html"):
        # The token in a form has another mask in each page, and every mask of one secret is accepted.
        for form_token in _FORM_TOKENS:
            content = form_token.sub(b"", content)
        content += str(request.META.get("CSRF_COOKIE")).encode()
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'
