"""Inspector below a path of a host that has other pages too, such as https://tools.example.org/inspector.

Every address inside is one below the root of Inspector. What comes in loses the base path here, and every link that goes out gets it here: one place instead
of one in each of three hundred links, so that none can be forgotten.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse

_LINKS = ("href", "src", "action", "formaction", "hx-get", "hx-post", "data-copy-from", "data-copy-link", "data-map")
# In text and in values every quotation mark is escaped, so that only attributes of ours match.
_LINK = re.compile(rb"(\s(?:" + "|".join(_LINKS).encode() + rb')=")/(?!/)')
_HEADERS = ("Location", "HX-Redirect", "HX-Location", "HX-Push-Url", "HX-Replace-Url")


def base_path(address: str) -> str:
    """The path of INSPECTOR_BASE_URL, with a slash before and none after it; "" at the root of its host."""
    return urlsplit(address).path.rstrip("/")


def live_below_base_path(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Only inside what compresses. A proxy may take the path away or leave it; what has none is taken as it is, such as /healthz of a monitor."""

    def middleware(request: HttpRequest) -> HttpResponse:
        base = base_path(settings.INSPECTOR_BASE_URL)
        if not base:
            return get_response(request)
        if request.path_info == base or request.path_info.startswith(f"{base}/"):
            request.path_info = request.path = request.path_info.removeprefix(base) or "/"
        response = get_response(request)
        for name in _HEADERS:
            value = response.get(name, "")
            if value.startswith("/") and not value.startswith("//"):
                response[name] = base + value
        if response.get("Content-Type", "").startswith("text/html") and not response.streaming and b'="/' in response.content:
            response.content = _LINK.sub(rb"\g<1>" + base.encode() + b"/", response.content)
            if response.has_header("Content-Length"):
                response["Content-Length"] = str(len(response.content))
        return response

    return middleware
