"""What every test needs: nothing of one test's database may be remembered in the next, which gets the same row ids again.

Tests that use the database are marked `database`, and those that need a server `postgres`, by what they ask for: `make test-postgres` runs both. What is marked
`only_settles` asks it nothing but whether a repair was interrupted, which others ask on PostgreSQL.
"""

import fcntl
import gc
import importlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from hypothesis import settings as hypothesis_settings

if TYPE_CHECKING:
    from tests.kept import Kept

# A busy machine is no failure: how long one example takes is not asserted.
hypothesis_settings.register_profile("inspector", deadline=None)
hypothesis_settings.load_profile("inspector")

# Modules there assert for many tests: a failure shows both values, as in a test.
pytest.register_assert_rewrite("tests.strategies", "tests.programs")


# A program that is installed here must not decide what a test sees.
os.environ.setdefault("INSPECTOR_OPENCODE", "off")

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
USED_BY = {
    "_django_clear_site_cache": "",
    "_django_db_marker": "django_db",
    "_django_isolate_apps": "django_isolate_apps",
    "_django_set_urlconf": "urls",
    "_django_setup_unittest": "",
    "_live_server_helper": "live_server",
    "_template_string_if_invalid_marker": "ignore_template_errors",
    "monkeypatch": "",
}
"""Fixtures that pytest-django gives every item, with the mark or fixture without which each does nothing here: they took longer than most tests do."""


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """In a fresh checkout every module of the tests is rewritten and compiled first, and all workers of xdist would do it in the same order at the
    same time: the second begins at the end, so that each finds half of them compiled by the other."""
    if WORKER != "gw1" or session.config.args != session.config.getini("testpaths"):
        return
    for path in sorted(session.config.rootpath.glob("tests/**/test_*.py"), reverse=True):
        # What cannot be imported is named when it is collected.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(session.config.rootpath).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the collector need not look through it again."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from django.core.management import call_command

    from tests.commands.running import run

    for item in items:
        names = vars(item.module).values() if isinstance(item, pytest.Function) else ()
        if any(each is run or each is call_command for each in names) and not item.get_closest_marker("django_db"):
            # Every command asks first whether a repair of its target was interrupted.
            item.add_marker(pytest.mark.django_db)
        if (
            "_postgres" in getattr(item, "fixturenames", ())
            or item.path.match("tests/postgres/*")
            or item.path.match("test_demo_database.py")
        ):
            item.add_marker(pytest.mark.postgres)
        is_asked = item.get_closest_marker("django_db") or {"db", "transactional_db"} & set(getattr(item, "fixturenames", ()))
        if is_asked and not _is_settling_alone(item):
            item.add_marker(pytest.mark.database)
        _leave_out_unused(item)


def _leave_out_unused(item: pytest.Item) -> None:
    """What a test or another fixture asks for by its name is still made."""
    if isinstance(item, pytest.Function):
        names = set(item.fixturenames) | {mark.name for mark in item.iter_markers()}
        own = item._fixtureinfo.argnames
        item.fixturenames = [name for name in item.fixturenames if name in own or USED_BY.get(name, name) in names]


def _is_settling_alone(item: pytest.Item) -> bool:
    """Marked `only_settles`, itself or with its module; `only_settles(False)` is one that asks more in such a module."""
    mark = item.get_closest_marker("only_settles")
    return mark is not None and mark.args != (False,)


def pytest_configure() -> None:
    # Many tests sign in, and a password is slow to compare on purpose. What tests start runs with the hashers of a real service.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """A process of xdist has five seconds to end, then execnet sends it SIGINT. On a busy machine the last collection by pytest of half a gigabyte took
    longer, and whatever finalizer ran at that moment printed a KeyboardInterrupt: nothing is left to collect."""
    gc.freeze()


@pytest.fixture
def client() -> Client:
    """In place of pytest-django's, which nobody lets in."""
    from tests.operators import OperatorClient

    return OperatorClient()


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> None:
    """The test database. Of the workers of xdist one migrates an SQLite database, and the others copy it while it is empty."""
    if not WORKER or connection.vendor != "sqlite":
        request.getfixturevalue("django_db_setup")
        return
    path = tmp_path_factory.getbasetemp().parent / "migrated.sqlite3"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_first = connection.settings_dict["TEST"]["MIGRATE"] = not path.exists()
        request.getfixturevalue("django_db_setup")
        with django_db_blocker.unblock(), closing(sqlite3.connect(path)) as migrated:
            connection.ensure_connection()
            source, target = (connection.connection, migrated) if is_first else (migrated, connection.connection)
            source.backup(target)


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> "Kept":
    """Builds what many tests begin with once in a process."""
    from tests.kept import Kept

    return Kept(tmp_path_factory.mktemp("kept"))


_keys = count()
SETTLING = re.compile(
    r"""SELECT (?:COUNT\(\*\) AS "(?:__count|n)"|"inspector_repair"."id" AS "pk") FROM "inspector_repair" .*|(?:RELEASE |ROLLBACK TO )?SAVEPOINT .*"""
)
"""Whether a repair was interrupted: what a command or page asks before it answers."""


@pytest.fixture(autouse=True)
def audit_key(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key of the audit log for each test: the next one begins with an empty database. Nothing is made before something is recorded.

    Nothing that was remembered of the database of the test before is kept either. It comes before the fixtures that a test names, and so does what
    `only_settles` refuses.
    """
    from inspector.models import loading
    from inspector.views import analysis

    loading.forget()
    analysis._analysis.cache_clear()
    # Set, and not by the fixture `settings`: that takes as long as most tests of the core do, and the next test sets its own.
    settings.INSPECTOR_AUDIT_KEY_FILE = path = tmp_path_factory.getbasetemp() / f"audit-{next(_keys)}" / "audit-key"
    if os.environ.get("INSPECTOR_DATABASE_URL"):
        request.getfixturevalue("monkeypatch").setenv("INSPECTOR_AUDIT_KEY_FILE", str(path))
    if _is_settling_alone(request.node):
        request.getfixturevalue("_only_settles")
    return path


@pytest.fixture
def _only_settles(db: None) -> Iterator[None]:
    """Fails a test that is marked `only_settles` at the first statement that it may not send: its mark leaves it out on PostgreSQL."""

    def allowed_only(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        assert SETTLING.fullmatch(str(sql)), f"not `only_settles`: {sql}"
        return execute(sql, params, many, context)

    with connection.execute_wrapper(allowed_only):
        yield
