"""A store in PostgreSQL: a private server, its rows saved and brought back, and the ways in which a server goes away."""

import os
import signal
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg

from inspector.programs.catalogue import format_named
from inspector.programs.gbrain.tables import RELATIONS
from inspector.sources import stores
from inspector.sources.places import place
from tests.faults.stores import Content, Files
from tests.postgres.fixtures import SCHEMA
from tests.postgres.making import asked
from tests.postgres.server import NoPostgres, started

_NAME = "store"
_TABLES = (*(relation.name for relation in RELATIONS), "config")
_CLIENT = "application_name = 'inspector'"


class Postgres(Files):
    """The database `store` of a server of its own. Raises NoPostgres."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        super().__init__(folder, scratch)
        self._open = ExitStack()
        self.server = self._open.enter_context(started())
        if self.server.folder is None:
            self._open.close()
            raise NoPostgres("INSPECTOR_TEST_POSTGRES names a server that is not ours to kill")
        self._saved: dict[str, tuple[dict[str, bytes], list[Any]]] = {}

    def close(self) -> None:
        self._open.close()

    def address(self) -> str:
        """Of a fresh database with gbrain's tables."""
        self.server.run(f"DROP DATABASE IF EXISTS {_NAME} WITH (FORCE)", f"CREATE DATABASE {_NAME}")
        self.server.run(SCHEMA, database=_NAME)
        return self._address

    @property
    def _address(self) -> str:
        return self.server.dsn(_NAME, "postgres")

    def save(self, kept: Path) -> None:
        """Rows and sequences, in this process: copying a database takes the server a second."""
        with closing(psycopg.connect(self._address)) as connection:
            rows = {table: _copied(connection, table) for table in _TABLES}
            sequences = connection.execute("SELECT oid::regclass::text FROM pg_class WHERE relkind = 'S'").fetchall()
            drawn = [(name, *connection.execute(f"SELECT last_value, is_called FROM {name}").fetchone()) for (name,) in sequences]
        self._saved[kept.parent.name] = rows, drawn

    def restore(self, kept: Path) -> None:
        rows, drawn = self._saved[kept.parent.name]
        with closing(psycopg.connect(self._address)) as connection, connection:
            # Foreign keys are not checked meanwhile.
            connection.execute("SET session_replication_role = replica")
            connection.execute(f"TRUNCATE {', '.join(_TABLES)}")
            for table, data in rows.items():
                with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                    copy.write(data)
            for name, last, is_called in drawn:
                connection.execute("SELECT setval(%s, %s, %s)", (name, last, is_called))

    def wait(self) -> None:
        """A server notices that its client is gone only when it is done with the statement."""
        self._start()
        deadline = time.monotonic() + 10
        while asked(self.server.owner, f"SELECT 1 FROM pg_stat_activity WHERE {_CLIENT}"):
            if time.monotonic() > deadline:
                raise TimeoutError("a session of a client that is gone does not end")
            time.sleep(0.01)

    def strike(self, kind: str) -> None:
        sessions = asked(self.server.owner, f"SELECT pid FROM pg_stat_activity WHERE {_CLIENT} ORDER BY backend_start DESC LIMIT 1")
        assert self.server.folder is not None
        pid = int((self.server.folder / "d" / "postmaster.pid").read_text().split()[0]) if kind == "server killed" else sessions[0][0]
        os.kill(pid, signal.SIGKILL)
        if kind == "session killed":
            # The server ends every other session as well, and recovers.
            self._start()

    def _start(self) -> None:
        """Waits until the server lets somebody in; starts it where it is gone."""
        assert self.server.folder is not None
        deadline = time.monotonic() + 30
        while True:
            try:
                with closing(psycopg.connect(self.server.owner)):
                    return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
            if not _is_alive(self.server.folder / "d" / "postmaster.pid"):
                try:
                    self.server.start()
                except NoPostgres:
                    # Sessions of the server that was killed still hold its memory.
                    time.sleep(0.1)
            time.sleep(0.02)

    def content(self) -> Content:
        records = {record.key: record.value.data for record in stores.records(place(self._address), format_named("gbrain"))}
        found: Content = {}
        for relation in RELATIONS:
            keys = ", ".join(relation.key)
            for *numbers, row in asked(self._address, f"SELECT {keys}, t::text FROM {relation.name} t"):
                key = ":".join((relation.name, *(f"{number:010d}" for number in numbers)))
                found[key] = (row, records.get(key))
        return found | {f"config {key}": row for key, row in asked(self._address, "SELECT key, t::text FROM config t")}

    def part(self, key: str) -> str:
        return key

    def made_with(self, part: str) -> set[str]:
        return set()


def _copied(connection: psycopg.Connection[Any], table: str) -> bytes:
    with connection.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        return b"".join(bytes(part) for part in copy)


def _is_alive(file: Path) -> bool:
    try:
        os.kill(int(file.read_text().split()[0]), 0)
    except (OSError, ValueError, IndexError):
        return False
    return True
