"""Pages that read the whole of a large conversation are made by a process of their own, which ends after each: the web server stays small.

A conversation of 100,000 chunks takes half a gigabyte while it is read as a whole, and Python gives only a part of that back. What pages read by
windows is made here as ever.
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

from inspector import metrics
from inspector.access_token import PARAMETER
from inspector.middleware import limit_access, name_the_operator
from inspector.models import Conversation, Repair, analyses
from inspector.models.background import LARGE
from inspector.views import content, repairs
from inspector.views.choice import choice_of
from inspector.views.content import ways

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

AT_ONCE = 2
"""Processes at a time; further requests wait."""
PIECE = 1 << 20
LOST = b"This page was not made: the process that read the conversation was ended, most often because memory ran out. Free some memory and load it again.\n"
_ABOUT = re.compile(r"/(conversations|findings|repairs)/([0-9a-f]{12})(/.*|\..*)")
_PATHS = {"conversations": "oid", "findings": "findings__oid", "repairs": "repairs__oid"}
_OF_WINDOWS = re.compile(r"/(chunks/\d+/.*)?")
_NEW_REPAIR = "/repairs/new/"


class LargePages:
    """A WSGI application around `application`."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["inspector.wsgi"])

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if not reads_whole(environ) or not is_let_in(environ):
            return self._application(environ, start_response)
        # Where threads share connections, one that waits for another process needs none.
        if not connection.in_atomic_block:
            close_old_connections()
        return self._elsewhere(environ, start_response)

    def _elsewhere(self, environ: Environ, start_response: StartResponse) -> Iterator[bytes]:
        plain = {name: value for name, value in environ.items() if isinstance(value, str | bool | int)}
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        # Whoever reads slowly keeps no process waiting: the whole answer is in a file by then.
        begun = time.perf_counter()
        with SpooledTemporaryFile(PIECE) as spooled:
            status, headers = self._made(plain, body, spooled)
            metrics.observe(metrics.route_of(str(environ.get("PATH_INFO", ""))), int(status[:3]), time.perf_counter() - begun)
            start_response(status, headers)
            spooled.seek(0)
            while data := spooled.read(PIECE):
                yield data

    def _made(self, environ: Environ, body: bytes, out: SpooledTemporaryFile[bytes]) -> tuple[str, list[tuple[str, str]]]:
        """Status and headers; the body is in `out`."""
        with suppress(EOFError, OSError), self._started(environ, body) as ours:
            status, headers = ours.recv()
            # An empty piece ends the answer: without it the process was lost in the middle.
            while data := ours.recv_bytes():
                out.write(data)
            return status, headers
        out.seek(0)
        out.truncate()
        out.write(LOST)
        return "503 Service Unavailable", [("Content-Type", "text/plain; charset=utf-8")]

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


def reads_whole(environ: Environ) -> bool:
    """Whether an address is about a large conversation, and more of it than a window."""
    about = _ABOUT.fullmatch(environ.get("PATH_INFO", ""))
    # A form that is too long is refused, and before that nothing of it is read.
    if about is None or int(environ.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return False
    kind, oid, rest = about.groups()
    path = _PATHS[kind]
    try:
        # This request may be answered elsewhere, and then nothing else looks after the connection of this thread.
        if not connection.in_atomic_block:
            close_old_connections()
        row = Conversation.objects.filter(**{path: oid}, chunk_count__gte=LARGE).select_related("source").first()
        return row is not None and not _is_made_here(row, kind, oid, rest, environ)
    except (DatabaseError, TooManyFieldsSent):
        # The page itself says what is wrong with the database, or with the address.
        return False


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
