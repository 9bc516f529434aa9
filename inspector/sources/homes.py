"""The places on this machine where programs keep their sessions by default: which there are, and how large they are. No file is opened."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.programs.base import Home
from inspector.programs.formats import Format, InFiles
from inspector.programs.registry import programs_one_by_one
from inspector.sources import folders


@dataclass(frozen=True, slots=True)
class StorePlace:
    """A file or folder of sessions. `format` is "" where a person named it and what it holds is not known yet; `program` is for people."""

    program: str
    format: str
    path: Path


@dataclass(frozen=True, slots=True)
class Extent:
    """How many files a format reads there, their bytes, and when the last of them was written, in epoch milliseconds."""

    files: int
    size: int
    written: int | None = None


def default_places() -> Iterator[StorePlace]:
    """Those that exist, once each, in the order of the programs; a program is loaded when the places before its own are done with."""
    real_paths: set[str] = set()
    for program in programs_one_by_one():
        for home in program.homes:
            for path in paths(home):
                real = os.path.realpath(path)
                if real not in real_paths:
                    real_paths.add(real)
                    yield StorePlace(program.title, home.format, path)


def paths(home: Home) -> list[Path]:
    """The places of this home that exist, sorted. A person without a home folder has none below it."""
    named = os.environ.get(home.moved_by, "").strip() if home.moved_by else ""
    try:
        base = Path(named or home.base).expanduser()
    except RuntimeError:
        return []
    places = base.glob(home.below) if home.below else [base]
    return sorted(path for path in places if path.exists())


def _format(name: str) -> Format:
    return next(format_ for program in programs_one_by_one() for format_ in program.formats if format_.name == name)


def extent(place: StorePlace) -> Extent:
    """Raises OutOfReach, TooMany, NotReadable."""
    # Who names a folder need not wait until all programs are loaded.
    wanted = _format(place.format) if place.format else None
    names = folders.names(place.path)
    count = size = written = 0
    for name in names:
        if isinstance(wanted, InFiles) and not wanted.wants(name):
            continue
        with suppress(OSError):
            status = (folders.root(place.path) / name).stat()
            size, written = size + status.st_size, max(written, status.st_mtime_ns // 1_000_000)
            count += 1
    return Extent(count, size, written or None)
