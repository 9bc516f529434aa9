"""`--queue`: a command as a job of `worker` processes, instead of here and now."""

from types import ModuleType
from typing import Any

from django.core.management.base import CommandError
from django.db import connection

from inspector.installation import program
from inspector.management.observed import PIPE
from inspector.sources import places
from inspector.sources.dsn import Dsn
from inspector.sources.places import is_dsn, place

HELP = "let a `worker` do it, on PostgreSQL: prints the number of the job, which `jobs NUMBER` asks for its answer"


def jobs_module() -> ModuleType:
    """The queue. Raises CommandError with SQLite, where nothing imports its engine."""
    if connection.vendor != "postgresql":
        raise CommandError(
            "The queue needs PostgreSQL as Inspector's own database (INSPECTOR_DATABASE_URL). With SQLite there are no jobs: "
            "a command without --queue does its work at once, with all processors."
        )
    if "procrastinate_jobs" not in connection.introspection.table_names():
        raise CommandError(f"The database has no tables for the queue yet: run `{program()} migrate` first.")
    from inspector.management import jobs

    return jobs


def place_for_workers(name: str) -> str:
    """A path as any process finds it, and an address or id as it is. Raises CommandError for what a worker could not read."""
    if name == PIPE:
        raise CommandError("What comes through a pipe is here only: save it to a file that the workers can read, and queue that.")
    if not is_dsn(name):
        return places.real(where) if places.exists(where := place(name)) else name
    where = place(name)
    if isinstance(where, Dsn) and where.name != name:
        raise CommandError(
            "The queue keeps what is queued, and would keep the password of this address: leave it out, and put it into ~/.pgpass of the workers."
        )
    return name


def queued(name: str, options: dict[str, Any]) -> int | None:
    """The number of the job; None where it waits already. `options` are those of the command. Raises CommandError."""
    own = {key: value for key, value in options.items() if key not in ("queue", "json", "stdout", "stderr", *_OF_DJANGO)}
    for key in ("target", "traces"):
        value = own.get(key)
        if isinstance(value, str):
            own[key] = place_for_workers(value)
        elif value:
            own[key] = [place_for_workers(one) for one in value]
    number: int | None = jobs_module().queue(name, own)
    return number


_OF_DJANGO = ("verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color", "skip_checks")
