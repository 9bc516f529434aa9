"""Attempts to sign in wait after a few that failed, and nobody learns from it whether an account exists."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from inspector.models import AuditEntry, FailedSignIn
from inspector.sign_in import throttle
from inspector.sign_in.client_address import nearest_untrusted, network_of
from tests.accounts import account

GOOD = "correct horse battery"


@pytest.fixture(autouse=True)
def with_accounts(settings: Settings) -> None:
    settings.INSPECTOR_LOCAL, settings.ALLOWED_HOSTS = False, ["testserver"]


def attempt(name: str = "ada", password: str = "no", address: str = "192.0.2.7") -> Any:
    return Client(REMOTE_ADDR=address).post("/login/", {"username": name, "password": password})


def later(seconds: int) -> None:
    for row in FailedSignIn.objects.all():
        row.last_at -= timedelta(seconds=seconds)
        row.locked_until = row.locked_until and row.locked_until - timedelta(seconds=seconds)
        row.save()


@pytest.mark.django_db
def test_five_failures_lock_a_name_from_one_address_and_the_log_says_so_once() -> None:
    account("ada", password=GOOD)
    answers = [attempt() for _ in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 3
    text = answers[-1].content.decode()
    assert "Too many attempts failed. Wait 30 seconds, then try again." in text and int(answers[-1]["Retry-After"]) <= 30
    assert attempt(password=GOOD).status_code == 429, "the right password is not looked at while the name waits"
    assert attempt("ADA ", GOOD).status_code == 429, "another way to write the name is no other name"
    assert attempt("ada", GOOD, "198.51.100.1").status_code == 302, "from elsewhere the person gets in"
    lines = list(AuditEntry.objects.filter(verb="lock sign-in").values_list("who", "detail"))
    assert lines == [("", {"name": "ada", "address": "192.0.2.7", "for": "this name from this address", "wait": "30 seconds"})]


@pytest.mark.django_db
def test_each_lock_is_twice_as_long_until_the_right_password_or_an_hour() -> None:
    account("ada", password=GOOD)
    for _ in range(5):
        attempt()
    waits = []
    for _ in range(7):
        waits.append(int(attempt()["Retry-After"]))
        later(waits[-1] + 1)
        assert attempt().status_code == 200
    assert [round(wait, -1) for wait in waits] == [30, 60, 120, 240, 480, 900, 900]
    later(901)
    assert attempt(password=GOOD).status_code == 302
    assert not FailedSignIn.objects.exclude(kind="address").exists()
    assert [attempt().status_code for _ in range(5)] == [200] * 5
    later(throttle.FORGOTTEN + 31)
    assert [attempt().status_code for _ in range(5)] == [200] * 5, "after an hour the count begins again"


@pytest.mark.django_db
def test_a_name_without_an_account_is_answered_like_one_with() -> None:
    account("qqad", password=GOOD)
    account("zyxw", password=GOOD, is_active=False)
    told: list[list[tuple[int, bytes]]] = []
    for name in ("qqad", "nobody", "zyxw"):
        answers = [attempt(name, GOOD if name == "zyxw" else "no", f"192.0.2.{len(told)}") for _ in range(7)]
        told.append([(answer.status_code, answer.content.replace(name.encode(), b"NAME")) for answer in answers])
    plain = [[(status, re.sub(rb'value="\w{64}"', b"", text)) for status, text in each] for each in told]
    assert plain[0] == plain[1] == plain[2]


@pytest.mark.django_db
def test_many_names_from_one_address_and_one_name_from_many_are_locked_too() -> None:
    statuses = [attempt(f"name{number}").status_code for number in range(32)]
    assert statuses == [200] * 30 + [429] * 2
    account("ada", password=GOOD)
    assert attempt("ada", GOOD, "192.0.2.8").status_code == 302
    statuses = [attempt("bob", address=f"198.51.100.{number}").status_code for number in range(52)]
    assert statuses == [200] * 50 + [429] * 2
    # Who has an account cannot go on guessing by signing in between.
    later(10_000)
    FailedSignIn.objects.all().delete()
    statuses = []
    for number in range(40):
        statuses.append(attempt(f"other{number}").status_code)
        attempt("ada", GOOD)
    assert 429 in statuses


@pytest.mark.django_db
def test_the_old_password_of_a_change_is_not_guessed_either() -> None:
    client = Client()
    client.force_login(account("ada", password=GOOD))
    new = {"new_password1": GOOD + "!", "new_password2": GOOD + "!"}
    statuses = [client.post("/password/", {"old_password": str(number), **new}).status_code for number in range(7)]
    assert statuses == [200] * 5 + [429] * 2
    assert client.post("/password/", {"old_password": GOOD, **new}).status_code == 429
    later(31)
    assert client.post("/password/", {"old_password": GOOD, **new}).status_code == 302


@pytest.mark.django_db
def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "MOST_ROWS", 40)
    for number in range(60):
        throttle.begin(f"name{number}", f"10.0.{number}.1")
    assert FailedSignIn.objects.count() <= 43
    FailedSignIn.objects.update(last_at=timezone.now() - timedelta(days=1))
    throttle.begin("last", "10.1.1.1")
    assert FailedSignIn.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_attempts_at_the_same_moment_are_each_counted() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("the database of the tests is in memory, and has one connection")

    def one(_: int) -> int:
        try:
            return throttle.begin("ada", "192.0.2.7").wait
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        waits = list(pool.map(one, range(30)))
    assert sum(wait == 0 for wait in waits) == throttle.LIMITS["both"]


def test_the_address_of_a_client_is_what_trusted_proxies_say() -> None:
    from ipaddress import ip_network

    trusted = [ip_network("127.0.0.1"), ip_network("10.1.0.0/16")]
    for peer, forwarded, expected in (
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7"),
        ("127.0.0.1", "198.51.100.7, nonsense", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("::ffff:127.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("", "198.51.100.7", ""),
    ):
        assert nearest_untrusted(peer, forwarded, trusted) == expected, (peer, forwarded)
        assert nearest_untrusted(peer, forwarded, []) == ("127.0.0.1" if peer.startswith("::ffff:") else peer)
    assert network_of("2001:db8:1:2:3::4") == network_of("2001:db8:1:2:9::9") != network_of("2001:db8:1:3::1")
