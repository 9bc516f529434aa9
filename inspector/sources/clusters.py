"""The data folder of a PostgreSQL or PGLite: recognized, and answered with how to reach what it holds. Nothing but its server can read the files in it."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.sources import files, reach
from inspector.sources.problems import SourceProblem, shown
from inspector.sources.reach import OutOfReach

LOCK = ".gbrain-lock"
"""Folder in the data folder with a file `lock` that holds {pid, command, ...}: gbrain's own, refreshed twice a minute for as long as it runs."""
_SOME = ("base", "global")
_LOCK_BYTES = 4096


@dataclass(eq=False)
class DataFolder(SourceProblem):
    """`holder` is what gbrain's lock names as its process, alive or not known to be dead; "" where there is none."""

    version: str
    holder: str

    @property
    def sentence(self) -> str:
        now = f"{self.holder} has it open now, and a copy taken meanwhile is torn: stop it first, then" if self.holder else "stop gbrain,"
        return (
            f"{self.place} is the data folder of a PGLite ({shown(self.version, 20)}), which only PGLite itself reads; {now} copy the folder, serve the copy with "
            "`npx -p @electric-sql/pglite@0.4.3 -p @electric-sql/pglite-socket@0.1.3 pglite-server --db=COPY --port=5433`, and name "
            "postgresql://postgres@127.0.0.1:5433/postgres?sslmode=disable instead."
        )


@dataclass(eq=False)
class ServerFolder(SourceProblem):
    version: str
    template = (
        "{place} is the data folder of a PostgreSQL server ({version}), which only that server reads; "
        "start it, and name the database as postgresql://USER@HOST:PORT/NAME."
    )
    text_limit = 20


def refuse(path: Path) -> None:
    """Raises DataFolder, ServerFolder; for a file inside the folder too, and for the folder that holds one alone. Raises OutOfReach for `path` itself."""
    reach.refuse(path)
    for folder in (path, path.parent, path / "brain.pglite"):
        # The parent of what may be opened is not looked into where it may not be opened itself.
        with suppress(OSError, ValueError, OutOfReach):
            reach.refuse(folder / "PG_VERSION")
            if (folder / "PG_VERSION").is_file() and all((folder / name).is_dir() for name in _SOME):
                version = f"PostgreSQL {_start(folder / 'PG_VERSION', 20).decode('ascii', 'replace').strip()}"
                raise DataFolder(folder, version, _holder(folder)) if _is_pglite(folder) else ServerFolder(folder, version)


def _start(path: Path, size: int) -> bytes:
    """The first bytes of a file; b"" where it cannot be read."""
    with suppress(OSError, SourceProblem), files.opened(path) as file:
        return file.read(size)
    return b""


def _is_pglite(folder: Path) -> bool:
    """By gbrain's lock or name, or by what the only process of PGLite leaves in the file of the postmaster: -42 for a process id."""
    if (folder / LOCK).is_dir() or folder.suffix == ".pglite":
        return True
    return _start(folder / "postmaster.pid", 3) == b"-42"


def _holder(folder: Path) -> str:
    try:
        owner = json.loads(_start(folder / LOCK / "lock", _LOCK_BYTES))
    except (ValueError, RecursionError):
        return "a process that its lock does not name" if (folder / LOCK).is_dir() else ""
    pid = owner.get("pid") if isinstance(owner, dict) else None
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return "a process that its lock does not name"
    with suppress(OSError, OverflowError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ""
    command = owner.get("command")
    return f"process {pid}{f' ({shown(command, 60)})' if isinstance(command, str) else ''}"
