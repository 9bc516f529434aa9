"""Whether anything of a source was written since it was read: by what the file system reports of its files, none of which is opened."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from time import time_ns

from inspector.sources import files, folders
from inspector.sources.opening import side

SETTLED_NS = 1_000_000_000
"""Times of files have a grain: within it a file can be written twice and show one time."""
LOGS = ("-wal", "-journal")
"""Files next to an SQLite database that contain a part of it; the -shm file only indexes them."""


def stamp(path: Path, format_name: str | None, packages: tuple[str, ...]) -> str:
    """SHA-256 (hex) over every file of the source, the format that was named, and the code of `packages`, which reads it.

    "" where it cannot be known: a file that was written less than a second ago may be written again without another time. Raises OutOfReach,
    TooMany, NotReadable.
    """
    keys = [folders.root(path) / name for name in folders.names(path)]
    logs = [] if folders.is_folder(path) else [log for log in (side(keys[0], suffix) for suffix in LOGS) if files.exists(log)]
    stamps = []
    for file in (*keys, *logs):
        try:
            status = file.stat()
        except OSError:
            return ""
        # SQLite sets the owner of a log, and so its time of change, whenever somebody reads as root.
        changed = 0 if file in logs else status.st_ctime_ns
        if time_ns() - max(status.st_mtime_ns, changed) < SETTLED_NS:
            return ""
        stamps.append((str(file), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, changed))
    return _digest((code(packages), format_name, stamps)) if stamps else ""


@cache
def code(packages: tuple[str, ...]) -> str:
    """SHA-256 (hex) over name, size and time of every module of these packages: another code may read the same bytes differently."""
    modules = sorted(
        {module for package in packages for folder in import_module(package).__path__ for module in Path(folder).rglob("*.py")}
    )
    return _digest([(str(module), status.st_size, status.st_mtime_ns) for module in modules for status in (module.stat(),)])


def _digest(values: Iterable[object]) -> str:
    return hashlib.sha256(repr(values).encode("utf-8", "surrogateescape")).hexdigest()
