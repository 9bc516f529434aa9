"""Real databases for the tests of sources, and other processes that hold them."""

import hashlib
import multiprocessing
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from inspector.programs.formats import Table

KV = Table("kv", "key", "value", (("namespace", "conversation-store"),))
SCHEMA = "CREATE TABLE kv (namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (namespace, key))"

Value = str | bytes


def fill(connection: sqlite3.Connection, rows: Mapping[Value, Value], namespace: str = "conversation-store") -> None:
    """Text keys and values of exactly these bytes."""
    for key, value in rows.items():
        bound = [part.encode() if isinstance(part, str) else part for part in (namespace, key, value)]
        connection.execute("INSERT INTO kv VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))", bound)
    connection.commit()


def make(path: Path, rows: Mapping[Value, Value], mode: str = "WAL") -> Path:
    """A closed store; in WAL mode without side files."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute(SCHEMA)
        fill(connection, rows)
    return path


def everything(path: Path) -> list[tuple[object, ...]]:
    """All rows as SQLite has them, storage class and bytes."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT namespace, CAST(key AS BLOB), typeof(value), CAST(value AS BLOB) FROM kv ORDER BY 1, 2"
        return connection.execute(sql).fetchall()


def prints(path: Path) -> dict[str, str]:
    """SHA-256 of every file in the folder of the store; of the -shm (which readers may use) only that it is there."""
    return {
        file.name: "there" if file.name.endswith("-shm") else hashlib.sha256(file.read_bytes()).hexdigest()
        for file in path.parent.iterdir()
        if file.is_file()
    }


@contextmanager
def other_process(path: Path, *statements: str, then: str = "", crash: bool = False) -> Iterator["Other"]:
    """Another process with the store open, `statements` run; `then` runs at `go()`; ends with the `with` (in a crash if asked)."""
    program = (
        "import sqlite3, sys, os\n"
        f"c = sqlite3.connect({str(path)!r}, isolation_level=None, timeout=1)\n"
        f"for s in {statements!r}: c.execute(s).fetchall()\n"
        "print('ready', flush=True)\n"
        f"if sys.stdin.readline() and {bool(then)}:\n"
        f"    c.execute({then!r}).fetchall(); print('done', flush=True); sys.stdin.readline()\n"
        f"if {crash}: os._exit(0)\n"
        "c.close()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield Other(process)
    finally:
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            process.wait(10)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


class Other:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def go(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


def crashed(path: Path, *statements: str) -> Path:
    """The store after its only writer died: a -wal with frames that are not in the database yet."""
    with other_process(path, *statements, crash=True):
        pass
    assert path.with_name(path.name + "-wal").stat().st_size
    return path


def insert(key: str, value: str) -> str:
    return f"INSERT INTO kv VALUES ('conversation-store', '{key}', '{value}')"  # our own words only


def run_as_nobody(check: Callable[[], object]) -> None:
    """`check` in a child process without root's rights; its failure is the test's."""

    def child() -> None:
        os.setgid(65534)
        os.setuid(65534)
        check()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(10)
    assert process.exitcode == 0
