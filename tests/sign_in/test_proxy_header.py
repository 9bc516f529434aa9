"""A proxy that signs people in: the name that it sends counts, and nobody else's word."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_network
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.servers.basehttp import get_internal_wsgi_application
from django.db import connections
from django.test import Client
from pytest_django import Settings

from inspector.management.commands.serve import listen, server_of
from inspector.models import AuditEntry, Grant, SourceGroup
from inspector.sign_in.mapping import mapping_of
from inspector.sign_in.tokens import make
from tests.accounts import account


@pytest.fixture(autouse=True)
def with_proxy(settings: Settings) -> None:
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver", "127.0.0.1"]
    settings.INSPECTOR_PROXY_USER_HEADER, settings.INSPECTOR_PROXY_GROUPS_HEADER = "X-Remote-User", "X-Remote-Groups"
    settings.INSPECTOR_TRUSTED_PROXIES = [ip_network("10.1.0.0/16")]


def ask(name: str | None, groups: str = "", address: str = "10.1.0.9", path: str = "/account.json", **more: str) -> Any:
    headers = {"HTTP_X_REMOTE_USER": name} if name is not None else {}
    return Client(REMOTE_ADDR=address).get(path, **headers, HTTP_X_REMOTE_GROUPS=groups, **more)  # type: ignore[arg-type]


@pytest.mark.django_db
def test_the_name_of_the_proxy_is_the_account() -> None:
    account("ann", "viewer")
    for _ in range(3):
        answer = ask("ann")
        assert answer.json()["name"] == "ann" and not answer.cookies.get("inspector_session")
    assert list(AuditEntry.objects.values_list("who", "verb", "detail")) == [
        ("ann", "sign in", {"by": "proxy", "address": "10.1.0.9", "browser": "Unknown browser"})
    ]
    page = ask("ann", path="/account/").content.decode()
    assert "Sign out" not in page and "The proxy signs you in" in page
    assert ask("ann", path="/login/")["Location"] == "/"
    assert ask("Ann").status_code == 403, "no account by another writing of the name"


@pytest.mark.django_db
def test_nobody_else_is_answered_whatever_they_send(settings: Settings) -> None:
    boss = account("boss", "admin", password="correct horse battery")
    _, token = make("boss", boss, "x", "viewer")
    for address in ("192.0.2.7", "127.0.0.1", "", "10.2.0.1", "::1"):
        for more in ({}, {"HTTP_X_FORWARDED_FOR": "10.1.0.9"}, {"HTTP_AUTHORIZATION": f"Bearer {token}"}):
            answer = ask("boss", address=address, **more)
            assert answer.status_code == 403 and "only its own proxy" in answer.json()["error"], (address, more)
    assert ask("boss", address="192.0.2.7", path="/login/").status_code == 403
    # A session of before does not stand in for the header.
    client = Client(REMOTE_ADDR="10.1.0.9")
    client.force_login(boss)
    assert client.get("/").status_code == 403
    assert ask(None, HTTP_AUTHORIZATION=f"Bearer {token}", path="/index.json").status_code == 200
    settings.INSPECTOR_PROXY_USER_HEADER = ""
    assert ask("boss").status_code == 302, "the header is nothing when the mode is off"
    settings.INSPECTOR_LOCAL = True
    assert ask("boss", address="127.0.0.1").status_code == 403


@pytest.mark.django_db
def test_what_is_no_name_is_nobody(settings: Settings) -> None:
    settings.INSPECTOR_NEW_PEOPLE = "all"
    account("boss", "admin")
    account("bóss", "admin")
    for name in (
        *(
            None,
            "",
            " ",
            "boss,boss",
            "boss, ann",
            "boss\n",
            "boss\0",
            "\tboss\x7f",
            "a b",
            "boss;",
            "<b>",
            "x" * 151,
            "boss\u202e",
            "\ud800",
        ),
        "ｂｏｓｓ".encode().decode("latin-1"),
        "bo\u0301ss".encode().decode("latin-1"),
        "bóss",
    ):
        answer = ask(name)
        assert answer.status_code == 403 and answer["Content-Type"].startswith("application/json"), name
    assert ask("bóss".encode().decode("latin-1")).json()["name"] == "bóss"
    assert get_user_model().objects.count() == 2


@pytest.mark.django_db
def test_groups_are_looked_at_with_each_request(settings: Settings) -> None:
    settings.INSPECTOR_GROUP_ROLES = mapping_of('{"leads":"approver@payments","staff":"viewer"}')
    SourceGroup.objects.create(name="payments")
    assert "no account for you" in ask("carl", "others").json()["error"] and not get_user_model().objects.exists()
    assert ask("carl", "others, staff").status_code == 200
    assert [(grant.role, grant.on) for grant in Grant.objects.all()] == [("viewer", "all sources")]
    ask("carl", "leads,leads")
    assert [(grant.role, grant.on) for grant in Grant.objects.all()] == [("approver", "the group payments")]
    lines = AuditEntry.objects.count()
    ask("carl", "leads")
    assert AuditEntry.objects.count() == lines, "nothing is written where nothing changed"
    assert ask("carl", "").status_code == 200 and not Grant.objects.exists()
    get_user_model().objects.update(is_active=False)
    assert "Your account is disabled." in ask("carl", "staff").json()["error"]


@contextmanager
def serving() -> Iterator[int]:
    listening = listen("127.0.0.1", 0)
    application = get_internal_wsgi_application()

    def closing(environ: Any, start_response: Any) -> Any:
        try:
            return application(environ, start_response)
        finally:
            # Of this thread: nothing of it keeps the database of the tests open.
            connections.close_all()

    server = server_of(closing, listening)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        with suppress(OSError):
            server.close()
        listening.close()


def raw(port: int, *headers: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        lines = [b"GET /account.json HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close", *headers]
        connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
        parts = []
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.django_db(transaction=True)
def test_odd_headers_over_a_socket_name_nobody(settings: Settings) -> None:
    """As bytes, to the server that people run: what a client of Python cannot send."""
    settings.INSPECTOR_TRUSTED_PROXIES = [ip_network("127.0.0.1")]
    account("boss", "admin")
    with serving() as port:
        assert b'"name": "boss"' in raw(port, b"X-Remote-User: boss")
        for headers in (
            (b"X-Remote-User: boss", b"X-Remote-User: boss"),
            (b"X-Remote-User: ann", b"x-remote-user: boss"),
            (b"X_Remote_User: boss",),
            (b"X-Remote_User: boss",),
            (b"X-Remote-User:",),
            (b"X-Remote-User: bo\x01ss",),
            (b"X-Remote-User: boss\x00",),
            (b"X-Remote-User: boss\r\n\tann",),
            (b"X-Remote-User: \xff",),
            (b"X-Remote-User : boss",),
            (b"X-Remote-User\x00: boss",),
        ):
            answer = raw(port, *headers)
            assert answer[9:12] in (b"400", b"403") and b'"boss"' not in answer, headers
        assert b'"name": "boss"' in raw(port, b"X-Remote-User: boss", b"X_Remote_User: ann"), "the other header is dropped"
