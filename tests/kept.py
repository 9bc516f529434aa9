"""What takes long to import, imported once in a process: every other test that asks for it gets the same rows, ids and files."""

import copy
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.db import connection, transaction

from inspector.models import SearchText, searching

T = TypeVar("T")
Rows = dict[str, list[tuple[Any, ...]]]


class _Made(NamedTuple):
    value: Any
    rows: Rows
    key: Path


class Kept:
    """Its folders are in `root`. Nothing is kept of a database server, whose sequences would go on from where they were."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made: dict[str, _Made] = {}

    def __call__(self, name: str, build: Callable[[Path], T]) -> T:
        """`build(folder)`, or a copy of what it gave, with the rows that it wrote into an empty database and the files that it left in its folder.

        The audit log goes on with the key that it was begun with. A test may change all of it: the next one gets it as it was.
        """
        folder, files = self.root / name, self.root / f"{name} as it was"
        key: Path = settings.INSPECTOR_AUDIT_KEY_FILE.parent
        if name in self._made:
            made = self._made[name]
            shutil.rmtree(folder)
            shutil.copytree(files, folder)
            shutil.copytree(made.key, key, dirs_exist_ok=True)
            _put(made.rows)
            return copy.deepcopy(made.value)  # type: ignore[no-any-return]
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        before = _counts() if connection.vendor == "sqlite" else {}
        value = build(folder)
        if before:
            after = _counts()
            assert all(after[table] == count for table, count in before.items() if count), f"{name} is not built in an empty database"
            rows = {table: _rows(table) for table, count in after.items() if count and not before[table]}
            shutil.copytree(folder, files)
            kept_key = self.root / f"key of {name}"
            shutil.copytree(key, kept_key) if key.exists() else kept_key.mkdir()
            self._made[name] = _Made(copy.deepcopy(value), rows, kept_key)
        return value


def _database() -> sqlite3.Connection:
    connection.ensure_connection()
    return connection.connection  # type: ignore[no-any-return]


def _counts() -> dict[str, int]:
    """Rows of each table but those of the index of words, which small stores do not use."""
    names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB ?"
    tables = _database().execute(names, [f"{searching.TABLE}*"]).fetchall()
    assert not SearchText.objects.filter(is_indexed=True).exists()
    return {table: _database().execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0] for (table,) in tables}


def _rows(table: str) -> list[tuple[Any, ...]]:
    """As they are stored: behind a sign no column is converted by its declared type."""
    columns = [name for _, name, *_ in _database().execute(f'PRAGMA table_info("{table}")')]
    return _database().execute(f'SELECT {", ".join(f"""+"{name}" """ for name in columns)} FROM "{table}"').fetchall()


def _put(rows: Rows) -> None:
    """At once: rows refer to those of tables that come later."""
    with transaction.atomic():
        for table, values in rows.items():
            _database().executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(values[0]))})', values)
