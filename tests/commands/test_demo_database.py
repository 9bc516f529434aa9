"""The demo's gbrain in a private PostgreSQL: kept, written again, left alone where it is somebody's, and running only while somebody looks."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pytest_django import Settings

from inspector.demo import private_postgres
from inspector.demo.database import served
from inspector.demo.private_postgres import CannotStart
from inspector.models import Conversation, Source
from tests.commands.running import run

pytestmark = pytest.mark.django_db
LEDGER_RESULTS = ("--conversation", "4107", "--strategy", "insert-ledger-results")


@pytest.fixture
def folder(settings: Settings) -> Iterator[Path]:
    """Where a server can run: a short path, which the account of the server may enter."""
    base = Path(tempfile.mkdtemp(prefix="ipd-"))
    base.chmod(0o711)
    settings.VAR_DIR = base
    demo = base / "demo"
    demo.mkdir()
    demo.chmod(0o711)
    try:
        with private_postgres.running(demo / "postgres"):
            pass
        yield demo
    except CannotStart as problem:
        pytest.skip(str(problem))
    finally:
        shutil.rmtree(base, ignore_errors=True)


def indexes(address: str) -> list[int]:
    with psycopg.connect(address) as connection:
        return [row[0] for row in connection.execute("SELECT message_idx FROM subagent_messages WHERE job_id = 4107 ORDER BY 1")]


def test_the_jobs_stand_in_a_database_that_runs_while_it_is_served(folder: Path) -> None:
    ran = run("demo", "--json")
    assert ran.status == 0 and ran.json["gbrain"] == f"postgresql://postgres@/gbrain?host={folder}/postgres"
    source = Source.objects.get(format="gbrain")
    assert source.is_demo and source.conversations.count() == 7 and (folder / "gbrain.sql").is_file()
    assert "check host, port and parameters, and that the server runs" in run("scan", source.path).err
    with served() as problems:
        assert problems == [] and indexes(source.path) == [0, 1]
        assert run("scan", source.path).status == 1
    with pytest.raises(psycopg.OperationalError):
        indexes(source.path)


def test_a_repaired_job_stays_until_it_is_written_again(folder: Path) -> None:
    address = run("demo", "--json").json["gbrain"]
    with served():
        ran = run("repair", address, *LEDGER_RESULTS, "--mode", "in-place", "--apply")
        assert ran.status == 0, ran.err
    assert "loaded into a PostgreSQL of its own" in run("demo").out
    with served():
        assert indexes(address) == [0, 1, 2]
    assert Conversation.objects.get(source__format="gbrain", native_id="4107").message_count == 3
    assert run("demo", "--fresh").status == 0
    with served():
        assert indexes(address) == [0, 1]


def test_a_server_that_runs_already_goes_on(folder: Path) -> None:
    with private_postgres.running(folder / "postgres"):
        address = run("demo", "--json").json["gbrain"]
        assert indexes(address) == [0, 1]


@pytest.mark.parametrize("statement", ["CREATE DATABASE mine", "INSERT INTO minion_jobs (id, name) VALUES (1, 'subagent')"])
def test_a_database_with_something_else_in_it_is_left_alone(folder: Path, statement: str) -> None:
    address = run("demo", "--json").json["gbrain"]
    with served(), psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement.encode())
    ran = run("demo", "--fresh")
    assert ran.status == 2 and "is not the demo's database alone and stays as it is" in ran.err and ran.err.count("\n") == 1
    with served(), psycopg.connect(address) as connection:
        held = connection.execute("SELECT (SELECT count(*) FROM pg_database WHERE datname = 'mine') + (SELECT count(*) FROM minion_jobs)")
        assert held.fetchone() == (8,)


def test_a_folder_of_somebody_else_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "notes.txt").write_text("mine")
    ran = run("demo", "--folder", tmp_path)
    assert ran.status == 2 and "is not the demo's folder and stays as it is" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["postgres"] and not Source.objects.exists()


def test_where_none_can_be_started_the_export_is_read(tmp_path: Path, settings: Settings) -> None:
    settings.VAR_DIR = tmp_path / ("long" * 30)
    ran = run("demo")
    assert ran.status == 0 and "read from that export, since the path of its folder is too long for a socket" in ran.out
    assert Source.objects.get(format="gbrain-export").conversations.count() == 7
