"""A store of very many conversations in which nothing was said: the first of them are examined, and how many are not is reported."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inspector.checking import check_all
from inspector.models import Conversation
from inspector.sources import reading
from inspector.sources.places import place
from inspector.sources.streaming import OpenStore
from inspector.text import limits
from tests.actions.building import make, merged
from tests.commands.running import run


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_EMPTY", 3)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Seven conversations that are a title, and one of several messages."""
    path = tmp_path / "dispatch.db"
    make(path, merged().values)
    add_empty(path, 7)
    return path


def add_empty(path: Path, count: int) -> None:
    meta = [
        (f"conv:empty{number}:meta", json.dumps({"id": f"empty{number}", "createdAt": 1, "lastActivityAt": 1})) for number in range(count)
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT OR REPLACE INTO kv VALUES ('conversation-store', ?, ?)", meta)


def test_those_over_the_limit_are_not_read_and_counted(store: Path) -> None:
    with reading.opened(place(str(store))) as opened:
        assert isinstance(opened, OpenStore)
        assert opened.unexamined == {"empty3", "empty4", "empty5", "empty6"} and len(opened.listed) == 8
        assert [listed.native_id for listed in opened.examined if listed.native_id.startswith("empty")] == ["empty0", "empty1", "empty2"]
    assert len(list(check_all(store))) == 4


def test_scan_says_how_many_are_not_examined(store: Path) -> None:
    ran = run("scan", store, "--no-cache")
    assert "4 of its conversations consist of one record or none and were not examined" in ran.out and "INSPECTOR_MOST_EMPTY" in ran.out
    assert "of 4 conversations" in ran.out


def test_doctor_says_so_too(store: Path) -> None:
    assert "4 of its conversations consist of one record or none and were not examined" in run("doctor", store).out


def test_at_the_limit_nothing_is_said(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_EMPTY", 7)
    ran = run("scan", store, "--no-cache")
    assert "not examined" not in ran.out and "of 8 conversations" in ran.out


def test_one_over_the_limit_is_shown_when_it_is_named(store: Path) -> None:
    ran = run("show", store, "--conversation", "empty6")
    assert ran.status == 0 and "empty6" in ran.out


@pytest.mark.django_db
def test_an_import_reports_them_and_marks_none_of_them_as_gone(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_EMPTY", 5)
    run("import_source", store)
    monkeypatch.setattr(limits, "MOST_EMPTY", 3)
    ran = run("import_source", store)
    assert Conversation.objects.filter(native_id__startswith="empty", is_gone=False).count() == 5
    (source,) = {conversation.source for conversation in Conversation.objects.all()}
    assert [problem["where"] for problem in source.problems] == ["its conversations"], ran.out
