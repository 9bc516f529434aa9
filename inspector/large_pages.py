"""Pages that read the whole of a large conversation are made by a process of their own, which ends after each: the web server stays small.

A conversation of 100,000 chunks takes half a gigabyte while it is read as a whole, and Python gives only a part of that back. What pages read by
windows is made here as ever. A person whose page takes longer than PATIENCE is told so, and the threads of the server are free meanwhile.
"""

import io
import multiprocessing
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from tempfile import SpooledTemporaryFile
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import TooManyFieldsSent
from django.core.handlers.wsgi import WSGIRequest
from django.db import DatabaseError, close_old_connections, connection
from django.http import HttpRequest, HttpResponse
from django.http.cookie import parse_cookie

from inspector import metrics
from inspector.access_token import PARAMETER
from inspector.middleware import limit_access, name_the_operator
from inspector.models import Conversation, Repair, analyses
from inspector.models.background import LARGE
from inspector.views import content, repairs
from inspector.views.choice import choice_of
from inspector.views.content import ways
from inspector.views.pages import WHOLE
from inspector.views.reading import POLL, READ_ELSEWHERE

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

AT_ONCE = 2
"""Processes at a time; further requests wait."""
PATIENCE = 1.5
"""Seconds after which a person is told that the page is being made: before the page in their browser says that nothing has answered."""
LONGEST_KEPT, MOST_KEPT = 60, 16
"""Seconds for which a page that was made waits for whoever was told so, and how many of them."""
PIECE = 1 << 20
LOST = b"This page was not made: the process that read the conversation was ended, most often because memory ran out. Free some memory and load it again.\n"
_ABOUT = re.compile(r"/(conversations|findings|repairs)/([0-9a-f]{12})(/.*|\..*)")
_PATHS = {"conversations": "oid", "findings": "findings__oid", "repairs": "repairs__oid"}
_OF_ANSWERS = (settings.CSRF_COOKIE_NAME, "messages")
_OF_WINDOWS = re.compile(r"/(chunks/\d+/.*)?")
_NEW_REPAIR = "/repairs/new/"


Key = tuple[str, ...]


@dataclass(eq=False, slots=True)
class _Made:
    """An answer in the making: complete once `done` is set, at `at` (`time.monotonic`)."""

    body: SpooledTemporaryFile[bytes] = field(default_factory=partial(SpooledTemporaryFile, PIECE))
    status: str = "503 Service Unavailable"
    headers: list[tuple[str, str]] = field(default_factory=lambda: [("Content-Type", "text/plain; charset=utf-8")])
    done: threading.Event = field(default_factory=threading.Event)
    at: float = 0.0


class LargePages:
    """A WSGI application around `application`."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._waited_for: dict[Key, _Made] = {}
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["inspector.wsgi"])

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        is_poll = environ.get("HTTP_HX_TRIGGER") == POLL
        if not reads_whole(environ) or not is_let_in(environ):
            # What it waits for is kept by now, or not for this person any more: the page itself says so.
            return _ready(start_response) if is_poll else self._application(environ, start_response)
        # Where threads share connections, one that waits for another process needs none.
        if not connection.in_atomic_block:
            close_old_connections()
        key = _asked_by_person(environ)
        if is_poll:
            waited_for = self._waited_for.get(key) if key else None
            return _ready(start_response) if waited_for is None or waited_for.done.is_set() else _empty(start_response)
        made, may_be_told = self._begun(environ, key)
        if may_be_told and not made.done.wait(PATIENCE):
            about = _ABOUT.fullmatch(environ["PATH_INFO"])
            return self._application({**environ, READ_ELSEWHERE: about and _row(about[1], about[2])}, start_response)
        made.done.wait()
        with self._lock:
            if key is not None and self._waited_for.get(key) is made:
                del self._waited_for[key]
        start_response(made.status, made.headers)
        return _pieces(made.body)

    def _begun(self, environ: Environ, key: Key | None) -> tuple[_Made, bool]:
        """The answer, being made by a thread of its own; and whether it is there for whoever asks with this key again."""
        with self._lock:
            now = time.monotonic()
            for old, made in list(self._waited_for.items()):
                if made.done.is_set() and now - made.at > LONGEST_KEPT:
                    del self._waited_for[old]
            if key in self._waited_for:
                return self._waited_for[key], True
            made, is_kept = _Made(), len(self._waited_for) < MOST_KEPT
            if key is not None and is_kept:
                self._waited_for[key] = made
        # An answer may be given to a request after the one that it was made for: it is whole.
        plain = {name: value for name, value in environ.items() if isinstance(value, str | bool | int) and name != "HTTP_IF_NONE_MATCH"}
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        threading.Thread(target=self._make, args=(plain, body, made), daemon=True).start()
        return made, key is not None and is_kept

    def _make(self, environ: Environ, body: bytes, made: _Made) -> None:
        begun = time.perf_counter()
        try:
            # Whoever reads slowly keeps no process waiting: the whole answer is in a file by then.
            self._answer(environ, body, made)
        finally:
            metrics.observe(metrics.route_of(str(environ.get("PATH_INFO", ""))), int(made.status[:3]), time.perf_counter() - begun)
            made.body.seek(0)
            made.at = time.monotonic()
            made.done.set()

    def _answer(self, environ: Environ, body: bytes, made: _Made) -> None:
        with suppress(EOFError, OSError), self._started(environ, body) as ours:
            status, headers = ours.recv()
            # An empty piece ends the answer: without it the process was lost in the middle.
            while data := ours.recv_bytes():
                made.body.write(data)
            made.status, made.headers = status, headers
            return
        made.body.seek(0)
        made.body.truncate()
        made.body.write(LOST)

    def _started(self, environ: Environ, body: bytes) -> Connection:
        """What the process says. Its place is free when it ended, which is after it kept what it computed."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_answer, args=(environ, body, theirs), daemon=True)
        self._places.acquire()
        try:
            process.start()
        except BaseException:
            self._places.release()
            raise
        theirs.close()
        threading.Thread(target=self._release, args=(process,), daemon=True).start()
        return ours

    def _release(self, process: BaseProcess) -> None:
        process.join()
        self._places.release()


def _asked_by_person(environ: Environ) -> Key | None:
    """What one answer is for, where a browser asks for a whole page; None for what waits until it is there: programs, files, forms, parts of a page."""
    is_htmx = "HTTP_HX_REQUEST" in environ
    is_part = is_htmx and environ.get("HTTP_HX_TARGET") not in (WHOLE, POLL)
    is_page = str(environ.get("PATH_INFO", "")).endswith("/") and (is_htmx or "text/html" in environ.get("HTTP_ACCEPT", ""))
    if environ.get("REQUEST_METHOD") != "GET" or is_part or not is_page:
        return None
    # The token of forms and what one page has to tell the next come and go with answers; the others are the person.
    cookies = {name: value for name, value in parse_cookie(environ.get("HTTP_COOKIE", "")).items() if name not in _OF_ANSWERS}
    return (
        *(str(environ.get(name, "")) for name in ("PATH_INFO", "QUERY_STRING", "HTTP_AUTHORIZATION", "HTTP_HOST")),
        str(sorted(cookies.items())),
    )


def _ready(start_response: StartResponse) -> Iterable[bytes]:
    """The browser loads the page, so that its styles come with it."""
    start_response("204 No Content", [("HX-Refresh", "true")])
    return []


def _empty(start_response: StartResponse) -> Iterable[bytes]:
    start_response("204 No Content", [])
    return []


def _pieces(body: SpooledTemporaryFile[bytes]) -> Iterator[bytes]:
    with body:
        while data := body.read(PIECE):
            yield data


def reads_whole(environ: Environ) -> bool:
    """Whether an address is about a large conversation, and more of it than a window."""
    about = _ABOUT.fullmatch(environ.get("PATH_INFO", ""))
    # A form that is too long is refused, and before that nothing of it is read.
    if about is None or int(environ.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return False
    kind, oid, rest = about.groups()
    try:
        # This request may be answered elsewhere, and then nothing else looks after the connection of this thread.
        if not connection.in_atomic_block:
            close_old_connections()
        row = _row(kind, oid)
        return row is not None and not _is_made_here(row, kind, oid, rest, environ)
    except (DatabaseError, TooManyFieldsSent):
        # The page itself says what is wrong with the database, or with the address.
        return False


def _row(kind: str, oid: str) -> Conversation | None:
    """None for what is not about a large one."""
    return Conversation.objects.filter(**{_PATHS[kind]: oid}, chunk_count__gte=LARGE).select_related("source").first()


def is_let_in(environ: Environ) -> bool:
    """Whether the person may see pages at all: whoever is refused gets no process of their own for that."""
    request = WSGIRequest({**environ, "wsgi.input": io.BytesIO()})
    try:
        if PARAMETER in request.GET:
            # The link is exchanged, and that recorded, once: by the application here.
            return False
        answer: Any = SessionMiddleware(AuthenticationMiddleware(name_the_operator(limit_access(_let_in))))(request)
    except (DatabaseError, TooManyFieldsSent):
        return False
    return bool(answer.status_code == HTTPStatus.NO_CONTENT)


def _let_in(request: HttpRequest) -> HttpResponse:
    """Of what a person may not see they learn no more than that it is not there, and as fast."""
    about = _ABOUT.fullmatch(request.path_info)
    is_seen = about is None or Conversation.objects.filter(**{_PATHS[about[1]]: about[2]}).exists()
    return HttpResponse(status=HTTPStatus.NO_CONTENT if is_seen else HTTPStatus.NOT_FOUND)


def _is_made_here(row: Conversation, kind: str, oid: str, rest: str, environ: Environ) -> bool:
    """Whether all that the page shows of the conversation is kept."""
    is_post = environ.get("REQUEST_METHOD") == "POST"
    if (kind, rest) == ("conversations", _NEW_REPAIR):
        return is_post or repairs.is_new_page_kept(_request(environ), row)
    if kind == "repairs" and not rest.startswith("."):
        repair = _repair(oid)
        # What is posted is done as a background task, or takes little.
        return is_post or (repair is not None and repairs.is_page_kept(repair))
    return kind == "conversations" and bool(_OF_WINDOWS.fullmatch(rest)) and _is_kept(row, rest, environ)


def _repair(oid: str) -> Repair | None:
    return Repair.objects.filter(oid=oid).select_related("conversation__source").first()


def _is_kept(row: Conversation, rest: str, environ: Environ) -> bool:
    choice = choice_of(_request(environ), row)
    if rest != "/":
        return True
    is_window = not (choice.tree_start or choice.unfolded is not None or choice.all_profiles)
    return is_window and analyses.stored(row, ways(choice)) is not None


def _request(environ: Environ) -> Any:
    """Only its query is asked for."""
    return WSGIRequest({"wsgi.input": io.BytesIO(), "REQUEST_METHOD": "GET", "QUERY_STRING": environ.get("QUERY_STRING", "")})


def _keep(environ: Environ) -> None:
    """What the page of a conversation was made of, for its next view: this process has it in memory, and is not waited for any more."""
    about = _ABOUT.fullmatch(environ["PATH_INFO"])
    if about is None or environ["REQUEST_METHOD"] != "GET":
        return
    if about[1] == "repairs" and about[3] == "/" and (repair := _repair(about[2])) is not None:
        repairs.keep_page(repair)
    if about[1] != "conversations" or about[3] not in ("/", _NEW_REPAIR):
        return
    row = Conversation.objects.select_related("source").get(oid=about[2])
    if about[3] == _NEW_REPAIR:
        repairs.keep_new_page(_request(environ), row)
        return
    choice = choice_of(_request(environ), row)
    # A page of all profiles, or of other entries of the tree, reads the whole though it is kept.
    if analyses.stored(row, ways(choice)) is None:
        content.keep(row, choice)


def _answer(environ: Environ, body: bytes, pipe: Connection) -> None:
    """In the process of its own."""
    from inspector.wsgi import application

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    environ |= {"wsgi.input": io.BytesIO(body), "wsgi.errors": sys.stderr, "wsgi.version": (1, 0)}

    statuses: list[str] = []

    def start_response(status: str, headers: list[tuple[str, str]], problem: Any = None) -> Callable[[bytes], None]:
        statuses.append(status)
        pipe.send((status, headers))
        return pipe.send_bytes

    # Who asked may have gone away.
    with suppress(BrokenPipeError, ConnectionResetError):
        answer = application(environ, start_response)
        try:
            for data in answer:
                for start in range(0, len(data), PIECE):
                    pipe.send_bytes(data[start : start + PIECE])
        finally:
            if hasattr(answer, "close"):
                answer.close()
        pipe.send_bytes(b"")
    pipe.close()
    if statuses and statuses[-1].startswith("200"):
        # Another import, or another process of this kind, may have been faster.
        with suppress(DatabaseError, Conversation.DoesNotExist):
            _keep(environ)
