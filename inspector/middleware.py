"""Names the person who sends each request, or refuses it in one sentence; a page that only shows reads one snapshot; sets the limit of what may be opened."""

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import DisallowedHost, TooManyFieldsSent
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from inspector.access.context import NotPermitted, current, limited_to
from inspector.access.roles import Access
from inspector.access_token import refusal_or_redirect
from inspector.actions.add_source import OWN_FOLDERS
from inspector.actions.audit import record
from inspector.actions.remove_source import being_removed
from inspector.actions.settling import Interrupted, settle_all
from inspector.actions.verification import verify_next
from inspector.cache_headers import NOTHING, exact
from inspector.database_problems import NUL, for_a_page, refuses_nul
from inspector.environment import os_user
from inspector.health import PATH as HEALTH_PATH
from inspector.masked_answers import SHARED, asks_to_reveal
from inspector.metrics import PATH as METRICS_PATH
from inspector.metrics import READER, has_token
from inspector.models import Source
from inspector.models.transactions import one_snapshot
from inspector.sign_in.accounts import NotLetIn
from inspector.sign_in.client_address import client_of
from inspector.sign_in.identifying import access_of_request, identify
from inspector.sign_in.tokens import is_open_to_tokens
from inspector.sources.audit_files import AuditKeyProblem
from inspector.sources.dsn import Dsn
from inspector.sources.reach import Limit, OutOfReach, limited
from inspector.text.at_hand import at_work
from inspector.views.pages import as_json, forbidden, refusal, too_many_fields

FORWARDING_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")
NOT_LOCAL = (
    "Inspector runs in local single-operator mode and answers this machine only, but this request came through a proxy or from another machine: "
    "set DJANGO_ALLOWED_HOSTS to the host name that people use, and they can sign in."
)
NOT_THROUGH_PROXY = (
    "This request did not come through the proxy that ends TLS, or the proxy does not set X-Forwarded-Proto, as the guide on deploying shows: "
    "set it there, or open"
)
WRONG_HOST = "Inspector does not answer for this host name: if it is yours, add it to DJANGO_ALLOWED_HOSTS and start again."
LONGEST_ADDRESS = 20_000
"""Characters: the link to Explain with a long error that is not in ASCII has 18,000. Every link of a page has the parameters of its address again."""
TOO_LONG = f"This address has over {LONGEST_ADDRESS:,} characters, more than any link here: open the page again, and paste a long text into its form."
NO_METRICS = "The metrics are for who shows the bearer token of INSPECTOR_METRICS_TOKEN, and for who is signed in: set the token on the server, and send it."

NOBODY = "Nobody is signed in, so there is nothing to read: sign in with a browser, or send an API token of the page Account as `Authorization: Bearer insp_...`."

WELCOME = "/welcome/"
"""Where a link sets the first password of an account."""

View = Callable[..., HttpResponse]
AnyView = TypeVar("AnyView", bound=Callable[..., HttpResponseBase])
READING = ("GET", "HEAD")


NOT_LISTED = (
    "With its links resolved it is in no folder, and at no address, that INSPECTOR_SOURCES lists: add the folder or the address there and restart "
    "Inspector, or use a command such as repair or verify, which reads what you may read."
)
NOT_IMPORTED = (
    "Its links lead to a place that no command imported: import that place with the command import_source, which reads what you may read, "
    "or put the files back where they were."
)


class OperatorRequest(HttpRequest):
    """A request as views get it, for their annotations; `operator` is "" on the login page only."""

    operator: str
    access: Access | None
    """None in local mode, where nobody has a limit."""
    htmx: HtmxDetails
    interrupted: list[Interrupted]
    """Repairs that were interrupted while they were written, and need a write to the store; looked for on pages about stores only."""


def name_the_operator(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Sets `request.operator`: the signed-in user, or in local mode the OS user; anyone else goes to the login page.

    In local mode (`settings.INSPECTOR_LOCAL`) a request that was forwarded or comes from another machine gets 403, signed in or not, and so does one
    without the token (`inspector.access_token`), since every OS user of this machine can connect. A host name that is not ours gets 400 in every
    mode, since a foreign name that leads to 127.0.0.1 would act as the OS user.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        try:
            request.get_host()
            # Every page looks at its parameters, that of a refusal too, and Django raises this each time that they are asked for.
            request.GET  # noqa: B018
        except DisallowedHost:
            return _sentence(WRONG_HOST, 400)
        except TooManyFieldsSent:
            return (
                as_json({"error": too_many_fields()}, status=400) if request.path.endswith(".json") else _sentence(too_many_fields(), 400)
            )
        if len(request.get_full_path()) > LONGEST_ADDRESS:
            return _sentence(TOO_LONG, 414)
        if settings.INSPECTOR_LOCAL and not _from_this_machine(request):
            return _sentence(NOT_LOCAL, 403)
        try:
            if settings.INSPECTOR_LOCAL and not has_token(request) and (answer := refusal_or_redirect(request)):
                if request.path == ASKED_BY_ITSELF:
                    # It would load the page again.
                    del answer["HX-Refresh"]
                if answer.cookies:
                    record(os_user(), "sign in", by="link", **client_of(request))
                return answer
            if not settings.INSPECTOR_LOCAL and request.path.startswith(SHARED):
                # Whoever opens a link is nobody, and sees what the link shows, signed in or not.
                request.user = AnonymousUser()
            elif not settings.INSPECTOR_LOCAL and not has_token(request):
                identify(request)
            operator = _operator(request)
        except NotLetIn as refused:
            return _not_let_in(request, refused)
        except (DatabaseError, InterfaceError, AuditKeyProblem) as error:
            # Who is signed in comes from the database as well, and this is no view, whose errors are answered below.
            if sentence := _own_problem(error):
                return _sentence(sentence, 503)
            raise
        if not operator and request.path == METRICS_PATH:
            return _sentence(NO_METRICS, 401)
        if not operator and not _open_to_all(request.path):
            return _to_login(request)
        request.operator = operator  # type: ignore[attr-defined]
        return get_response(request)

    return middleware


def limit_access(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Where people sign in: what follows sees only the sources that the person may see, an answer that is streamed after it too. What they may see
    and not do is 403 with the sentence that says who can give them the role."""

    def middleware(request: HttpRequest) -> HttpResponse:
        try:
            access = None if settings.INSPECTOR_LOCAL or has_token(request) else access_of_request(request)
        except (DatabaseError, InterfaceError) as error:
            if sentence := _own_problem(error):
                return _sentence(sentence, 503)
            raise
        request.access = access  # type: ignore[attr-defined]
        with limited_to(access):
            response = get_response(request)
        if response.streaming and access is not None:
            response.streaming_content = parts_within(response.streaming_content, partial(limited_to, access))  # type: ignore[attr-defined]
        return response

    def process_exception(request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return forbidden(request, str(exception)) if isinstance(exception, NotPermitted) else None

    middleware.process_exception = process_exception  # type: ignore[attr-defined]
    return middleware


def _operator(request: HttpRequest) -> str:
    if has_token(request):
        return READER
    if request.user.is_authenticated:
        return str(request.user.get_username())
    return os_user() if settings.INSPECTOR_LOCAL else ""


def _from_this_machine(request: HttpRequest) -> bool:
    if any(name in request.headers for name in FORWARDING_HEADERS):
        return False
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


PROVIDER = ("/login/provider/", "/login/provider/done/")
"""Where people sign in with an OpenID Connect provider."""


def _open_to_all(path: str) -> bool:
    return path == resolve_url(settings.LOGIN_URL) or path in PROVIDER or path.startswith((WELCOME, SHARED, str(settings.STATIC_URL)))


def _not_let_in(request: HttpRequest, refused: NotLetIn) -> HttpResponse:
    if request.path.endswith(".json"):
        answer = as_json({"error": refused.sentence}, status=refused.status)
    else:
        answer = _sentence(refused.sentence, refused.status)
    if refused.wait:
        answer["Retry-After"] = str(refused.wait)
    if refused.status == 401:
        answer["WWW-Authenticate"] = 'Bearer realm="Inspector"'
    return exact(answer)


def _not_kept(text: str) -> HttpResponse:
    answer = _sentence(text, 403)
    answer["Cache-Control"] = NOTHING
    return answer


ASKED_BY_ITSELF = "/live/"
"""What an open page asks for without the person: its refusal must not take the page away that is read."""


def _to_login(request: HttpRequest) -> HttpResponse:
    if request.path == ASKED_BY_ITSELF:
        return _not_kept("Sign in again.")
    if is_open_to_tokens(request.path) and "text/html" not in request.headers.get("Accept", "text/html"):
        # A program: of a redirect to a page with a form it would make nothing.
        return _not_let_in(request, NotLetIn(NOBODY, 401))
    answer = redirect_to_login(request.get_full_path(), resolve_url(settings.LOGIN_URL))
    # htmx follows a plain redirect out of sight and would put the login page into a corner of the page.
    return HttpResponseClientRedirect(answer.url) if request.headers.get("HX-Request") == "true" else answer


def _own_problem(error: Exception) -> str | None:
    """What is wrong with our database or with the key of the audit log; None for what is a fault of ours."""
    return str(error) if isinstance(error, AuditKeyProblem) else for_a_page(error)


def _problem_answer(error: Exception) -> HttpResponse | None:
    """One sentence where our database cannot answer, or not to what was sent; None for what is a fault of ours."""
    if refuses_nul(error):
        return _sentence(NUL, 400)
    sentence = _own_problem(error)
    return _sentence(sentence, 503) if sentence else None


def _sentence(text: str, status: int) -> HttpResponse:
    return HttpResponse(text + "\n", status=status, content_type="text/plain; charset=utf-8")


def come_through_the_proxy(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Where INSPECTOR_BASE_URL is https: one sentence for a request of which no proxy says how it came. Django would redirect it in a circle."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if settings.SECURE_SSL_REDIRECT and "X-Forwarded-Proto" not in request.headers and request.path != HEALTH_PATH:
            return _sentence(f"{NOT_THROUGH_PROXY} {settings.INSPECTOR_BASE_URL}", 400)
        return get_response(request)

    return middleware


def answer_plainly(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """No body for HEAD (waitress would send it, and the connection's next answer would be garbage); one sentence where our database is busy."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if request.method == "HEAD" and not response.streaming:
            response["Content-Length"] = str(len(response.content))
            response.content = b""
        return response

    def process_exception(request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return _problem_answer(exception)

    middleware.process_exception = process_exception  # type: ignore[attr-defined]
    return middleware


NEVER_COMPRESSED = ("text/event-stream", "application/zip")
"""gzip would hold an event back until more of them fill its window; a zip gets no smaller."""


class Compressed(GZipMiddleware):
    """Compresses for clients that ask. Django adds a random length to it, against guesses at secrets by the size of a page (BREACH)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_never = response.get("Content-Type", "").startswith(NEVER_COMPRESSED)
        return response if is_never else super().process_response(request, response)


def writes(view: View) -> View:
    """Marks a view that writes to our database although it is asked with GET; it takes its own snapshot for what it reads."""
    view.writes = True  # type: ignore[attr-defined]
    return view


def accepts(*methods: str) -> Callable[[AnyView], AnyView]:
    """Marks a view that is asked otherwise than by GET and HEAD."""

    def mark(view: AnyView) -> AnyView:
        view.methods = methods  # type: ignore[attr-defined]
        return view

    return mark


def refuse_other_methods(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """405 for a method that the view is not marked for, before its form token is looked at."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_view(request: HttpRequest, view: View, arguments: list[Any], named: dict[str, Any]) -> HttpResponse | None:
        methods = getattr(view, "methods", READING)
        if request.method in methods or asks_to_reveal(request, methods):
            return None
        sentence = f"This address answers {' and '.join(methods)} only: open the page that leads here, and use its links and forms."
        answer = as_json({"error": sentence}, status=405) if request.path.endswith(".json") else _sentence(sentence, 405)
        answer["Allow"] = ", ".join(methods)
        return answer

    middleware.process_view = process_view  # type: ignore[attr-defined]
    return middleware


def read_one_snapshot(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Runs every view that only shows in `one_snapshot`. The last of the middlewares: it calls the view itself, so that what an earlier one
    writes before the view is committed, and shows."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_view(request: HttpRequest, view: View, arguments: list[Any], named: dict[str, Any]) -> HttpResponse | None:
        if request.method not in READING or getattr(view, "writes", False):
            return None
        try:
            with one_snapshot():
                return view(request, *arguments, **named)
        except OutOfReach as problem:
            # What is raised here passes by the other middlewares, which see the exceptions of views only.
            return refusal(request, problem.sentence, status=403)
        except NotPermitted as problem:
            return forbidden(request, str(problem))
        except Exception as error:
            if answer := _problem_answer(error):
                return answer
            raise

    middleware.process_view = process_view  # type: ignore[attr-defined]
    return middleware


LOOKS_AT_STORES = (
    "/conversations/",
    "/conversations.json",
    "/findings/",
    "/problems/",
    "/repairs/",
    "/repairs.json",
    "/repair-groups/",
    "/sources/",
    "/sources.json",
    "/index.json",
)
"""Pages about stores; the inbox is one too. A catalogue never opens a store."""


SOURCES = "/sources/"
"""Where a removal that was interrupted goes on."""
LISTS_REPAIRS = ("/", "/repairs/")
"""Where an applied repair that nobody looked at for an hour is compared with its store, one at a time."""


def settle_interrupted(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Before a page about stores: every write that was interrupted is recorded or withdrawn, by reading. `request.interrupted` are those that need a write.
    Before a list of repairs also an applied repair that is due is verified."""

    def middleware(request: HttpRequest) -> HttpResponse:
        looks = request.path == "/" or request.path.startswith(LOOKS_AT_STORES)
        interrupted = settle_all() if looks else []
        access = current()
        seen = [each for each in interrupted if access is None or access.sees(each.repair.conversation.source_id)]
        request.interrupted = seen  # type: ignore[attr-defined]
        if request.path == SOURCES and request.method == "GET" and being_removed().exists():
            # It imports this module.
            from inspector.background import go_on_removing

            go_on_removing()
        if request.path in LISTS_REPAIRS and request.method == "GET":
            verify_next(os_user())
        return get_response(request)

    return middleware


def keep_at_hand(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """What one page reads several times is read once for it, and not kept after it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with at_work():
            return get_response(request)

    return middleware


def limit_reach(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Views open only what the web interface may read, whatever they call; an answer that is streamed after them does too."""

    def middleware(request: HttpRequest) -> HttpResponse:
        limit = web_limit()
        with limited(limit):
            response = get_response(request)
        if response.streaming:
            response.streaming_content = parts_within(response.streaming_content, partial(limited, limit))  # type: ignore[attr-defined]
        return response

    def process_exception(request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return refusal(request, exception.sentence, status=403) if isinstance(exception, OutOfReach) else None

    middleware.process_exception = process_exception  # type: ignore[attr-defined]
    return middleware


def web_limit() -> Limit:
    """With INSPECTOR_SOURCES: what it lists, what was brought through pages, and the demo. Without: what was imported, and the folder `var`."""
    listed = settings.INSPECTOR_SOURCES
    if listed:
        addresses = frozenset(place.name for place in listed if isinstance(place, Dsn))
        own = (settings.VAR_DIR.resolve() / name for name in OWN_FOLDERS)
        return Limit((*(place for place in listed if isinstance(place, Path)), *own), lambda: addresses, NOT_LISTED)
    # Asked once for each request, and only where something is opened.
    return Limit((settings.VAR_DIR.resolve(),), cache(lambda: frozenset(Source._base_manager.values_list("path", flat=True))), NOT_IMPORTED)


def parts_within(parts: Iterator[bytes], limit: Callable[[], AbstractContextManager[None]]) -> Iterator[bytes]:
    """An answer that is streamed is made after its request; each part of it has the limit of the request."""
    iterator = iter(parts)
    while True:
        with limit():
            part = next(iterator, None)
        if part is None:
            return
        yield part
