"""One writer at a time, and one snapshot for who only reads, on every database."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections, transaction

WAIT = "20s"
"""As long as SQLite waits for another writer; then it is reported as busy."""
WAIT_OF_IMPORTS = "600s"
"""Nobody waits for their answer, and many of them may write to one source."""
_LOCK = int.from_bytes(b"inspect0")
_LOCK_OF_SOURCE = int.from_bytes(b"insp")
_FOR_MANY = {"cache_size": -65_536, "wal_autocheckpoint": 16_384}
"""Kilobytes (as a negative number), and pages of 4 KB."""


@contextmanager
def one_writer(source: int | None = None) -> Iterator[None]:
    """A transaction that sees all that other writers of ours committed, and keeps them out until it ends; readers go on. Raises OperationalError.

    With the key of a `source`, which says that only rows of its conversations and their payloads are written, those of other sources go on too, on a server.

    Without it two imports of one store would make the same revision twice, two that share payloads would wait for each other, and two
    lines of the audit log would follow the same one.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                # For this transaction only: a pooler may give the next one another session.
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", (WAIT if source is None else WAIT_OF_IMPORTS,))
                cursor.execute(f"SELECT pg_advisory_xact_lock{'' if source is None else '_shared'}(%s)", (_LOCK,))
                if source is not None:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK_OF_SOURCE, source % 2**31))
        yield


@contextmanager
def many_rows() -> Iterator[None]:
    """For an import: SQLite keeps more pages, and copies its log into the database less often.

    Payloads are found by digests, which are everywhere in their index: with the usual 2 MB nearly every one costs a page read and, at the next checkpoint, written.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        usual = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in _FOR_MANY}
        for name, value in _FOR_MANY.items():
            cursor.execute(f"PRAGMA {name} = {value}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for name, value in usual.items():
                cursor.execute(f"PRAGMA {name} = {value}")


@contextmanager
def one_snapshot() -> Iterator[None]:
    """A transaction that reads everything as it is at its first query, keeps no writer out, and refuses to write. Raises DatabaseError.

    Without it a page that counts and then lists may show two moments, or fail on what the first query did not see.
    Inside another transaction it is a part of that one.
    """
    if connection.in_atomic_block or is_in_memory():
        yield
    elif connection.vendor == "sqlite":
        with _sqlite_snapshot():
            yield
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield


def is_in_memory() -> bool:
    """Without a file there is no WAL: a reader would lock writers out, and threads share the one connection."""
    return connection.vendor == "sqlite" and bool(connection.is_in_memory_db())  # type: ignore[attr-defined]


@contextmanager
def _sqlite_snapshot() -> Iterator[None]:
    # Transactions of ours begin IMMEDIATE, which keeps other writers out; for this one only, and only BEGIN looks at it.
    own = connections[connection.alias]
    own.ensure_connection()
    usual = own.transaction_mode  # type: ignore[attr-defined]
    own.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
    try:
        with transaction.atomic():
            own.transaction_mode = usual  # type: ignore[attr-defined]
            with own.cursor() as cursor:
                # A snapshot that begins to write fails only where another wrote meanwhile; so it fails always.
                cursor.execute("PRAGMA query_only = ON")
            yield
    finally:
        own.transaction_mode = usual  # type: ignore[attr-defined]
        if own.connection is not None:
            with own.cursor() as cursor:
                cursor.execute("PRAGMA query_only = OFF")
