"""Inspector's own models on a server: commands and pages in processes of their own, and one sentence for whatever is wrong with it."""

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from inspector.access_token import bearer
from inspector.database_problems import BUSY, NOT_MIGRATED
from inspector.demo.creation import write_dispatch_store
from inspector.demo.dispatch_incident import store_rows
from tests.postgres.making import asked, run
from tests.postgres.server import PASSWORD, Server

SECONDS = 60


def manage(own: str, *arguments: object) -> tuple[int, str, str]:
    done = subprocess.run(_command(*arguments), env=_environment(own), capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stdout, done.stderr


def _command(*arguments: object) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *map(str, arguments)]


def _environment(own: str) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_", "PG"))}
    return ours | {
        "INSPECTOR_DATABASE_URL": own,
        "DJANGO_SECRET_KEY": "for one test",
        "INSPECTOR_AUDIT_KEY_FILE": str(settings.INSPECTOR_AUDIT_KEY_FILE),
    }


def refusal(own: str, *arguments: object) -> str:
    """What the command says where it is refused: one sentence."""
    status, out, err = manage(own, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1), (status, out, err)
    return err


@pytest.fixture
def migrated(empty: str) -> str:
    assert manage(empty, "migrate", "--verbosity", "0") == (0, "", "")
    return empty


@contextmanager
def serving(own: str) -> Iterator[str]:
    process = subprocess.Popen(
        _command("serve", "--port", 0), env=_environment(own), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout and process.stderr
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield line.split()[-1].partition("?")[0]
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def fetch(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={**bearer(), **headers}), timeout=SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_a_store_is_imported_shown_and_served(migrated: str, tmp_path: Path) -> None:
    store = tmp_path / "dispatch.db"
    write_dispatch_store(store, store_rows())
    assert manage(migrated, "check_settings") == (0, "System check identified no issues (0 silenced).\n", "")
    status, out, _ = manage(migrated, "import_source", store)
    assert status == 0 and "conversations" in out and asked(migrated, "SELECT count(*) FROM inspector_record")[0][0] > 50
    with serving(migrated) as url:
        status, text = fetch(f"{url}conversations/")
        assert status == 200 and "dispatch" in text
        oid = asked(migrated, "SELECT oid FROM inspector_conversation LIMIT 1")[0][0]
        assert fetch(f"{url}conversations/{oid}/")[0] == 200


NOWHERE = "postgres://nobody@127.0.0.1:1/x"
WRONG = {
    "check_settings": (NOWHERE, "Connection refused"),
    "serve": ("postgres://nobody@%2Fno%2Fsuch%2Ffolder/x", "/no/such/folder"),
    "migrate": (NOWHERE, "Connection refused"),
    "show abc": (NOWHERE, "Connection refused"),
}


@pytest.mark.parametrize(("command", "own", "detail"), [(command, *wrong) for command, wrong in WRONG.items()], ids=WRONG)
def test_a_server_that_is_not_there_is_one_sentence(command: str, own: str, detail: str) -> None:
    said = refusal(own, *command.split())
    assert said.startswith("Inspector's own database cannot be used (") and detail in said and "INSPECTOR_DATABASE_URL leads to" in said


def test_a_store_is_looked_at_without_it(tmp_path: Path) -> None:
    store = tmp_path / "dispatch.db"
    write_dispatch_store(store, store_rows())
    assert manage(NOWHERE, "scan", store)[::2] == (1, "")


def test_a_database_role_or_password_that_is_wrong_is_one_sentence(server: Server) -> None:
    assert 'database "no such" does not exist' in refusal(server.dsn("no such", "postgres"), "check_settings")
    assert 'role "nobody-here" does not exist' in refusal(server.dsn(user="nobody-here"), "serve")
    said = refusal(server.dsn(user="guarded", password="hunter2%"), "check_settings")
    assert 'password authentication failed for user "guarded"' in said and "hunter2" not in said


def test_every_character_of_a_password_and_the_folder_of_a_socket_can_be_written(server: Server) -> None:
    assert manage(server.dsn(user="guarded", password=PASSWORD), "check_settings")[0] == 0
    sockets = str(server.sockets).replace("/", "%2F")
    assert manage(f"postgres://postgres@{sockets}:{server.port}/postgres", "check_settings")[0] == 0


def test_a_database_without_our_tables_says_migrate(empty: str) -> None:
    for command in ("serve", "show abc"):
        said = refusal(empty, *command.split())
        assert said.startswith("The database is empty or older") and "migrate" in said and "LINE 1" not in said


def test_a_role_without_rights_and_a_database_that_is_read_only_are_one_sentence(migrated: str, server: Server, tmp_path: Path) -> None:
    store = tmp_path / "dispatch.db"
    write_dispatch_store(store, store_rows())
    name = migrated.rsplit("/", 1)[1]
    stranger = server.dsn(name, "stranger")
    assert "cannot be used (permission denied" in refusal(stranger, "import_source", store)
    run(migrated, f"ALTER ROLE stranger IN DATABASE {name} SET search_path = nowhere")
    status, _, said = manage(stranger, "migrate")
    assert status == 2 and "no schema has been selected" in said and said.count("\n") == 1 and "CREATE TABLE" not in said
    run(migrated, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert "read-only transaction" in refusal(migrated, "import_source", store)


def test_it_is_no_source_by_whatever_name(migrated: str, server: Server, tmp_path: Path) -> None:
    name = migrated.rsplit("/", 1)[1]
    addresses = {
        "scan": migrated,
        "import_source": server.dsn(name, "postgres", host="127.0.0.1"),
        "show": server.dsn(name, "postgres", host=str(server.sockets)),
    }
    for command, address in addresses.items():
        assert "belongs to Inspector's own database" in refusal(migrated, command, address)
    assert asked(migrated, "SELECT count(*) FROM inspector_source") == [(0,)]


def test_another_database_of_the_same_server_is_a_source(migrated: str, database: str) -> None:
    run(database, "INSERT INTO minion_jobs (name, status) VALUES ('subagent', 'completed')")
    assert "own database" not in "".join(map(str, manage(migrated, "scan", database)[1:]))


def test_a_server_that_stops_and_comes_back_is_said_on_every_page(migrated: str, server: Server) -> None:
    signed_in = {"Cookie": "inspector_session=abcdefghijklmnopqrstuvwxyz012345"}
    with serving(migrated) as url:
        assert fetch(f"{url}conversations/")[0] == 200
        server.stop()
        try:
            for headers in ({}, signed_in):
                assert fetch(f"{url}conversations/", **headers) == (503, BUSY + "\n")
        finally:
            server.start()
        # Sessions that were kept open are dead, and are replaced.
        assert {fetch(f"{url}conversations/")[0] for _ in range(20)} == {200}


def test_tables_of_an_older_version_are_said_on_every_page(migrated: str) -> None:
    with serving(migrated) as url:
        run(migrated, "ALTER TABLE inspector_conversation RENAME COLUMN verdict TO opinion")
        assert fetch(f"{url}conversations/") == (503, NOT_MIGRATED + "\n")


def test_no_page_says_where_the_database_is() -> None:
    assert not re.search(r"\d+\.\d+\.\d+|port|role", BUSY + NOT_MIGRATED)


def test_a_backup_comes_back_into_an_empty_database(
    migrated: str, other_empty: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pg_dump refuses a server that is newer than itself.
    monkeypatch.setenv("PATH", str(server.programs), prepend=os.pathsep)
    store = tmp_path / "dispatch.db"
    write_dispatch_store(store, store_rows())
    assert manage(migrated, "import_source", store)[0] == 0
    status, out, err = manage(migrated, "backup", tmp_path / "backup")
    assert (status, err) == (0, ""), err
    assert (tmp_path / "backup" / "inspector.pgdump").stat().st_size > 10_000
    assert PASSWORD not in out and not any(PASSWORD.encode() in path.read_bytes() for path in (tmp_path / "backup").iterdir())
    assert "holds something already" in refusal(migrated, "restore", tmp_path / "backup")
    status, out, err = manage(other_empty, "restore", tmp_path / "backup")
    assert (status, err) == (0, "") and "is restored" in out
    assert manage(other_empty, "migrate", "--verbosity", "0")[0] == 0
    verified = manage(other_empty, "audit", "--verify")
    assert verified[0] == 0, verified
    assert manage(other_empty, "purge", "--older-than", "1", "--json")[1] == manage(migrated, "purge", "--older-than", "1", "--json")[1]
