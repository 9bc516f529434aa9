"""The data folder of a server as a target: one sentence that says how to reach what it holds; nothing in it is opened but its version and gbrain's lock."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from inspector.sources import clusters, reading
from inspector.sources.clusters import DataFolder, ServerFolder

pytestmark = pytest.mark.only_settles


def folder(path: Path, pid: str = "-42", lock: str | None = None) -> Path:
    """As PGLite 0.4.3 leaves it, without its 40 MB of tables."""
    for name in ("base/5", "global", "pg_wal"):
        (path / name).mkdir(parents=True)
    (path / "PG_VERSION").write_text("17\n")
    (path / "postmaster.pid").write_text(f"{pid}\n/pglite/data\n1795297786\n5432\n\n\n")
    if lock is not None:
        (path / clusters.LOCK).mkdir()
        (path / clusters.LOCK / "lock").write_text(lock)
    return path


def said(path: Path) -> str:
    with pytest.raises(DataFolder) as caught:
        reading.read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def gone() -> int:
    """The id of a process that ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as program:
        return program.pid


def test_it_says_how_to_serve_a_copy(tmp_path: Path) -> None:
    text = said(folder(tmp_path / "data"))
    for piece in (
        "data folder of a PGLite (PostgreSQL 17)",
        "stop gbrain, copy the folder",
        "pglite@0.4.3",
        "pglite-server --db=COPY --port=5433",
        "postgresql://postgres@127.0.0.1:5433/postgres?sslmode=disable",
    ):
        assert piece in text


@pytest.mark.parametrize("below", ["", "PG_VERSION", "postmaster.pid"])
def test_a_file_in_it_is_answered_in_the_same_way(tmp_path: Path, below: str) -> None:
    assert str(folder(tmp_path / "data")) in said(tmp_path / "data" / below)


def test_the_home_of_gbrain_is_answered_for_its_folder(tmp_path: Path) -> None:
    folder(tmp_path / "brain.pglite", pid="1")
    assert "brain.pglite is the data folder of a PGLite" in said(tmp_path)


def test_a_live_lock_is_warned_of(tmp_path: Path) -> None:
    lock = json.dumps({"pid": os.getpid(), "acquired_at": "2026-08-22T10:00:00Z", "command": "gbrain serve"})
    assert f"process {os.getpid()} (gbrain serve) has it open now, and a copy taken meanwhile is torn" in said(
        folder(tmp_path / "data", lock=lock)
    )


def test_the_lock_of_a_process_that_is_gone_is_none(tmp_path: Path) -> None:
    assert "has it open now" not in said(folder(tmp_path / "data", lock=json.dumps({"pid": gone(), "command": "gbrain serve"})))


@pytest.mark.parametrize("lock", ["", "not json", "[]", '{"pid": "x"}', '{"pid": true}', '{"pid": -1}', "[" * 4000, '{"pid": 1e999}'])
def test_a_lock_that_names_nobody_counts(tmp_path: Path, lock: str) -> None:
    assert "a process that its lock does not name has it open now" in said(folder(tmp_path / "data", lock=lock))


def test_what_a_lock_says_is_made_safe(tmp_path: Path) -> None:
    text = said(folder(tmp_path / "data", lock=json.dumps({"pid": os.getpid(), "command": "x\n\x1b[31m" + "y" * 500})))
    assert "\x1b" not in text and len(text) < 1200


def test_a_folder_of_a_native_server_is_told_from_one_of_pglite(tmp_path: Path) -> None:
    with pytest.raises(ServerFolder) as caught:
        reading.read(folder(tmp_path / "data", pid="4711"))
    assert "start it, and name the database as postgresql://" in str(caught.value)


def test_a_folder_that_only_looks_like_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "PG_VERSION").write_text("17\n")
    (tmp_path / "session.jsonl").write_text('{"type":"session","id":"x"}\n')
    clusters.refuse(tmp_path)
    clusters.refuse(tmp_path / "session.jsonl")
    clusters.refuse(tmp_path / "not there")
    clusters.refuse(Path("nul\0byte"))


@pytest.mark.only_settles(False)
@pytest.mark.django_db
@pytest.mark.parametrize("command", [["scan"], ["import_source"], ["show"], ["bundle", "--out", "x.zip"]])
def test_every_command_answers_so(tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match="data folder of a PGLite"):
        call_command(command[0], str(folder(tmp_path / "data")), *command[1:], stdout=StringIO(), stderr=StringIO())
