"""A backup of Inspector itself: its database, the key and head of its audit log, and what was uploaded; and the way back into an empty database.

The stores of agents are not in it: Inspector reads them where they are.
"""

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone

from inspector import __version__
from inspector.actions.problems import Refused
from inspector.models import AuditEntry, Source
from inspector.sources import audit_files
from inspector.sources.replacing import sync

MANIFEST = "backup.json"
UPLOADS = "uploads"
DATABASES = {"sqlite": "inspector.sqlite3", "postgresql": "inspector.pgdump"}
"""The engine -> the file of its backup."""
KEY = "audit-key"
_OF_DJANGO = ("isolation_level", "prepare_threshold", "client_encoding")
"""Parameters of a connection that are no libpq's."""
_PAGES = 1000
"""Of SQLite that are copied at once; writers go on between."""


@dataclass(frozen=True, slots=True)
class Backup:
    folder: Path
    taken_at: str
    version: str
    files: int
    size: int
    """Bytes."""


def back_up(folder: Path) -> Backup:
    """Into a new folder that only its owner can read. Raises Refused."""
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise Refused(
            f"The folder {folder} cannot be made ({error.strerror}): name one that is not there yet, in a folder that is."
        ) from error
    try:
        # The head before the database: one that is ahead of its database is an alarm.
        _copy_audit_files(folder)
        _DUMPS[connection.vendor](folder / DATABASES[connection.vendor])
        _copy_tree(settings.VAR_DIR / UPLOADS, folder / UPLOADS)
        files = {str(path.relative_to(folder)): _digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}
        taken_at = timezone.now().isoformat(timespec="seconds")
        content = {"version": __version__, "taken_at": taken_at, "database": connection.vendor, "files": files}
        (folder / MANIFEST).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        for path in (*folder.rglob("*"), folder):
            path.chmod(0o700 if path.is_dir() else 0o600)
            sync(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Backup(folder, taken_at, __version__, len(files), sum((folder / name).stat().st_size for name in files))


def restore(folder: Path) -> Backup:
    """Into the database that the settings name, which has to be empty, and next to it. Raises Refused, and nothing is changed then."""
    content = _read_manifest(folder)
    vendor, name = connection.vendor, DATABASES.get(content["database"], "")
    if vendor != content["database"]:
        raise Refused(
            f"This backup is of {content['database']}, and INSPECTOR_DATABASE_URL names {vendor}: name an empty database of the same kind."
        )
    _refuse_damaged(folder, content["files"])
    _refuse_used()
    key = settings.INSPECTOR_AUDIT_KEY_FILE
    for kept, place in ((folder / KEY, key), (folder / UPLOADS, settings.VAR_DIR / UPLOADS)):
        if kept.exists() and place is not None and _holds_other(place, kept):
            raise Refused(f"{place} is there already, and belongs to another database: move it away, then restore again.")
    _LOADS[vendor](folder / name)
    if key is not None and (folder / KEY).exists():
        key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kept, place in _audit_files(folder, key):
            shutil.copy(kept, place)
            place.chmod(0o600)
    _copy_tree(folder / UPLOADS, settings.VAR_DIR / UPLOADS)
    files = content["files"]
    return Backup(folder, content["taken_at"], content["version"], len(files), sum((folder / name).stat().st_size for name in files))


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        whole = {"version": str, "taken_at": str, "database": str, "files": dict}
        if all(isinstance(content[name], kind) for name, kind in whole.items()):
            return dict(content)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise Refused(f"{folder} is no backup of Inspector: name a folder that the command backup made, with its {MANIFEST}.")


def _refuse_damaged(folder: Path, files: dict[str, str]) -> None:
    for name, digest in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file() or _digest(path) != digest:
            raise Refused(f"{path} is not what the backup wrote, and nothing was restored: take another backup.")
    if DATABASES.get(connection.vendor) not in files:
        raise Refused(f"{folder} has no database in it, and nothing was restored: take another backup.")


def _refuse_used() -> None:
    # Tables without a source, an act or a person are those that the first command of a new machine made.
    there = set(connection.introspection.table_names())
    models = [model for model in (Source, AuditEntry, get_user_model()) if model._meta.db_table in there]
    if any(model._default_manager.exists() for model in models) or (there and connection.vendor == "postgresql"):
        name = connection.settings_dict["NAME"]
        raise Refused(f"The database {name} holds something already: name an empty one in INSPECTOR_DATABASE_URL, or move it away.")


def _copy_audit_files(folder: Path) -> None:
    key = settings.INSPECTOR_AUDIT_KEY_FILE
    if key is None:
        return
    for kept, place in _audit_files(folder, key):
        if place.exists():
            shutil.copyfile(place, kept)


def _audit_files(folder: Path, key: Path) -> tuple[tuple[Path, Path], ...]:
    """(in the backup, in use)."""
    kept = folder / KEY
    return (kept, key), (audit_files.head_of(kept), audit_files.head_of(key))


def _dump_sqlite(target: Path) -> None:
    connection.ensure_connection()
    with closing(sqlite3.connect(target)) as copy:
        connection.connection.backup(copy, pages=_PAGES)
        # One file: what a backup is copied by knows nothing of the others.
        copy.execute("PRAGMA journal_mode=DELETE")


def _load_sqlite(source: Path) -> None:
    connection.close()
    path = Path(connection.settings_dict["NAME"])
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.restoring")
    shutil.copyfile(source, aside)
    aside.chmod(0o600)
    sync(aside)
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    aside.replace(path)
    sync(path.parent)


def _dump_postgresql(target: Path) -> None:
    _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def _load_postgresql(source: Path) -> None:
    _run("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", str(source))


def _run(name: str, *arguments: str) -> None:
    """A program of PostgreSQL on our database; the password is not on its command line, which others can read. Raises Refused."""
    from psycopg.conninfo import make_conninfo

    named = {key: value for key, value in connection.get_connection_params().items() if isinstance(value, str | int)}
    environ = {**os.environ, "PGPASSWORD": str(named.pop("password", ""))}
    address = make_conninfo("", **{key: value for key, value in named.items() if key not in _OF_DJANGO})
    try:
        command = [name, f"--dbname={address}", *arguments]
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)  # noqa: S603 (a program of PostgreSQL)
    except FileNotFoundError:
        raise Refused(
            f"{name} is not installed here: install the client programs of PostgreSQL, of the server's version or newer."
        ) from None
    if ran.returncode:
        reason = " ".join(ran.stderr.split())[:500]
        raise Refused(f"{name} failed ({reason}): nothing was kept of it. Correct that, then try again.")


def _holds_other(place: Path, kept: Path) -> bool:
    """Whether there is something at `place` that is not what was kept; an upload that was refused leaves its folder, with nothing in it."""
    if place.is_dir():
        return any(place.iterdir())
    return place.exists() and not (place.is_file() and place.read_bytes() == kept.read_bytes())


def _copy_tree(source: Path, target: Path) -> None:
    if source.is_dir() and any(source.iterdir()):
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


_DUMPS = {"sqlite": _dump_sqlite, "postgresql": _dump_postgresql}
_LOADS = {"sqlite": _load_sqlite, "postgresql": _load_postgresql}
