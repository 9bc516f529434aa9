"""Makes the tables of the embedded SQLite database when it is opened for the first time: nobody has to run migrate after installing.

An older database is never migrated by itself: the command says how, so that its owner can copy it first.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from inspector.sources.private import close_file, close_folder, refuse_open_folder
from inspector.sources.problems import SourceProblem
from inspector.sources.reach import SIDES

WAIT_SECONDS = 60


def close_to_others(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Receives Django's `connection_created`: an SQLite database, its side files and our data folder. Raises ImproperlyConfigured where one of them cannot be closed."""
    close_folder(settings.VAR_DIR)
    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]
        return
    database = Path(connection.settings_dict["NAME"])
    try:
        refuse_open_folder(database.parent)
        for suffix in ("", *SIDES):
            close_file(database.with_name(database.name + suffix))
    except SourceProblem as problem:
        connection.close()
        raise ImproperlyConfigured(str(problem)) from None


def make_tables(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Receives Django's `connection_created`; another database than the embedded one, and one with tables, stays as it is."""
    if connection.settings_dict["NAME"] != str(settings.EMBEDDED_DATABASE):
        return
    lock = settings.VAR_DIR / "first-use.lock"
    # In this order: whoever makes tables has made the lock before. It stays, as SQLite takes no lock on a file that is removed meanwhile.
    if not _has_tables(connection) or lock.exists():
        with closing(sqlite3.connect(lock, timeout=WAIT_SECONDS, isolation_level=None)) as locked:
            locked.execute("BEGIN EXCLUSIVE")
            if not _has_tables(connection):
                call_command("migrate", database=connection.alias, verbosity=0)
    # Once for a process.
    connection_created.disconnect(make_tables)


def _has_tables(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM sqlite_master)")
        return bool(cursor.fetchone()[0])
