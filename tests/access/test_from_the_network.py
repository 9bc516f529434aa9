"""What a stranger asks a real server over the network: no address opens, none shows a word of what is there, and nothing changes."""

from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from pytest_django import Settings

from inspector.models import ApiToken, AuditEntry, Conversation, Grant, Problem, Repair, ShareLink, Source
from tests.access.planted import RENUMBER, WORD
from tests.access.test_nothing_leaks import filled, routes
from tests.accounts import account
from tests.actions.building import imported, merged, proposed
from tests.reliability import TRIES
from tests.sign_in.test_proxy_header import serving

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BREW")
OPEN = ("/healthz", "/login/", "/welcome/MQ/x/")
"""What a stranger may ask: whether it is alive, the form to sign in with, and the page of a link that sets a password, which says that this one is none."""
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HEADERS: tuple[dict[str, str], ...] = (
    {"Host": "attacker.example"},
    {"Host": "localhost:1@attacker.example"},
    {"Host": ""},
    {"X-Forwarded-Host": "attacker.example", "X-Forwarded-Proto": "https", "Forwarded": "host=attacker.example;for=127.0.0.1"},
    {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "True-Client-IP": "127.0.0.1"},
    {"X-Remote-User": "boss", "Remote-User": "boss", "X-Forwarded-User": "boss", "X-Auth-Request-User": "boss"},
    {"Authorization": "Bearer x"},
    {"Authorization": "Bearer insp_" + "0" * 40},
    {"Authorization": "Basic Ym9zczpib3Nz"},
    {"Cookie": "sessionid=0123456789abcdef0123456789abcdef; csrftoken=" + "x" * 32},
    {"Cookie": "sessionid=../../etc/passwd; inspector-token=x"},
    {"Origin": "https://attacker.example", "Referer": "https://attacker.example/", "Sec-Fetch-Site": "cross-site"},
    {"HX-Request": "true", "HX-Target": "rows", "HX-Boosted": "true"},
    {"X-HTTP-Method-Override": "POST", "X-Original-URL": "/healthz", "X-Rewrite-URL": "/healthz"},
    {"Range": "bytes=0-", "If-None-Match": "*", "If-Modified-Since": "Thu, 01 Jan 2099 00:00:00 GMT"},
    {"Accept": "application/json", "Accept-Encoding": "gzip, br, zstd, x"},
)
PATHS: tuple[Callable[[str], str], ...] = (
    lambda path: path.rstrip("/"),
    lambda path: f"/login/..{path}",
    lambda path: f"/login/%2e%2e{path}",
    lambda path: f"/static/..{path}",
    lambda path: f"/static/..%2f..{path}",
    lambda path: f"/{path}",
    lambda path: f"{path}?next=//attacker.example&reveal=1",
    lambda path: f"{path};/healthz",
    lambda path: f"{path}%00.css",
    lambda path: f"http://attacker.example{path}",
    lambda path: path.upper(),
)
"""Other ways to write an address."""


@pytest.fixture
def places(tmp_path: Path, settings: Settings) -> list[str]:
    """The address of each route, with what is there."""
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["127.0.0.1"]
    row = imported(tmp_path / f"{WORD}.db", merged())
    Conversation.objects.update(title=f"the {WORD}")
    repair = proposed(row, RENUMBER)
    account("boss", "admin")
    ids = {
        "conversations": row.oid,
        "findings": row.findings.all()[0].oid,
        "problems": Problem.objects.all()[0].oid,
        "repairs": repair.oid,
        "sources": row.source.oid,
        "new-link": row.oid,
    }
    return [address for route, _ in routes() for address in filled(route, [ids.get(route.partition("/")[0], "0123456789ab")])]


def state_of_everything() -> list[Any]:
    models: tuple[Any, ...] = (Repair, Source, Problem, Conversation, Grant, ApiToken, ShareLink, Session, get_user_model())
    acts = AuditEntry.objects.exclude(verb__in=("lock sign-in", "refuse token", "reject token")).count()
    return [acts, *(list(model._base_manager.order_by("pk").values()) for model in models)]


def requests(places: list[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    for place in places:
        yield from ((method, place, {}) for method in METHODS)
        yield from ((method, place, headers) for headers in HEADERS for method in ("GET", "POST"))
        yield from (("GET", way(place), {}) for way in PATHS)


def answered(connection: HTTPConnection, method: str, place: str, headers: dict[str, str]) -> tuple[int, str, str]:
    """Status, where it leads, and all that it says."""
    body = b"digest=x&on=1&reveal=1&action=acknowledge&text=x" if method not in ("GET", "HEAD") else b""
    connection.putrequest(method, place, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in {**headers, **(FORM if body else {}), "Content-Length": str(len(body))}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    text = answer.read()
    leads_to, by_htmx = answer.headers.get("Location", ""), answer.headers.get("HX-Redirect", "")
    # The script is told by a header to load the form to sign in with.
    status = 302 if by_htmx and not text else answer.status
    return status, leads_to or by_htmx, (text + str(answer.headers).encode()).decode(errors="replace")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_stranger_opens_nothing_and_changes_nothing(places: list[str], record_property: Callable[[str, object], None]) -> None:
    before, asked, wrong = state_of_everything(), 0, []
    with serving() as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        for method, place, headers in requests(places):
            try:
                status, leads_to, text = answered(connection, method, place, headers)
            except (HTTPException, OSError) as closed:
                # A request that the server cannot read ends its connection; the next one is answered.
                connection.close()
                status, leads_to, text = 400, "", str(closed)
            asked += 1
            # The server takes // at the beginning for /.
            is_open = status == 200 and place.partition("?")[0].replace("//", "/") in OPEN
            is_refused = status in (301, 302, 400, 401, 403, 404, 405, 429) and not leads_to.startswith(("//", "http"))
            if not (is_open or is_refused) or WORD in text or "Traceback" in text or str(configured.BASE_DIR) in text:
                wrong.append((method, place, headers, status, leads_to))
        connection.close()
    record_property(TRIES, asked)
    assert not wrong, (len(wrong), wrong[:20])
    assert asked > 5_000 and state_of_everything() == before
