"""The stores and databases of one run: each is written when a row of the table first asks for it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from time import perf_counter

from bench import inputs
from bench.measuring import Ran, command
from inspector.demo.creation import write_dispatch_store

NEEDLES = {1: "needle-near-the-beginning", 3_001: "needle-in-the-middle", 5_200: "needle-near-the-end"}
"""Words of entries of the session of 10,000 chunks: far behind the first 200,000 characters, too."""
REPAIR = "?strategy=insert-interrupted-result"


class Ground:
    """`quick`: a twentieth of the sizes. `address_of`: the address of a database of a PostgreSQL server, by its name; None for SQLite."""

    def __init__(self, folder: Path, address_of: Callable[[str], str] | None, quick: bool) -> None:
        self.folder, self.address_of, self.quick = folder, address_of, quick
        self.small, self.middle, self.large = (500, 2_500, 10_000) if quick else (1_000, 10_000, 100_000)
        self.rounds = 2 if quick else 3
        self._databases: dict[str, str] = {}

    def scaled(self, size: int) -> int:
        return max(1, size // 20) if self.quick else size

    # Databases

    def database(self, name: str) -> dict[str, str]:
        """The environment of commands on the database of that name, new and migrated where it was not asked for before."""
        if name not in self._databases:
            self._databases[name] = self._new(name)
            command(self.environ(name), "migrate", "--verbosity", "0")
        return self.environ(name)

    def environ(self, name: str) -> dict[str, str]:
        return {**os.environ, "INSPECTOR_DATABASE_URL": self._databases[name]}

    def fresh(self, name: str) -> dict[str, str]:
        """As `database`, and empty."""
        from django.db import connection

        connection.close()
        self._databases.pop(name, None)
        if self.address_of is None:
            for suffix in ("", "-wal", "-shm"):
                Path(self._file(name) + suffix).unlink(missing_ok=True)
        return self.database(name)

    def _new(self, name: str) -> str:
        if self.address_of is None:
            return f"sqlite:///{self._file(name)}"
        import psycopg

        with psycopg.connect(self.address_of("postgres"), autocommit=True) as postgres:
            for statement in (f"DROP DATABASE IF EXISTS bench_{name} WITH (FORCE)", f"CREATE DATABASE bench_{name}"):
                postgres.execute(statement)  # type: ignore[call-overload]
        return self.address_of(f"bench_{name}")

    def _file(self, name: str) -> str:
        return str(self.folder / f"{name}.sqlite3")

    def size(self, name: str) -> int:
        """Bytes of a database that are in use."""
        self.use(name)
        from django.db import connection

        with connection.cursor() as cursor:
            if self.address_of is not None:
                # As autovacuum does a minute later: what is dead is written over by the next import.
                cursor.execute("VACUUM")
                cursor.execute("SELECT pg_database_size(current_database())")
                return int(cursor.fetchone()[0])
            values = []
            for pragma in ("page_count", "freelist_count", "page_size"):
                cursor.execute(f"PRAGMA {pragma}")
                values.append(int(cursor.fetchone()[0]))
        return (values[0] - values[1]) * values[2]

    def use(self, name: str) -> None:
        """Our own connection is to that database from now on, and nothing is remembered of another."""
        from django.db import connection

        self.database(name)
        connection.close()
        connection.settings_dict["NAME"] = f"bench_{name}" if self.address_of else self._file(name)
        forget()

    @property
    def plain_address(self) -> str:
        if self.address_of is None:
            return str(self.folder / "plain.sqlite3")
        if "plain" not in self._databases:
            self._databases["plain"] = self._new("plain")
        return self._databases["plain"]

    # Stores

    @cached_property
    def fleet(self) -> list[Path]:
        """102 session files with 100,000 chunks."""
        return inputs.fleet(self.folder / "fleet", self.scaled(890), (self.scaled(1_000), self.scaled(10_000)))

    @cached_property
    def claude_fleet(self) -> list[Path]:
        """The same number of session files and chunks, of Claude Code."""
        return inputs.claude_fleet(self.folder / "claude", self.scaled(890), (self.scaled(1_000), self.scaled(10_000)))

    @cached_property
    def fleet_folders(self) -> tuple[str, ...]:
        return tuple(sorted({str(path.parent) for path in self.fleet}))

    @cached_property
    def dispatch(self) -> Path:
        """1,000,000 chunks in 1,000 conversations, about a gigabyte."""
        path = self.folder / "dispatch.db"
        write_dispatch_store(path, inputs.rows(self.scaled(1_000), self.scaled(1_000_000)))
        return path

    @cached_property
    def session_import(self) -> tuple[Path, Ran]:
        """A session file of nearly 200 MB, which is over the usual limit, imported."""
        path = inputs.session(self.folder / "session.jsonl", self.scaled(290_000), 80)
        ran = command(self.fresh("session") | {"INSPECTOR_LARGEST_FILE": "256"}, "import_source", str(path))
        assert f"{self.scaled(290_000):,} chunks" in ran.output, f"not read whole, so that nothing was measured: {ran.output}"
        return path, ran

    @cached_property
    def dispatch_import(self) -> tuple[Ran, list[float]]:
        """Imported once, between two turns of the yardstick, whose seconds are returned too."""
        from bench import plain

        environ = self.fresh("dispatch")
        yardstick = [timed(lambda: plain.copied(self.dispatch, self.plain_address))]
        ran = command(environ, "import_source", str(self.dispatch))
        yardstick.append(timed(lambda: plain.copied(self.dispatch, self.plain_address)))
        self._index("dispatch")
        return ran, yardstick

    def _index(self, name: str) -> None:
        """The index of the search is made after an import, by a thread that the first page starts: it would count as the time of the pages that are measured."""
        self.use(name)
        from inspector.models.searching import index_texts

        index_texts()

    @cached_property
    def dispatch_imported(self) -> str:
        """The name of the database."""
        assert self.dispatch_import
        return "dispatch"

    @cached_property
    def sized(self) -> dict[int, str]:
        """Sessions of three sizes that lack one result, imported: their oids by their number of chunks, in the database `sized`."""
        environ, folder = self.fresh("sized"), self.folder / "sized"
        folder.mkdir(exist_ok=True)
        for seed, size in enumerate((self.small, self.middle, self.large)):
            needles = NEEDLES if size == self.middle else {}
            path = inputs.session(folder / f"{size}.jsonl", size, 70 + seed, loses=True, needles=needles)
            command(environ, "import_source", str(path))
        self._index("sized")
        from inspector.models import Conversation

        oids = {}
        for oid, source, count in Conversation.objects.values_list("oid", "source__path", "chunk_count"):
            oids[int(Path(source).stem)] = oid
            assert count == int(Path(source).stem) - 1, f"{source} has {count} chunks"
        return oids

    @cached_property
    def filled(self) -> str:
        """The name of a database with 10,000 conversations and 92,000 findings, written without stores."""
        from bench.filling import fill

        self.fresh("lists")
        self.use("lists")
        fill(self.scaled(10_000), self.scaled(92_000))
        return "lists"


def timed(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def forget() -> None:
    """What pages remember of conversations: the next view is a first one."""
    from inspector.models import loading
    from inspector.views import analysis

    loading.forget()
    analysis._analysis.cache_clear()


@contextmanager
def client() -> Iterator[Callable[[str], str]]:
    """Answers an address as the web server does, plain pages too, and raises SystemExit where there is no page."""
    from django.test import Client
    from django.test.utils import override_settings

    from inspector.access_token import bearer

    with override_settings(ROOT_URLCONF="bench.plain"):
        browser = Client(headers={"host": "localhost", **bearer()})

        def get(address: str) -> str:
            answer = browser.get(address)
            if answer.status_code != 200:
                raise SystemExit(f"{address} answered {answer.status_code}, so that nothing was measured.")
            return answer.content.decode()

        yield get
