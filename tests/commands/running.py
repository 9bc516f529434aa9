"""Runs commands as manage.py does: what they printed, and with which status they ended."""

import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.management import CommandError, call_command

from inspector.demo import creation
from inspector.demo.dispatch_incident import CONVERSATION, store_rows, trace_records

__all__ = ["CONVERSATION", "Ran", "everything", "incident", "make", "run", "run_in_process", "traces"]


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: object) -> Ran:
    """In this process, on the test's database. A CommandError is status 2, as manage.py has it."""
    out, err = io.StringIO(), io.StringIO()
    name, *rest = map(str, arguments)
    try:
        call_command(name, *rest, stdout=out, stderr=err)
    except CommandError as error:
        return Ran(2, out.getvalue(), f"{err.getvalue()}{error}\n")
    except SystemExit as left:
        return Ran(int(left.code or 0), out.getvalue(), err.getvalue())
    return Ran(0, out.getvalue(), err.getvalue())


def run_in_process(database: Path, *arguments: object, stdin: bytes = b"", **environment: str) -> Ran:
    """A process of its own, with its own database."""
    variables = {**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{database}", "INSPECTOR_AUDIT_KEY_FILE": "", **environment}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *map(str, arguments)]
    ran = subprocess.run(command, input=stdin, capture_output=True, env=variables, timeout=60)
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def make(path: Path, rows: list[tuple[str, str, str]] | None = None) -> Path:
    """The example store, or one of the given rows."""
    creation.write_dispatch_store(path, store_rows() if rows is None else rows)
    return path


def incident(path: Path) -> Path:
    """A store with the one conversation of the incident."""
    own = [row for row in store_rows() if CONVERSATION in row[1] and row[1] != "conv-index"]
    return make(path, [*own, ("conversation-store", "conv-index", json.dumps([CONVERSATION]))])


def traces(path: Path) -> Path:
    creation.write_trace_store(path, trace_records())
    return path


def everything(path: Path) -> list[tuple[object, ...]]:
    """Every row of the store, with storage class and bytes."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT namespace, key, typeof(value), CAST(value AS BLOB) FROM kv ORDER BY 1, 2").fetchall()
