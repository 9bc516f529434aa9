"""Inspector's own database is no source: closing any other descriptor of it drops the locks that SQLite holds on it."""

from dataclasses import dataclass
from pathlib import Path

from django.db import connections

from inspector.sources.problems import SourceProblem


@dataclass(eq=False)
class OwnDatabase(SourceProblem):
    @property
    def sentence(self) -> str:
        return f"{self.place} belongs to Inspector's own database, which it does not inspect; name the store of an agent."


def refuse_own_database(path: Path) -> None:
    """Raises OwnDatabase for the file, its side files, and links to them. Opens nothing."""
    try:
        wanted = path.stat()
    except (OSError, ValueError):
        return
    for connection in connections.all():
        if connection.vendor != "sqlite":
            continue
        for suffix in ("", "-wal", "-shm", "-journal"):
            try:
                found = Path(f"{connection.settings_dict['NAME']}{suffix}").stat()
            except (OSError, ValueError):
                continue
            if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                raise OwnDatabase(path)
