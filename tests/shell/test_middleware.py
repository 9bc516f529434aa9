"""Who a request is from, and what it is told when that is nobody."""

import gzip
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from inspector.access_token import bearer
from inspector.database_problems import BUSY
from inspector.environment import os_user
from inspector.middleware import Compressed, name_the_operator, read_one_snapshot
from inspector.sign_in import sessions

Ask = Callable[..., HttpResponse]


@pytest.fixture
def ask() -> Ask:
    """Sends one request with the token through the middleware to a view that says who the operator is."""

    def ask(path: str = "/repairs/", user: Any = None, **environ: str) -> HttpResponse:
        request = RequestFactory().get(path, HTTP_AUTHORIZATION=bearer()["Authorization"], **environ)  # type: ignore[arg-type]
        request.user = user or AnonymousUser()
        request.session = {sessions.BEGUN: time.time(), sessions.SEEN: time.time()}  # type: ignore[assignment]
        return name_the_operator(lambda request: HttpResponse(f"operator={request.operator}"))(request)  # type: ignore[attr-defined]

    return ask


@pytest.fixture
def shared(settings: Settings) -> None:
    settings.INSPECTOR_LOCAL = False


def said(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, answer.content.decode()


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
def test_in_local_mode_a_request_of_this_machine_acts_as_the_os_user(ask: Ask, address: str) -> None:
    assert said(ask(REMOTE_ADDR=address)) == (200, f"operator={os_user()}")


@pytest.mark.parametrize(
    "environ",
    [
        {"REMOTE_ADDR": "192.0.2.7"},
        {"REMOTE_ADDR": "::ffff:192.0.2.7"},
        {"REMOTE_ADDR": ""},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_X_FORWARDED_HOST": "localhost"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
    ],
)
def test_in_local_mode_everybody_else_is_told_what_to_set(ask: Ask, environ: dict[str, str]) -> None:
    for user in (None, User(username="ada")):
        status, text = said(ask(user=user, **environ))
        assert status == 403 and "DJANGO_ALLOWED_HOSTS" in text and text.count("\n") == 1


def test_a_signed_in_user_acts_under_their_own_name(ask: Ask, settings: Settings) -> None:
    assert said(ask(user=User(username="ada"))) == (200, "operator=ada")
    settings.INSPECTOR_LOCAL = False
    assert said(ask(user=User(username="ada"), REMOTE_ADDR="192.0.2.7", HTTP_X_FORWARDED_FOR="198.51.100.1")) == (200, "operator=ada")


@pytest.mark.usefixtures("shared")
def test_outside_local_mode_nobody_goes_to_the_login_page(ask: Ask) -> None:
    answer = ask("/repairs/?state=proposed")
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/repairs/%3Fstate%3Dproposed")


@pytest.mark.usefixtures("shared")
def test_a_program_without_a_token_is_told_what_to_send(ask: Ask) -> None:
    for path in ("/index.json", "/conversations/x/bundle.zip", "/audit/export.csv"):
        answer = ask(path, HTTP_ACCEPT="*/*")
        assert (answer.status_code, answer["WWW-Authenticate"][:6]) == (401, "Bearer"), path
        assert "Authorization: Bearer insp_" in answer.content.decode()
    assert set(json.loads(ask("/index.json", HTTP_ACCEPT="application/json").content)) == {"error"}
    # A browser signs in, and comes back.
    for path, accept in (("/index.json", "text/html,*/*;q=0.8"), ("/repairs/", "*/*"), ("/users.json", "*/*")):
        assert ask(path, HTTP_ACCEPT=accept).status_code == 302, path


@pytest.mark.usefixtures("shared")
def test_htmx_takes_the_whole_page_to_the_login_page(ask: Ask) -> None:
    answer = ask("/repairs/", HTTP_HX_REQUEST="true")
    assert (answer.status_code, answer["HX-Redirect"]) == (200, "/login/?next=/repairs/")


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("path", ["/login/", "/static/site.css"])
def test_the_login_page_and_static_files_are_open_to_all(ask: Ask, path: str) -> None:
    assert said(ask(path)) == (200, "operator=")


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("path", ["/login/../repairs/", "/login/x", "/statics/", "//login/"])
def test_an_address_that_looks_like_the_login_page_is_closed(ask: Ask, path: str) -> None:
    assert ask(path).status_code == 302


def test_a_foreign_host_name_that_leads_to_this_machine_is_refused(ask: Ask) -> None:
    status, text = said(ask(HTTP_HOST="attacker.example"))
    assert status == 400 and "DJANGO_ALLOWED_HOSTS" in text and "attacker" not in text


def test_every_answer_forbids_inline_code_frames_and_sniffing(client: Client, db: None) -> None:
    headers = client.get("/no-such-page/").headers
    policy = {
        name: rest.split() for name, _, rest in (part.strip().partition(" ") for part in headers["Content-Security-Policy"].split(";"))
    }
    assert policy == {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
    assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("DENY", "nosniff", "same-origin")


def test_static_files_come_out_of_the_packages_with_debug_off(client: Client, settings: Settings) -> None:
    assert not settings.DEBUG
    answer = client.get("/static/django_htmx/htmx-2.min.js")
    assert answer.status_code == 200 and "javascript" in answer["Content-Type"] and "Content-Security-Policy" in answer
    assert b"htmx" in answer.content


def test_a_refused_request_gets_the_security_headers_too(client: Client) -> None:
    answer = client.get("/", REMOTE_ADDR="192.0.2.7")
    assert answer.status_code == 403 and "Content-Security-Policy" in answer


@pytest.mark.django_db
@pytest.mark.parametrize(
    "error", [psycopg.errors.AdminShutdown("closed"), psycopg.OperationalError("consuming input failed"), DatabaseError("gone")]
)
def test_a_database_that_goes_away_while_rows_are_read_is_one_sentence(error: Exception) -> None:
    """Rows that are read a few at a time are closed by the driver, whose own error Django does not translate."""

    def view(request: HttpRequest) -> HttpResponse:
        raise error

    answer = read_one_snapshot(view).process_view(RequestFactory().get("/"), view, [], {})  # type: ignore[attr-defined]
    assert said(answer) == (503, f"{BUSY}\n")


def test_the_request_that_views_get_is_the_one_that_came(ask: Ask) -> None:
    seen: list[HttpRequest] = []
    request = RequestFactory().get("/", headers=bearer())
    request.user = AnonymousUser()
    name_the_operator(lambda request: seen.append(request) or HttpResponse())(request)  # type: ignore[func-returns-value]
    assert seen == [request]


def test_a_page_is_compressed_for_whom_asks_and_never_twice_alike(client: Client, db: None) -> None:
    """Equal pages of different lengths: nobody learns a secret next to their own words from a size (BREACH)."""
    plain = client.get("/rules/")
    packed = [client.get("/rules/", headers={"accept-encoding": "gzip"}) for _ in range(5)]
    assert "Content-Encoding" not in plain.headers and plain.headers["Vary"].count("Accept-Encoding") == 1
    assert all(answer.headers["Content-Encoding"] == "gzip" and len(answer.content) * 4 < len(plain.content) for answer in packed)
    assert all(b"<h1" in gzip.decompress(answer.content) for answer in packed)
    assert len({len(answer.content) for answer in packed}) > 1


def streamed(kind: str, parts: Iterator[bytes]) -> StreamingHttpResponse:
    """What a client that accepts gzip gets of `parts`."""
    middleware = Compressed(lambda request: StreamingHttpResponse(parts, content_type=kind))
    answer = middleware(RequestFactory().get("/", headers={"accept-encoding": "gzip"}))
    assert isinstance(answer, StreamingHttpResponse)
    return answer


def test_an_event_is_sent_before_the_next_one_happens() -> None:
    happened: list[int] = []

    def events() -> Iterator[bytes]:
        for number in range(3):
            happened.append(number)
            yield b"data: %d\n\n" % number

    answer = streamed("text/event-stream; charset=utf-8", events())
    parts = iter(answer.streaming_content)  # type: ignore[arg-type]
    assert "Content-Encoding" not in answer.headers
    assert (next(parts), happened) == (b"data: 0\n\n", [0])
    assert (next(parts), happened) == (b"data: 1\n\n", [0, 1])


def test_a_streamed_download_is_compressed_and_never_held_whole() -> None:
    sent: list[int] = []

    def parts() -> Iterator[bytes]:
        for number in range(50):
            sent.append(number)
            yield os.urandom(100_000)

    answer = streamed("application/x-ndjson", parts())
    assert answer.headers["Content-Encoding"] == "gzip"
    received = iter(answer.streaming_content)  # type: ignore[arg-type]
    assert len(next(received)) < 1000 and len(next(received)) > 10_000 and len(sent) < 5


def test_a_zip_is_sent_as_it_is() -> None:
    middleware = Compressed(lambda request: HttpResponse(b"PK" * 5000, content_type="application/zip"))
    assert "Content-Encoding" not in middleware(RequestFactory().get("/", headers={"accept-encoding": "gzip"})).headers
