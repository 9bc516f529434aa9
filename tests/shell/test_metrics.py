"""/metrics: stored counts for Prometheus, at the cost of a few queries, for who is let in or shows its token."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from inspector import environment, metrics
from inspector.models import Source
from tests.accounts import account
from tests.actions.building import broken, imported, merged, proposed
from tests.operators import OperatorClient

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[object]]
TOKEN = "scrape-0123456789abcdef"


def samples(client: Client) -> dict[tuple[str, ...], float]:
    """(name, values of the labels in the order of their names) -> value; read by Prometheus' own parser."""
    answer = client.get("/metrics")
    assert (
        answer.status_code == 200
        and answer.headers["Content-Type"].startswith("text/plain")
        and answer.headers["Cache-Control"] == "no-store"
    )
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


def test_what_is_stored_is_counted_by_source_and_rule(tmp_path: Path) -> None:
    client = OperatorClient()
    conversation = imported(tmp_path / "a.db", merged())
    proposed(conversation, "renumber-messages")
    source = Source.objects.get()
    client.get(f"/conversations/{conversation.oid}/")
    client.get("/no-such-page-0123456789/")
    found = samples(client)
    assert found["inspector_open_problem_conversations", "MSG101", "error", source.oid] == 1
    assert found["inspector_conversations", "true", source.oid] == 1 and found["inspector_repairs", "proposed"] == 1
    assert found["inspector_source_info", "false", source.format, source.name, source.oid] == 1
    assert found["inspector_request_seconds_count", "/conversations/<slug:oid>/"] >= 1
    assert found["inspector_responses_total", "4xx"] >= 1
    assert not any("no-such-page" in part or conversation.oid in part for key in found for part in key)


def test_it_takes_the_same_few_queries_whatever_there_is(tmp_path: Path, django_assert_max_num_queries: MaxQueries) -> None:
    client = OperatorClient()
    with django_assert_max_num_queries(16 if connection.vendor == "postgresql" else 11):
        samples(client)
    for number in range(3):
        imported(tmp_path / f"{number}.db", broken())
    with django_assert_max_num_queries(16 if connection.vendor == "postgresql" else 11):
        samples(client)


def test_the_series_of_many_sources_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        imported(tmp_path / f"{number}.db", merged())
    monkeypatch.setattr(metrics, "MOST_SOURCES", 2)
    found = samples(OperatorClient())
    assert found["inspector_open_problem_conversations", "MSG101", "error", "other"] == 2
    assert len([key for key in found if key[0] == "inspector_source_info"]) == 2


def test_a_hostile_name_of_a_source_is_one_escaped_label(tmp_path: Path) -> None:
    folder = tmp_path / 'x"} 1\ninspector_workers 99\n'
    folder.mkdir()
    imported(folder / "a.db", merged())
    name = tmp_path / 'ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2".db'
    imported(name, merged())
    found = samples(OperatorClient())
    assert ("inspector_workers",) not in found or connection.vendor == "postgresql"
    assert "ghp_a1B2" not in OperatorClient().get("/metrics").content.decode()


def test_who_is_not_let_in_gets_no_number(settings: Settings, tmp_path: Path) -> None:
    settings.INSPECTOR_METRICS_TOKEN = TOKEN
    stranger = Client()
    assert stranger.get("/metrics").status_code == 403
    assert stranger.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    settings.INSPECTOR_LOCAL = False
    assert stranger.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    for header in ({}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": TOKEN}, {"authorization": "Bearer "}):
        answer = stranger.get("/metrics", headers=header)
        assert answer.status_code == 401 and "INSPECTOR_METRICS_TOKEN" in answer.content.decode() and b"inspector_" not in answer.content
    for address in ("/", "/index.json", "/sources.json", "/metrics/", "/notifications.json"):
        assert stranger.get(address, headers={"authorization": f"Bearer {TOKEN}"}).status_code in (302, 404), address
    settings.INSPECTOR_METRICS_TOKEN = ""
    assert stranger.get("/metrics", headers={"authorization": "Bearer "}).status_code == 401
    imported(tmp_path / "a.db", merged())
    for user, status in ((account("ana", "viewer"), 200), (account("ben", "admin", Source.objects.get()), 403), (account("eve", ""), 403)):
        stranger.force_login(user)
        answer = stranger.get("/metrics")
        assert answer.status_code == status and (b"inspector_conversations{" in answer.content) is (status == 200), user
    # Whoever's session comes along: the token counts everything.
    settings.INSPECTOR_METRICS_TOKEN = TOKEN
    assert b"inspector_conversations{" in stranger.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).content


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("INSPECTOR_METRICS_TOKEN", "short", environment.bearer_token),
        ("INSPECTOR_NOTIFY_PRIVATE", "10.0.0.0/8,internal", environment.networks),
        ("INSPECTOR_NOTIFY_PRIVATE", "10.0.0.1/8", environment.networks),
        ("INSPECTOR_EMAIL_URL", "smtp.example.org:secret-password", environment.email),
        ("INSPECTOR_EMAIL_URL", "http://u:secret-password@h", environment.email),
        ("INSPECTOR_EMAIL_FROM", "a@b\nBcc: c@example.org", environment.sender),
    ],
)
def test_a_setting_that_cannot_be_is_said_without_its_secret(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, read: Callable[[str], object]
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(environment.ImproperlyConfigured, match=name) as problem:
        read(name)
    assert "secret-password" not in str(problem.value)


def test_the_mail_server_is_read_from_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "smtp+tls://me%40example.org:p%40ss@mail.example.org:587")
    read = environment.email("X")
    assert (read["EMAIL_HOST"], read["EMAIL_PORT"], read["EMAIL_USE_TLS"]) == ("mail.example.org", 587, True)
    assert (read["EMAIL_HOST_USER"], read["EMAIL_HOST_PASSWORD"]) == ("me@example.org", "p@ss")
    assert re.fullmatch(r"inspector@\S+", environment.sender("Y"))
