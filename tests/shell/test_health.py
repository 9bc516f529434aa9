"""/healthz: whether the server can work, for whoever asks, and nothing else of it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from inspector.health import PATH
from inspector.models import Source
from inspector.models.watch import LOST, Watch, Watcher, leave_watch, take_watch
from inspector.sources.processes import this_process

WORKS = {"database": "ok", "migrations": "ok", "spool": "ok", "workers": "ok", "deliveries": "ok", "watcher": "ok"}


@pytest.fixture
def monitor() -> Client:
    """Without a token, under any host name, through a proxy, from another machine."""
    return Client(headers={"host": "10.0.0.7:8000", "x-forwarded-for": "192.0.2.7"}, REMOTE_ADDR="192.0.2.8")


@pytest.mark.django_db
@pytest.mark.parametrize("local", [True, False])
def test_a_server_that_works_says_so_to_whoever_asks(monitor: Client, settings: Settings, local: bool) -> None:
    settings.INSPECTOR_LOCAL = local
    answer = monitor.get(PATH)
    assert (answer.status_code, answer.json(), answer.headers["Cache-Control"]) == (200, WORKS, "no-store") and not answer.cookies
    assert monitor.head(PATH).content == b""
    assert monitor.post(PATH).status_code == 405 and monitor.post(PATH).headers["Allow"] == "GET, HEAD"
    assert monitor.get(f"{PATH}/").status_code != 200


@pytest.fixture
def _one_migration_less(db: None) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'inspector' AND name = '0001_initial'")
    yield


@pytest.mark.usefixtures("_one_migration_less")
def test_an_older_database_is_no_place_to_work(monitor: Client) -> None:
    answer = monitor.get(PATH)
    assert (answer.status_code, answer.json()) == (503, WORKS | {"migrations": "failed"})


@pytest.mark.django_db
def test_a_database_that_is_not_there_is_no_place_to_work(monitor: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a real connection, to a file in a folder that does not exist."""
    from django.db.backends.sqlite3.base import DatabaseWrapper

    from inspector import health

    lost = DatabaseWrapper({**connection.settings_dict, "OPTIONS": {}, "NAME": str(tmp_path / "none" / "own.sqlite3")}, "lost")
    monkeypatch.setattr(health, "connection", lost)
    answer = monitor.get(PATH)
    assert (answer.status_code, answer.json()) == (503, WORKS | {"database": "failed", "migrations": "failed"})
    assert str(tmp_path) not in answer.content.decode()


@pytest.mark.django_db
def test_a_full_or_missing_folder_of_temporary_files_is_no_place_to_work(
    monitor: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    answer = monitor.get(PATH)
    assert (answer.status_code, answer.json()) == (503, WORKS | {"spool": "failed"})


@pytest.mark.django_db
def test_watched_sources_at_which_nobody_looks_are_no_good_sign(monitor: Client, settings: Settings) -> None:
    source = Source.objects.create(oid="a" * 12, path="/srv/a.db", format="dispatch", read_at=timezone.now())
    Watch.objects.create(source=source, is_on=False)
    Watcher.objects.create(pk=1, by="a process that is not there", alive_at=timezone.now() - 2 * LOST)
    assert monitor.get(PATH).json() == WORKS
    Watch.objects.update(is_on=True)
    answer = monitor.get(PATH)
    assert (answer.status_code, answer.json()) == (503, WORKS | {"watcher": "failed"})
    assert take_watch(this_process())
    assert monitor.get(PATH).json() == WORKS
    settings.INSPECTOR_WATCH = False
    leave_watch(this_process())
    assert monitor.get(PATH).json() == WORKS
