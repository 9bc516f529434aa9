"""How long people stay signed in, and what ends it."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from inspector.models import AuditEntry, OpenSession
from inspector.sign_in import sessions
from inspector.sign_in.browsers import in_words
from inspector.sign_in.tokens import make
from tests.accounts import account

GOOD = "correct horse battery"


@pytest.fixture(autouse=True)
def with_accounts(settings: Settings) -> None:
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]


def signed_in(name: str = "ada", address: str = "192.0.2.7") -> Client:
    client = Client(REMOTE_ADDR=address)
    assert client.post("/login/", {"username": name, "password": GOOD}).status_code == 302
    return client


def older(client: Client, seconds: int, *names: str) -> None:
    session = client.session
    for name in names:
        session[name] -= seconds
    session.save()


@pytest.mark.django_db
def test_a_session_ends_with_its_age_and_when_nobody_uses_it(settings: Settings) -> None:
    account("ada", password=GOOD)
    client = signed_in()
    older(client, 3 * 3600, sessions.SEEN, sessions.BEGUN)
    assert client.get("/account.json").status_code == 200 and client.session[sessions.SEEN] > client.session[sessions.BEGUN] + 10_000
    older(client, 4 * 3600, sessions.SEEN)
    assert client.get("/account.json").status_code == 302 and not OpenSession.objects.exists() and not Session.objects.exists()
    client = signed_in()
    older(client, 24 * 3600, sessions.BEGUN)
    assert client.get("/").status_code == 302
    settings.INSPECTOR_SESSION_HOURS = settings.INSPECTOR_SESSION_IDLE_HOURS = 48
    client = signed_in()
    older(client, 24 * 3600, sessions.BEGUN, sessions.SEEN)
    assert client.get("/").status_code == 200
    session = client.session
    del session[sessions.BEGUN]
    session.save()
    assert client.get("/").status_code == 302, "one of an older version says nothing of its age"


@pytest.mark.django_db
def test_a_new_password_and_a_disabled_account_end_every_session() -> None:
    ada = account("ada", password=GOOD)
    one, other = signed_in(), signed_in()
    ada.is_active = False
    ada.save()
    assert one.get("/").status_code == 302
    ada.is_active = True
    ada.set_password(GOOD + "!")
    ada.save()
    assert other.get("/").status_code == 302
    assert sessions.open_sessions(ada) == []


@pytest.mark.django_db
def test_one_sees_where_one_is_signed_in_and_ends_it_everywhere() -> None:
    account("ada", password=GOOD)
    account("bob", password=GOOD)
    here, there, bob = signed_in(), signed_in(address="198.51.100.1"), signed_in("bob", "203.0.113.1")
    rows = here.get("/account.json").json()["sessions"]
    assert sorted((row["address"], row["by"], row["is_this"]) for row in rows) == [
        ("192.0.2.7", "password", True),
        ("198.51.100.1", "password", False),
    ]
    page = here.get("/account/").content.decode()
    assert "198.51.100.1" in page and "203.0.113.1" not in page and "this browser" in page
    assert here.post("/account/sessions/end/")["Location"] == "/login/?signed=out"
    assert [client.get("/").status_code for client in (here, there, bob)] == [302, 302, 200]
    assert AuditEntry.objects.filter(who="ada", verb="sign out everywhere", detail={"sessions": 2}).exists()
    bob.post("/logout/")
    assert not OpenSession.objects.exists()


AGENTS = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0": "Firefox on Linux",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Safari/537.36 Edg/128.0": "Edge on Windows",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Safari/537.36": "Chrome on macOS",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1": (
        "Safari on iPhone"
    ),
    "Mozilla/5.0 (Linux; Android 14; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36": (
        "Samsung Internet on Android"
    ),
    "curl/8.5.0": "curl",
    "Links (2.29; Linux 6.1)": "Another browser on Linux",
    "nothing that we know": "Unknown browser",
    "": "Unknown browser",
}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_browser_is_said_in_words(agent: str) -> None:
    assert in_words(agent) == AGENTS[agent]


@pytest.mark.django_db
def test_one_session_is_ended_by_its_person_alone_and_the_others_stay() -> None:
    account("ada", password=GOOD)
    account("bob", password=GOOD)
    here, there, bob = signed_in(), Client(REMOTE_ADDR="198.51.100.1"), signed_in("bob", "203.0.113.1")
    hostile = "Firefox/1 Windows <script>\u202e" + "x" * 400
    there.post("/login/", {"username": "ada", "password": GOOD}, headers={"User-Agent": hostile})
    rows = {row["address"]: row for row in here.get("/account.json").json()["sessions"]}
    other = rows["198.51.100.1"]
    assert other["browser"] == "Firefox on Windows" and len(other["user_agent"]) == 200 and "\u202e" not in other["user_agent"]
    page = here.get("/account/").content.decode()
    assert "<script>\\" not in page and "&lt;script&gt;" in page and page.count(f"/account/sessions/{other['id']}/end/") == 1
    assert page.count("this browser") == 1 and f"/account/sessions/{rows['192.0.2.7']['id']}/end/" not in page
    assert "has ended already" in bob.post(f"/account/sessions/{other['id']}/end/", follow=True).content.decode()
    said = here.post(f"/account/sessions/{other['id']}/end/", follow=True).content.decode()
    assert "Firefox on Windows at 198.51.100.1 is signed out." in said
    assert [client.get("/").status_code for client in (here, there, bob)] == [200, 302, 200]
    line = AuditEntry.objects.get(verb="sign out of one session")
    assert (line.who, line.detail) == ("ada", {"browser": "Firefox on Windows", "address": "198.51.100.1"})
    assert "has ended already" in here.post(f"/account/sessions/{other['id']}/end/", follow=True).content.decode()
    assert here.post(f"/account/sessions/{rows['192.0.2.7']['id']}/end/")["Location"] == "/login/?signed=out"
    assert [client.get("/").status_code for client in (here, bob)] == [302, 200] and OpenSession.objects.count() == 1


@pytest.mark.django_db
def test_the_page_asks_as_many_queries_for_many_sessions_and_tokens(django_assert_max_num_queries: Any) -> None:
    ada = account("ada", "viewer", password=GOOD)
    here = signed_in()
    here.get("/account/")
    for number in range(9):
        signed_in(address=f"198.51.100.{number}")
        make("ada", ada, f"token {number}", "viewer")
    with django_assert_max_num_queries(14):
        assert here.get("/account/").content.count(b'"address">198.51.100.') == 9


@pytest.mark.django_db
def test_cookies_are_for_this_site_only_and_end_with_the_session(settings: Settings) -> None:
    account("ada", password=GOOD)
    cookie = signed_in().cookies[settings.SESSION_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 24 * 3600)
    settings.SESSION_COOKIE_SECURE = True
    assert signed_in().cookies[settings.SESSION_COOKIE_NAME]["secure"] is True


@pytest.mark.django_db
def test_what_ended_by_itself_is_forgotten_with_the_next_sign_in() -> None:
    account("ada", password=GOOD)
    signed_in()
    Session.objects.update(expire_date=timezone.now() - timedelta(hours=1))
    OpenSession.objects.update(seen_at=timezone.now() - timedelta(hours=9))
    signed_in()
    assert Session.objects.count() == OpenSession.objects.count() == 1


@pytest.mark.django_db
def test_in_local_mode_there_is_no_account(client: Client, settings: Settings) -> None:
    from tests.operators import OperatorClient

    settings.INSPECTOR_LOCAL = True
    operator = OperatorClient()
    page, twin = operator.get("/account/"), operator.get("/account.json")
    assert page.status_code == 200 and twin.status_code == 404
    assert b"there are no accounts" in page.content and b"serve --json" in page.content and b"there are no accounts" in twin.content
    for address in ("/account/tokens/", "/account/tokens/1/revoke/", "/account/sessions/end/", "/account/sessions/1/end/"):
        assert operator.post(address).status_code == 404
    for address in ("/login/provider/", "/login/provider/done/?code=x&state=y"):
        assert operator.get(address)["Location"] == "/login/", "no provider is set"
