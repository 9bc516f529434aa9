"""One writer at a time, on every database: what SQLite does by itself, PostgreSQL is asked for."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

WAIT = "20s"
"""As long as SQLite waits for another writer; then the person is told that it is busy."""
_LOCK = int.from_bytes(b"inspect0")


@contextmanager
def one_writer() -> Iterator[None]:
    """A transaction that sees all that other writers of ours committed, and keeps them out until it ends; readers go on. Raises OperationalError.

    Without it two imports of one store would make the same revision twice, two that share payloads would wait for each other, and two
    lines of the audit trail would follow the same one.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                # For this transaction only: a pooler may give the next one another session.
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", (WAIT,))
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        yield
