"""What is said where a database cannot be opened: one sentence each, and no piece of a password in it, in a page, a log, the audit log or our own database."""

import logging
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from inspector.models import AuditEntry, Source, searching
from inspector.sources import places, postgres
from inspector.sources.places import place
from inspector.sources.postgres_problems import LostConnection, NoLogin, NoServer, NotLetIn, UnknownDatabase
from inspector.sources.problems import SourceProblem
from tests.postgres.making import dangling, run
from tests.postgres.server import PASSWORD, Server


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What one test typed is not known in the next."""
    places._typed.clear()
    yield
    places._typed.clear()


def name_of(dsn: str) -> str:
    return dsn.rpartition("/")[2]


def opened(dsn: str) -> int:
    where = place(dsn)
    assert not isinstance(where, Path)
    return len(postgres.identify(where).tables)


def refused(dsn: str, problem: type[SourceProblem]) -> str:
    with pytest.raises(problem) as caught:
        opened(dsn)
    said = str(caught.value)
    assert "\n" not in said and not any(piece in said for piece in (PASSWORD, quote(PASSWORD, safe=""), "s3cret", "p@ss"))
    # A traceback shows the exceptions that led to this one.
    assert caught.value.__cause__ is None and (caught.value.__suppress_context__ or caught.value.__context__ is None)
    return said


def spellings(server: Server, database: str) -> list[str]:
    """The same database and role, as it can be written."""
    name, port, secret = name_of(database), server.port, quote(PASSWORD, safe="")
    quoted = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
    return [
        f"postgresql://guarded:{secret}@localhost:{port}/{name}",
        f"postgres://guarded:{secret}@127.0.0.1:{port}/{name}",
        f"postgresql://guarded:{secret}@[::1]:{port}/{name}",
        f"postgresql://localhost:{port}/{name}?user=guarded&password={secret}",
        f"postgresql://guarded:{secret}@/{name}?host={quote(str(server.sockets), safe='')}&port={port}",
        f"postgresql://guarded:{secret}@{quote(str(server.sockets), safe='')}:{port}/{name}",
        f"postgresql://guarded:{secret}@127.0.0.1:{port},[::1]:{port}/{name}?target_session_attrs=any",
        f"postgresql://guarded:{secret}@127.0.0.1:1,localhost:{port}/{name}",
        f"postgresql://guarded:{secret}@localhost:{port}/{name}?sslmode=disable",
        f"postgresql://guarded:{secret}@localhost:{port}/{name}?sslmode=prefer&application_name=mine&connect_timeout=3",
        f"host=localhost port={port} dbname={name} user=guarded password='{quoted}'",
        f"password='{quoted}' user=guarded hostaddr=127.0.0.1 port={port} dbname={name}",
    ]


def _refuse_without_ipv6(dsn: str) -> None:
    try:
        with closing(socket.create_server(("::1", 0), family=socket.AF_INET6)):
            return
    except OSError:
        if "::1" in dsn:
            pytest.skip("there is no IPv6 here")


@pytest.mark.parametrize("number", range(12))
def test_every_spelling_of_an_address_is_opened(server: Server, database: str, number: int) -> None:
    dsn = spellings(server, database)[number]
    _refuse_without_ipv6(dsn)
    assert opened(dsn) == 5


@pytest.mark.parametrize("number", range(12))
def test_a_wrong_password_is_refused_and_not_repeated(server: Server, database: str, number: int) -> None:
    dsn = spellings(server, database)[number]
    wrong = dsn.replace(quote(PASSWORD, safe=""), quote(PASSWORD[:-1], safe="")).replace(PASSWORD, PASSWORD[:-1])
    assert wrong != dsn
    _refuse_without_ipv6(dsn)
    said = refused(wrong, NoLogin)
    assert "refuses the login" in said and "password authentication failed" in said and "PGPASSWORD" in said


def test_without_a_password_the_sentence_says_where_to_give_it(server: Server, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dsn = server.dsn(name_of(database), "guarded")
    assert "PGPASSWORD or ~/.pgpass" in refused(dsn, NoLogin)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert opened(dsn) == 5


def test_a_service_and_a_file_of_passwords_are_used(server: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "services").write_text(f"[brain]\nhost=localhost\nport={server.port}\ndbname={name_of(database)}\nuser=guarded\n")
    (tmp_path / "pass").write_text(f"localhost:{server.port}:*:guarded:{PASSWORD.replace(':', chr(92) + ':')}\n")
    (tmp_path / "pass").chmod(0o600)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    assert opened("service=brain") == opened("postgresql:///?service=brain") == 5
    assert 'definition of service "other" not found' in refused("service=other", NoServer)


def test_a_login_that_the_server_forbids(server: Server) -> None:
    assert "pg_hba.conf rejects" in refused(server.dsn("postgres", "unwelcome"), NoLogin)


def test_a_role_that_there_is_not(server: Server) -> None:
    assert 'role "nobody there" does not exist' in refused(server.dsn("postgres", "nobody there"), NoLogin)


def test_a_database_that_there_is_not(server: Server) -> None:
    assert "names a database that the server does not have" in refused(server.dsn("nowhere", "postgres"), UnknownDatabase)


def test_encryption_that_the_server_does_not_have(server: Server) -> None:
    assert "SSL" in refused(server.dsn("postgres", "postgres", sslmode="require"), NoServer)
    assert "check host, port and parameters" in refused(server.dsn("postgres", "postgres", sslmode="sometimes"), NoServer)


def test_a_port_where_nobody_listens() -> None:
    assert "There is no connection to postgresql://ann@127.0.0.1:1/brain" in refused("postgresql://ann:s3cret@127.0.0.1:1/brain", NoServer)


def test_a_host_that_there_is_not() -> None:
    refused("postgresql://ann:s3cret@no-such-host.invalid/brain", NoServer)


def test_a_socket_that_there_is_not() -> None:
    assert "No such file or directory" in refused("postgresql://ann:s3cret@/brain?host=/nowhere", NoServer)


def test_a_server_that_is_none_and_says_nothing() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        refused(f"postgresql://ann:s3cret@127.0.0.1:{silent.getsockname()[1]}/brain?connect_timeout=2", NoServer)


def test_a_server_that_has_no_room(server: Server, database: str) -> None:
    server.run(f"ALTER DATABASE {name_of(database)} CONNECTION LIMIT 0")
    with pytest.raises((NotLetIn, LostConnection)) as caught:
        opened(server.dsn(name_of(database), "stranger"))
    assert "too many connections" in str(caught.value)


WRONG = [
    "postgresql://ann:s3cret@127.0.0.1:1/brain",
    "postgresql://ann:s3cret@p@127.0.0.1:1/brain",
    "postgresql://ann:s3cret/p@127.0.0.1:1/brain",
    "postgresql+asyncpg://ann:s3cret@127.0.0.1:1/brain",
    "postgres:/ann:s3cret@127.0.0.1:1/brain",
    "ann:s3cret@127.0.0.1:1/brain",
    "host=127.0.0.1 port=1 user=ann password=s3cret",
    "password='s3cret",
]
COMMANDS = {
    "scan": ["scan", "{}"],
    "scan --traces": ["scan", "store.db", "--traces", "{}"],
    "show": ["show", "{}"],
    "import_source": ["import_source", "{}"],
    "import_source --traces": ["import_source", "store.db", "--traces", "{}"],
    "explain": ["explain", "Tool result is missing", "--target", "{}"],
    "whatif": ["whatif", "{}", "--reader", "gbrain-naive", "--reader", "gbrain-head"],
    "repair": ["repair", "{}", "--plan", "--strategy", "insert-interrupted-result"],
    "bundle": ["bundle", "{}", "--out", "x.zip"],
    "extract": ["extract", "{}", "--out", "x.md"],
    "try_request": ["try_request", "{}"],
}


@pytest.mark.django_db
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("wrong", WRONG)
def test_no_command_repeats_a_password(
    command: str, wrong: str, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError) as caught:
        call_command(*(each.format(wrong) for each in COMMANDS[command]), stdout=out, stderr=err)
    assert "s3cret" not in str(caught.value) + out.getvalue() + err.getvalue() + caplog.text
    assert not Source.objects.exists()


@pytest.mark.django_db
def test_a_password_that_was_typed_is_kept_nowhere(server: Server, database: str, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    dangling(database)
    caplog.set_level(logging.DEBUG)
    typed = server.dsn(name_of(database), "guarded", password=PASSWORD)
    out = StringIO()
    call_command("import_source", typed, stdout=out)
    call_command("import_source", typed, stdout=out)
    source = Source.objects.get()
    assert source.path == server.dsn(name_of(database), "guarded")
    assert AuditEntry.objects.filter(source_path=source.path).count() == 2
    conversation = source.conversations.get()
    pages = ["/", "/sources/", f"/sources/{source.oid}/", f"/sources/{source.oid}.json", f"/conversations/{conversation.oid}/", "/audit/"]
    shown = "".join(client.get(page, follow=True).content.decode() for page in pages)
    assert name_of(database) in shown
    again = client.post(f"/sources/{source.oid}/import/", follow=True).content.decode()
    everywhere = _dump() + shown + again + out.getvalue() + caplog.text
    for piece in ("s3cret", quote(PASSWORD, safe="")):
        assert piece not in everywhere


def _dump() -> str:
    """All of our own database as text. The search index gives no rows: its texts are those of another table, which is here."""
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor)) - {searching.TABLE}
        found = []
        for table in sorted(tables):
            cursor.execute(f'SELECT * FROM "{table}"')
            found += [repr(row) for row in cursor.fetchall()]
    return "\n".join(found)


def test_the_dump_of_the_test_above_sees_a_password(tmp_path: Path) -> None:
    """Guards the guard: a row with the word is found by its repr."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as store:
        assert "s3cret" in repr(store.execute("SELECT ?", [PASSWORD]).fetchall())


@pytest.mark.django_db
def test_a_page_that_reads_again_says_what_is_wrong(server: Server, database: str, client: Client) -> None:
    dangling(database)
    call_command("import_source", server.dsn(name_of(database), "guarded", password=PASSWORD), stdout=StringIO())
    places._typed.clear()
    source = Source.objects.get()
    said = client.post(f"/sources/{source.oid}/import/", follow=True).content.decode()
    assert "refuses the login" in said and "PGPASSWORD" in said
    assert source.conversations.filter(is_gone=False).count() == 1
    run(database, "SELECT 1")
