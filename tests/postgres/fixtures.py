"""Fixtures on a real PostgreSQL: a module elsewhere imports the ones that it uses."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres.server import PASSWORD, NoPostgres, Server, started

SCHEMA = (Path(__file__).parent / "gbrain_schema.sql").read_text()
_TEMPLATE = "inspector_test_template"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def _postgres() -> Iterator[Server]:
    try:
        with started() as server:
            name = f"{_TEMPLATE}_{_worker()}"
            server.run(f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
            server.run(SCHEMA, database=name)
            if server.folder is not None:
                server.run(
                    f"CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '{PASSWORD}'",
                    "CREATE ROLE unwelcome LOGIN",
                    "CREATE ROLE stranger LOGIN",
                    "GRANT pg_read_all_data TO stranger",
                )
            yield server
            if server.folder is None:
                server.run(f"DROP DATABASE IF EXISTS {name}")
    except NoPostgres as problem:
        pytest.skip(str(problem))


def _worker() -> str:
    import os

    return f"{os.environ.get('PYTEST_XDIST_WORKER', 'only')}_{os.getpid()}"


@pytest.fixture
def server(_postgres: Server) -> Server:
    """A server of our own, whose logins and life a test may change."""
    if _postgres.folder is None:
        pytest.skip("INSPECTOR_TEST_POSTGRES names a server whose logins and life are not ours to change")
    return _postgres


@pytest.fixture
def database(_postgres: Server) -> Iterator[str]:
    """The address of a fresh database with gbrain's four tables, empty."""
    yield from _fresh(_postgres, f"TEMPLATE {_TEMPLATE}_{_worker()}")


@pytest.fixture
def empty(_postgres: Server) -> Iterator[str]:
    """The address of a fresh database without any table."""
    yield from _fresh(_postgres, "")


@pytest.fixture
def other_empty(_postgres: Server) -> Iterator[str]:
    """Another one."""
    yield from _fresh(_postgres, "")


def _fresh(server: Server, how: str) -> Iterator[str]:
    name = f"t{next(_numbers)}_{_worker()}"
    server.run(f"CREATE DATABASE {name} {how}")
    yield server.dsn(name, "" if server.folder is None else "postgres")
    server.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
