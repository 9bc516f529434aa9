"""Inspector's own database is no source: closing any other descriptor of it drops the locks that SQLite holds on it."""

import secrets
from pathlib import Path

from django.db import InterfaceError, OperationalError, connection, connections, transaction

from inspector.sources import reach
from inspector.sources.dsn import Dsn, Place
from inspector.sources.postgres_sessions import sees_lock
from inspector.sources.problems import SourceProblem


class OwnDatabase(SourceProblem):
    template = "{place} belongs to Inspector's own database, which it does not inspect; name the store of an agent."


def refuse_own_database(path: Place) -> None:
    """Raises OwnDatabase for the file, its side files, and links to them, without opening any; for an address what connecting raises. Raises OutOfReach."""
    reach.refuse(path)
    if isinstance(path, Dsn):
        if connection.vendor == "postgresql" and _is_own(path):
            raise OwnDatabase(path)
        return
    try:
        path_status = path.stat()
    except (OSError, ValueError):
        return
    for database in connections.all():
        if database.vendor != "sqlite":
            continue
        for suffix in ("", "-wal", "-shm", "-journal"):
            try:
                status = Path(f"{database.settings_dict['NAME']}{suffix}").stat()
            except (OSError, ValueError):
                continue
            if (status.st_dev, status.st_ino) == (path_status.st_dev, path_status.st_ino):
                raise OwnDatabase(path)


def _is_own(address: Dsn) -> bool:
    """By a lock that we hold and the database of the address shows, since one server has many names."""
    number = secrets.randbits(62)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", (number,))
            return sees_lock(address, number)
    except (OperationalError, InterfaceError):
        # Reading a source needs no database of ours, and one that nobody reaches is not what the address leads to.
        return False
