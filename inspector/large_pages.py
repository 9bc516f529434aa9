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
from django.http import HttpRequest, HttpResponse, QueryDict

from inspector import metrics
from inspector.access_token import PARAMETER
from inspector.middleware import limit_access, name_the_operator
from inspector.models import Conversation, Repair, analyses
from inspector.models.background import LARGE
from inspector.views import content, explain, findings, prompts, repairs, traces
from inspector.views.choice import Choice, choice_of
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
MOST = 16
"""Looks at conversations that are being made at a time; who asks for one more is told so, and it begins when there is room."""
LATELY = 60
"""Seconds after which a look of which nothing could be kept is one that a person is told of again: until then its page is waited for."""
PIECE = 1 << 20
LOST = b"This page was not made: the process that read the conversation was ended, most often because memory ran out. Free some memory and load it again.\n"
_ABOUT = re.compile(r"/(conversations|findings|repairs)/([0-9a-f]{12})(/.*|\..*)")
_PATHS = {"conversations": "oid", "findings": "findings__oid", "repairs": "repairs__oid"}
_OF_WINDOWS = re.compile(r"/(chunks/\d+/.*)?")
_EXPLAIN = ("/explain/", "/explain.json")
_NEW_REPAIR, _PROMPT, _TRACE = "/repairs/new/", "/prompt/", "/trace/"


Look = tuple[int, str]
"""A conversation, and the key of how it is looked at: what its page reads by windows is kept under them, whoever asked for it."""


@dataclass(eq=False, slots=True)
class _Made:
    """The answer to one request, complete once `done` is set."""

    body: SpooledTemporaryFile[bytes] = field(default_factory=partial(SpooledTemporaryFile, PIECE))
    status: str = "503 Service Unavailable"
    headers: list[tuple[str, str]] = field(default_factory=lambda: [("Content-Type", "text/plain; charset=utf-8")])
    done: threading.Event = field(default_factory=threading.Event)


class LargePages:
    """A WSGI application around `application`.

    An answer is given to the request that it was made for and to no other. Who was told that their page is being made asks again once its process has
    ended and kept what it read, and then the page is made here.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._making: dict[Look, threading.Event] = {}
        self._ended: dict[Look, float] = {}
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["inspector.wsgi"])

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        is_poll = environ.get("HTTP_HX_TRIGGER") == POLL
        if not reads_whole(environ) or not is_let_in(environ):
            # What it waits for is kept by now, or not for this person any more: the page itself says so.
            return _polled(start_response, True) if is_poll else self._application(environ, start_response)
        row, look = _look_of(environ)
        # Where threads share connections, one that waits for another process needs none.
        if not connection.in_atomic_block:
            close_old_connections()
        if is_poll:
            return _polled(start_response, look not in self._making and len(self._making) < MOST)
        if look is None or self._was_made(look):
            made = _Made()
            self._make(_plain(environ), _body(environ), made)
            return _given(made, start_response)
        own, ended = self._begun(look, environ)
        if own is not None and own.done.wait(PATIENCE):
            return _given(own, start_response)
        if own is None and ended is not None and ended.wait(PATIENCE):
            return self(environ, start_response)
        return self._application({**environ, READ_ELSEWHERE: row}, start_response)

    def _begun(self, look: Look, environ: Environ) -> tuple[_Made | None, threading.Event | None]:
        """The answer to this request, being made by a thread of its own; where another request made it begin, when that ends; neither where there is no room."""
        with self._lock:
            if look in self._making:
                return None, self._making[look]
            if len(self._making) >= MOST:
                return None, None
            self._making[look] = threading.Event()
        made = _Made()
        threading.Thread(target=self._make, args=(_plain(environ), _body(environ), made, look), daemon=True).start()
        return made, None

    def _was_made(self, look: Look) -> bool:
        with self._lock:
            at = self._ended.get(look)
            return at is not None and time.monotonic() - at < LATELY

    def _end(self, look: Look | None) -> None:
        now = time.monotonic()
        with self._lock:
            self._ended = {old: at for old, at in self._ended.items() if now - at < LATELY}
            if look is not None:
                self._ended[look] = now
                self._making.pop(look).set()

    def _make(self, environ: Environ, body: bytes, made: _Made, look: Look | None = None) -> None:
        begun = time.perf_counter()
        try:
            # Whoever reads slowly keeps no process waiting: the whole answer is in a file by then.
            self._answer(environ, body, made, look)
        finally:
            metrics.observe(metrics.route_of(str(environ.get("PATH_INFO", ""))), int(made.status[:3]), time.perf_counter() - begun)
            made.body.seek(0)
            made.done.set()

    def _answer(self, environ: Environ, body: bytes, made: _Made, look: Look | None) -> None:
        with suppress(EOFError, OSError), self._started(environ, body, look) as ours:
            status, headers = ours.recv()
            # An empty piece ends the answer: without it the process was lost in the middle.
            while data := ours.recv_bytes():
                made.body.write(data)
            made.status, made.headers = status, headers
            return
        made.body.seek(0)
        made.body.truncate()
        made.body.write(LOST)

    def _started(self, environ: Environ, body: bytes, look: Look | None) -> Connection:
        """What the process says. Its place is free when it ended, which is after it kept what it computed."""
        self._places.acquire()
        try:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_answer, args=(environ, body, theirs), daemon=True)
            process.start()
        except BaseException:
            self._places.release()
            self._end(look)
            raise
        theirs.close()
        threading.Thread(target=self._release, args=(process, look), daemon=True).start()
        return ours

    def _release(self, process: BaseProcess, look: Look | None) -> None:
        process.join()
        self._places.release()
        self._end(look)


def _look_of(environ: Environ) -> tuple[Conversation | None, Look | None]:
    """What will be kept, where a browser asks for a page of a conversation that is read by windows then; None for what waits for its own answer: programs,
    files, forms, parts of a page, and pages of which nothing is kept."""
    is_htmx = "HTTP_HX_REQUEST" in environ
    is_part = is_htmx and environ.get("HTTP_HX_TARGET") not in (WHOLE, POLL)
    about = _ABOUT.fullmatch(environ["PATH_INFO"])
    is_page = about is not None and about[1] == "conversations" and about[3] in ("/", _PROMPT)
    if not is_page or is_part or environ.get("REQUEST_METHOD") != "GET" or not (is_htmx or "text/html" in environ.get("HTTP_ACCEPT", "")):
        return None, None
    row = _row("conversations", about[2]) if about else None
    key = _key_of_look(row, about[3], _request(environ)) if row and about else ""
    return row, (row.pk, key) if row and key else None


def _key_of_look(row: Conversation, rest: str, request: Any) -> str:
    """Under which it is kept; "" where nothing is."""
    if rest == _PROMPT:
        return prompts.key_of_look(request, row)
    choice = choice_of(request, row)
    return ways(choice).key if _is_window(choice) else ""


def _plain(environ: Environ) -> Environ:
    return {name: value for name, value in environ.items() if isinstance(value, str | bool | int)}


def _body(environ: Environ) -> bytes:
    return bytes(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))


def _polled(start_response: StartResponse, is_ready: bool) -> Iterable[bytes]:
    """Where it is ready the browser loads the page, so that its styles come with it."""
    start_response("204 No Content", [("HX-Refresh", "true")] if is_ready else [])
    return []


def _given(made: _Made, start_response: StartResponse) -> Iterator[bytes]:
    start_response(made.status, made.headers)
    return _pieces(made.body)


def _pieces(body: SpooledTemporaryFile[bytes]) -> Iterator[bytes]:
    with body:
        while data := body.read(PIECE):
            yield data


def reads_whole(environ: Environ) -> bool:
    """Whether an address is about a large conversation, and more of it than a window."""
    path = environ.get("PATH_INFO", "")
    about = _ABOUT.fullmatch(path)
    # A form that is too long is refused, and before that nothing of it is read.
    is_refused = int(environ.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if is_refused or (about is None and path not in _EXPLAIN):
        return False
    try:
        # This request may be answered elsewhere, and then nothing else looks after the connection of this thread.
        if not connection.in_atomic_block:
            close_old_connections()
        if about is None:
            return explain.is_of_large(_chosen(environ))
        kind, oid, rest = about.groups()
        row = _row(kind, oid)
        return row is not None and not _is_made_here(row, kind, oid, rest, environ)
    except (DatabaseError, TooManyFieldsSent):
        # The page itself says what is wrong with the database, or with the address.
        return False


def _chosen(environ: Environ) -> QueryDict:
    """What a form or an address says; the form can be read once more."""
    if environ.get("REQUEST_METHOD") != "POST":
        return QueryDict(environ.get("QUERY_STRING", ""))
    body = _body(environ)
    environ["wsgi.input"] = io.BytesIO(body)
    return QueryDict(body)


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
    if (kind, rest) == ("conversations", _TRACE):
        return traces.is_known_to_have_none(row)
    if (kind, rest) == ("conversations", _PROMPT):
        return prompts.is_page_kept(_request(environ), row)
    if (kind, rest) == ("conversations", _NEW_REPAIR):
        return is_post or repairs.is_new_page_kept(_request(environ), row)
    if kind == "findings" and rest in ("/", ".json"):
        return findings.is_kept(oid)
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
    return _is_window(choice) and analyses.stored(row, ways(choice)) is not None


def _is_window(choice: Choice) -> bool:
    return not (choice.tree_start or choice.unfolded is not None or choice.all_profiles)


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
    if about[1] != "conversations" or about[3] not in ("/", _PROMPT, _NEW_REPAIR):
        return
    row, request = Conversation.objects.select_related("source").get(oid=about[2]), _request(environ)
    if about[3] == _NEW_REPAIR:
        repairs.keep_new_page(request, row)
        return
    if about[3] == _PROMPT:
        prompts.keep_page(request, row)
        return
    choice = choice_of(request, row)
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
