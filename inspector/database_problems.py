"""What can be wrong with Inspector's own database, as one sentence for commands and one for pages."""

import sqlite3
from datetime import datetime

import psycopg
from django.db import DatabaseError, DataError, IntegrityError, InterfaceError, OperationalError, ProgrammingError
from django.utils.dateparse import parse_datetime

from inspector.installation import program

_NO_TABLE = ("no such table", "no such column")
_NO_RIGHT = "permission denied"
BUSY = (
    "Inspector's own database is busy, or cannot be reached or written: wait a moment and do it again; "
    "a repair that was being applied says on its page whether it is in the store."
)
NOT_MIGRATED = f"Inspector's own database is of an older version: stop Inspector, run `{program()} migrate`, and start it again."

NUL = "What was sent has a character that no text holds (NUL, %00 in an address): remove it, then send it again."


def read_impossible_times() -> None:
    """In SQLite a column may hold any value: a time that is none, such as of 31 February, is read as None.

    Django raises the error of its parser in the middle of whatever query reads it, that of the check of the audit log as well.
    """
    # It registers its own when it is imported.
    import django.db.backends.sqlite3.base  # noqa: F401

    sqlite3.register_converter("datetime", _time)


def _time(stored: bytes) -> datetime | None:
    try:
        return parse_datetime(stored.decode())
    except ValueError:
        return None


def for_a_command(error: Exception) -> str | None:
    """The sentence that a command prints; None for what is a fault of ours."""
    # PostgreSQL appends the statement to its message.
    message = " ".join(str(error).split()).partition(" LINE 1:")[0]
    if _is_older(error, message):
        return f"The database is empty or older than this version ({message}): run `{program()} migrate` first."
    if _is_out_of_use(error, message):
        return (
            f"Inspector's own database cannot be used ({message}): see that INSPECTOR_DATABASE_URL leads to one that is there and writable."
        )
    return None


def for_a_page(error: Exception) -> str | None:
    """The sentence that a page answers with; None for what is a fault of ours. The server's own message may name hosts and roles, and is left out."""
    message = str(error)
    if _is_older(error, message):
        return NOT_MIGRATED
    return BUSY if _is_out_of_use(error, message) else None


def refuses_nul(error: Exception) -> bool:
    """PostgreSQL has no text with a NUL, and looks for none either; in SQLite nothing is found."""
    return isinstance(error, DataError) and "NUL (0x00)" in str(error)


def _is_older(error: Exception, message: str) -> bool:
    if isinstance(error, ProgrammingError):
        return "does not exist" in message and _NO_RIGHT not in message
    # While connecting, what does not exist is the database or the role.
    return isinstance(error, OperationalError) and any(words in message for words in _NO_TABLE)


def _is_out_of_use(error: Exception, message: str) -> bool:
    """Not reached, locked, full, read-only, too old, or closed to us; a statement or a value that is wrong is our fault.

    Rows that are read a few at a time end with the driver's own error where the server is gone when they are closed: Django does not translate that one.
    """
    if isinstance(error, ProgrammingError):
        return _NO_RIGHT in message
    if isinstance(error, DataError | IntegrityError):
        return False
    return isinstance(error, DatabaseError | InterfaceError | psycopg.OperationalError | psycopg.InterfaceError)
