"""Requests that no page of ours sends: one plain answer each, with what is possible instead."""

import io
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from pytest_django import Settings

from inspector.access_token import bearer
from inspector.large_pages import LARGE, LargePages
from inspector.logs import MaskedFormatter
from inspector.management.commands import serve
from inspector.management.commands.serve import listen, server_of
from inspector.middleware import LONGEST_ADDRESS, TOO_LONG
from inspector.models import Conversation, Source
from tests.accounts import account
from tests.actions.building import imported, merged
from tests.operators import OperatorClient

ODD = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


@pytest.mark.django_db
@pytest.mark.parametrize("method", ODD)
def test_an_odd_method_is_answered_with_those_that_are_possible(client: Client, tmp_path: Path, method: str) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    addresses = (f"/conversations/{conversation.oid}/", "/index.json", "/check/", "/check.json", "/login/", "/logout/", "/audit/")
    strict = OperatorClient(enforce_csrf_checks=True)
    for address in (*addresses, f"/sources/{Source.objects.get().oid}/write-back/"):
        answer = strict.generic(method, address)
        assert answer.status_code == 405 and method not in answer.headers["Allow"].split(", "), address
        text = answer.content.decode()
        assert text.count("\n") <= 3 and answer.headers["Allow"].replace(", ", " and ") in text, address
        assert address.endswith(".json") == answer.headers["Content-Type"].startswith("application/json")
    assert client.generic(method, "/no-such-page/").status_code == 404


@pytest.mark.django_db
def test_a_page_without_a_form_takes_none(client: Client) -> None:
    for address in ("/", "/rules/", "/audit.json", "/conversations/"):
        answer = client.post(address)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD"), address
    for address in ("/repairs/x/approve/", "/sources/x/import/", "/logout/"):
        answer = client.get(address)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST"), address


@pytest.mark.django_db
def test_every_view_is_asked_by_get_or_says_what_it_takes() -> None:
    """A new form without `accepts` is found by its page: every form of a template leads to a view that is marked."""
    from django.urls import get_resolver

    marked = {str(pattern.pattern): getattr(pattern.callback, "methods", ()) for pattern in get_resolver().url_patterns}  # type: ignore[union-attr]
    assert sorted(route for route, methods in marked.items() if "POST" in methods) == [
        "account/sessions/<int:pk>/end/",
        "account/sessions/end/",
        "account/tokens/",
        "account/tokens/<int:pk>/revoke/",
        "check.json",
        "check/",
        "conversations/<slug:oid>/repairs/new/",
        "diagnose.json",
        "diagnose/",
        "explain.json",
        "explain/",
        "links/<slug:oid>/revoke/",
        "login/",
        "logout/",
        "new-link/<slug:kind>/<slug:oid>/",
        "notifications/",
        "notifications/<slug:oid>/",
        "notifications/<slug:oid>/remove/",
        "notifications/<slug:oid>/test/",
        "password/",
        "problems/<slug:oid>/repair/",
        "problems/decide/",
        "problems/views/",
        "repair-groups/<slug:oid>/again/",
        "repair-groups/<slug:oid>/apply/",
        "repair-groups/<slug:oid>/approve/",
        "repair-groups/<slug:oid>/reject/",
        "repair-groups/<slug:oid>/reviewers/",
        "repair-groups/<slug:oid>/undo/",
        "repairs/<slug:oid>/apply/",
        "repairs/<slug:oid>/approve/",
        "repairs/<slug:oid>/changes/",
        "repairs/<slug:oid>/comments/",
        "repairs/<slug:oid>/reject/",
        "repairs/<slug:oid>/reviewers/",
        "repairs/<slug:oid>/undo/",
        "repairs/decide/",
        "sources/<slug:oid>/",
        "sources/<slug:oid>/import/",
        "sources/<slug:oid>/remove/",
        "sources/<slug:oid>/watch/",
        "sources/<slug:oid>/write-back/",
        "sources/add/",
        "sources/demo/",
        "sources/watch/",
        "users/",
        "users/<int:pk>/link/",
        "users/<int:pk>/roles/",
        "users/<int:pk>/state/",
        "users/<int:pk>/tokens/",
        "users/groups/",
        "users/groups/<int:pk>/",
        "users/roles/",
        "welcome/<slug:uidb64>/<slug:token>/",
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(("address", "is_page"), [("/check/", True), ("/check.json", False), ("/repairs/x/apply/", True)])
def test_a_form_without_its_token_gets_a_page_of_ours(address: str, is_page: bool) -> None:
    answer = OperatorClient(enforce_csrf_checks=True).post(address, {"body": "{}"})
    text = answer.content.decode()
    assert answer.status_code == 403 and "Load the page again, and repeat what you did" in text and "CSRF" not in text
    assert ("<nav" in text) is is_page


@pytest.mark.django_db
def test_a_form_from_another_address_says_what_to_set() -> None:
    strict = OperatorClient(enforce_csrf_checks=True, headers={"origin": "https://inspector.example.org"})
    text = strict.post("/check/", {"body": "{}"}).content.decode()
    assert "INSPECTOR_BASE_URL" in text and "example.org" not in text


@pytest.mark.django_db
def test_more_fields_or_files_than_a_form_has_are_refused_in_one_sentence(client: Client) -> None:
    limit = configured.DATA_UPLOAD_MAX_NUMBER_FIELDS
    assert limit is not None
    many = "&".join(f"f{number}=1" for number in range(limit + 1))
    files = {"file": SimpleUploadedFile("a.json", b"{}"), "other": SimpleUploadedFile("b.json", b"{}")}
    form = {f"f{number}": "1" for number in range(limit + 1)}
    for answer in (client.get(f"/?{many}"), client.post("/check/", form), client.post("/check/", files)):
        assert answer.status_code == 400 and f"over {limit} fields" in answer.content.decode()
    assert client.post("/check.json", form).json()["error"].startswith("This address or form has over")
    assert client.get("/?" + many.removeprefix("f0=1&")).status_code == 200
    assert Client().get(f"/?{many}").status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/nothing.json", "There is nothing at this address."),
        ("/whatif.json?reader=nope&reader=exact", "nope"),
        ("/strategies/nope.json", "nope"),
    ],
)
def test_what_is_missing_is_said_in_the_form_that_was_asked_for(client: Client, address: str, words: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404 and words in answer.json()["error"]
    assert client.get(address.replace(".json", "/")).headers["Content-Type"].startswith("text/html")


@pytest.mark.django_db
def test_what_is_refused_below_500_is_not_logged(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone could fill the terminal with tracebacks; what fails in the product is there."""
    written = io.StringIO()
    for handler in logging.getLogger("django").handlers:
        if isinstance(handler.formatter, MaskedFormatter):
            monkeypatch.setattr(handler, "stream", written)
    assert client.post("/check/", {f"f{number}": "1" for number in range(3_000)}).status_code == 400
    assert client.post("/check/", {"f": "x" * (configured.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)}).status_code == 400
    assert written.getvalue() == ""
    logging.getLogger("django.request").error("A page failed.")
    assert "A page failed." in written.getvalue()


@pytest.mark.django_db
def test_an_address_longer_than_any_link_is_refused_in_a_sentence(client: Client) -> None:
    """Every link of a page has the parameters of its address again."""
    for padding, status in ((LONGEST_ADDRESS - len("/rules/?a="), 200), (LONGEST_ADDRESS, 414)):
        answer = client.get(f"/rules/?a={'x' * padding}")
        assert answer.status_code == status, padding
    assert answer.content.decode() == f"{TOO_LONG}\n"
    # The longest link of ours: a long error of characters that take the most bytes.
    assert client.get("/explain/", {"error": "\U0001f600" * 1500}).status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_local", [True, False])
def test_more_parameters_than_a_page_has_are_refused_at_every_address(tmp_path: Path, settings: Settings, is_local: bool) -> None:
    """Also by the page that refuses them, by that of an address of nothing, and where a large conversation is read in a process of its own."""
    conversation = imported(tmp_path / "a.db", merged())
    Conversation.objects.update(chunk_count=LARGE)
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = is_local, ["testserver"]
    client = OperatorClient() if is_local else Client()
    if not is_local:
        client.force_login(account("ada", "viewer"))
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    headers = bearer() if is_local else {"cookie": cookies}
    query = "&".join(f"q={number}" for number in range(10_000))
    statuses: list[str] = []
    places = ("/", "/conversations/", "/conversations.json", "/no-such-page/", "/login/", f"/conversations/{conversation.oid}/prompt/")
    for where in places:
        environ = RequestFactory().get(where, QUERY_STRING=query, headers=headers).environ
        answer = LargePages(WSGIHandler())(environ, lambda status, *_: statuses.append(status))
        assert b"fields, or over" in b"".join(answer), where
    assert statuses == ["400 Bad Request"] * len(places)


@pytest.mark.django_db
def test_a_nul_in_an_address_or_form_is_looked_for_nowhere(client: Client, tmp_path: Path) -> None:
    """PostgreSQL has no text with one: it is refused in a sentence where no page makes it visible before."""
    conversation = imported(tmp_path / "a.db", merged())
    asked = [f"/streams/?{name}=%00" for name in ("q", "state", "rule", "source")]
    asked += [
        "/streams.json?q=a%00b",
        "/live/?of=conversation:%00&seen=0.0.0.0.0.0",
        "/?source=%00&q=%00",
        "/conversations/?q=%00&rule=%00",
    ]
    for address in asked:
        assert client.get(address).status_code in (200, 204), address
    for address in (f"/conversations/{conversation.oid}/diff/?with=%00", f"/conversations/{conversation.oid}/diff.json?with=%00"):
        answer = client.get(address)
        assert answer.status_code in (400, 404) and b"Traceback" not in answer.content, address
    answer = client.post(f"/sources/{conversation.source.oid}/import/", {"conversation": "\0"})
    assert answer.status_code in (302, 400)


def fails(request: Any) -> HttpResponse:
    raise FileNotFoundError(2, "No such file or directory", str(configured.VAR_DIR / "secret"))


urlpatterns = [path("fails/", fails), *__import__("inspector.urls").urls.urlpatterns]


@pytest.mark.django_db
def test_an_error_of_ours_names_no_file_of_the_server(settings: Settings) -> None:
    settings.ROOT_URLCONF = __name__
    answer = OperatorClient(raise_request_exception=False).get("/fails/")
    text = answer.content.decode()
    assert answer.status_code == 500 and str(configured.BASE_DIR) not in text and "secret" not in text and "Error" not in text


# A real server


@contextmanager
def served(application: Any = None) -> Iterator[int]:
    """The port of a server as `serve` sets it, with an application that answers at once."""

    def hello(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])
        return [b"hello"]

    listening = listen("127.0.0.1", 0)
    server = server_of(application or hello, listening)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.close()
        thread.join(30)


def exchanged(port: int, data: bytes) -> bytes:
    """All that the server answers to `data` until it closes the connection or 5 bytes of body are here."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        with suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(data)
        answer = b""
        with suppress(ConnectionResetError):
            while b"hello" not in answer and (piece := client.recv(4096)):
                answer += piece
        return answer


ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.slow
def test_ninety_nine_halves_of_requests_keep_nobody_waiting() -> None:
    with served() as port:
        halves = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(99)]
        for half in halves:
            half.sendall(ASK[:-2])
        assert exchanged(port, ASK).startswith(b"HTTP/1.1 200")
        for half in halves:
            half.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beginning", "piece", "is_closed"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"y", True),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n", b"y", False),
    ],
    ids=["headers", "a body"],
)
def test_headers_that_drip_are_cut_off_and_a_slow_body_is_not(
    monkeypatch: pytest.MonkeyPatch, beginning: bytes, piece: bytes, is_closed: bool
) -> None:
    monkeypatch.setattr(serve, "IDLE_SECONDS", 1)
    monkeypatch.setattr(serve, "CLEANUP_SECONDS", 1)
    with served() as port, socket.create_connection(("127.0.0.1", port), timeout=0.2) as client:
        client.sendall(beginning)
        was_closed = False
        for _ in range(300 if is_closed else 25):
            try:
                client.sendall(piece)
                was_closed = client.recv(1) == b""
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                was_closed = True
            if was_closed:
                break
        assert was_closed is is_closed


@pytest.mark.slow
def test_a_body_that_takes_too_long_is_cut_off_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from inspector import connections

    monkeypatch.setattr(connections, "BODY_SECONDS", 0)
    test_headers_that_drip_are_cut_off_and_a_slow_body_is_not(
        monkeypatch, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n", b"y", True
    )


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET /?" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000000\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"\x00\xff\r\n\r\n", b"400"),
        (b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
    ],
    ids=["long header", "long address", "large body", "no length", "no text", "no address"],
)
def test_a_request_beyond_the_limits_is_refused(data: bytes, status: bytes) -> None:
    with served() as port:
        answer = exchanged(port, data)
        assert answer.split(b" ")[1] == status and str(configured.BASE_DIR).encode() not in answer and b"Traceback" not in answer
        assert exchanged(port, ASK).startswith(b"HTTP/1.1 200")
