"""What a link shows without a login: the page of one thing, read-only. Whoever has the link is nobody, sees that one thing, and leads nowhere else."""

import copy
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django_htmx.middleware import HtmxDetails

from inspector.access.context import limited_to
from inspector.actions.problems import Refused
from inspector.actions.share import GONE, Ended, Opened, open_link
from inspector.cache_headers import exact
from inspector.middleware import OperatorRequest, View, writes
from inspector.models import ShareLink
from inspector.models.transactions import one_snapshot
from inspector.presentation.masking import start_revealing
from inspector.presentation.read_only_html import read_only
from inspector.sign_in.client_address import client_address, network_of
from inspector.sources.problems import SourceProblem
from inspector.views import conversations, findings, problems, repairs, streams

UNKNOWN = "There is no such link: check that it was copied whole."
TOO_MANY = "Too many links were tried that do not exist: wait a minute."
CANNOT = "What this link shows cannot be shown at this moment. Try again later."
TRIES = 30
"""Unknown links from one address in a minute; then the next ones are not looked up."""
MOST_ADDRESSES = 10_000
_SPACE = 60.0


@dataclass(frozen=True, slots=True)
class _Page:
    view: View
    parameters: frozenset[str]
    """Those by which the parts of the page are reached: windows of rows, pages of a list. Every other one of an address is left out."""


PAGES: Mapping[str, _Page] = {
    ShareLink.Kind.CONVERSATION: _Page(conversations.conversation, frozenset(("at", "from", "finding", "stage", "tree", "unfold"))),
    ShareLink.Kind.FINDING: _Page(findings.finding, frozenset()),
    ShareLink.Kind.REPAIR: _Page(repairs.repair, frozenset()),
    ShareLink.Kind.PROBLEM: _Page(problems.problem, frozenset(("page", "after", "before"))),
    ShareLink.Kind.STREAM: _Page(streams.stream, frozenset(("at", "from", "side"))),
}
"""The views that a link can show; no other is ever called."""


@writes
def shared(request: OperatorRequest, token: str) -> HttpResponse:
    address = _address(request)
    if _tried(address) >= TRIES:
        answer = _sentence(request, TOO_MANY, 429)
        answer["Retry-After"] = str(int(_SPACE))
        return answer
    try:
        opened = open_link(token)
    except Ended as ended:
        return _sentence(request, str(ended), 410)
    if opened is None:
        _count(address)
        return _sentence(request, UNKNOWN, 404)
    return _shown(request, opened, f"/share/{token}/")


def _shown(request: OperatorRequest, opened: Opened, here: str) -> HttpResponse:
    link = opened.link
    about = PAGES[link.kind]
    if link.is_exact:
        start_revealing()
        request.reveals = True  # type: ignore[attr-defined]
    inner = _inner(request, opened, about.parameters)
    try:
        with limited_to(opened.access), one_snapshot():
            answer = about.view(inner, link.about)
    except Http404:
        return _sentence(request, GONE, 410)
    except (SourceProblem, Refused):
        # The sentence may name other things than this one.
        return _sentence(request, CANNOT, 409)
    if answer.status_code != 200:
        return _sentence(request, CANNOT, 409)
    part = read_only(answer.content.decode(), inner.path, here, about.parameters)
    return _closed(render(request, "shared.html", {"part": part, "link": link}))


def _inner(request: OperatorRequest, opened: Opened, parameters: frozenset[str]) -> Any:
    """The request that the page itself gets: of nobody, without what the browser sent but the part of the page that is asked for."""
    inner: Any = copy.copy(request)
    inner.path = inner.path_info = opened.link.href
    inner.method, inner.user, inner.operator, inner.access, inner.interrupted = "GET", AnonymousUser(), "", opened.access, []
    chosen = QueryDict(mutable=True)
    for name in sorted(parameters & request.GET.keys()):
        chosen[name] = request.GET[name][:100]
    inner.GET, inner.POST, inner.COOKIES = chosen, QueryDict(), {}
    meta = request.META
    inner.META = {
        name: meta[name] for name in ("SERVER_NAME", "SERVER_PORT", "HTTP_HOST", "wsgi.url_scheme", "REMOTE_ADDR") if name in meta
    }
    inner.META |= {"REQUEST_METHOD": "GET", "QUERY_STRING": chosen.urlencode(), "PATH_INFO": inner.path}
    inner.__dict__.pop("headers", None)
    inner.__dict__.pop("_messages", None)
    inner.htmx = HtmxDetails(inner)
    for name in ("source_of_page", "waiting_for_review"):
        inner.__dict__.pop(name, None)
    return inner


def _sentence(request: HttpRequest, text: str, status: int) -> HttpResponse:
    return _closed(render(request, "shared.html", {"sentence": text}, status=status))


def _closed(answer: HttpResponse) -> HttpResponse:
    """Nothing keeps it, and no address that is followed from it says where it was."""
    answer["Referrer-Policy"] = "no-referrer"
    answer["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return exact(answer)


_tries: OrderedDict[str, list[float]] = OrderedDict()
_lock = Lock()


def _address(request: HttpRequest) -> str:
    return network_of(client_address(request))


def _tried(address: str, clock: Callable[[], float] = time.monotonic) -> int:
    with _lock:
        times = [moment for moment in _tries.get(address, ()) if clock() - moment < _SPACE]
        if times:
            _tries[address] = times
        else:
            _tries.pop(address, None)
        return len(times)


def _count(address: str) -> None:
    with _lock:
        _tries.setdefault(address, []).append(time.monotonic())
        _tries.move_to_end(address)
        while len(_tries) > MOST_ADDRESSES:
            _tries.popitem(last=False)


def forget_tries() -> None:
    with _lock:
        _tries.clear()
