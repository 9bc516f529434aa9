"""The places on this machine where programs keep their sessions by default: which there are, and how large they are. No file is opened."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.programs.base import Home
from inspector.programs.formats import Format, InFiles
from inspector.programs.registry import programs_one_by_one
from inspector.sources import files, folders


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


def _base(home: Home) -> Path | None:
    """None of a person without a home folder."""
    named = os.environ.get(home.moved_by, "").strip() if home.moved_by else ""
    with suppress(RuntimeError):
        return Path(named or home.base).expanduser()
    return None


def paths(home: Home) -> list[Path]:
    """The places of this home that exist, sorted."""
    base = _base(home)
    if base is None:
        return []
    places = base.glob(home.below) if home.below else [base]
    with suppress(PermissionError):
        return sorted(path for path in places if path.exists())
    return []


def closed_places() -> Iterator[StorePlace]:
    """Folders that may not be looked into and in which a program may keep its sessions, once each."""
    closed: dict[Path, StorePlace] = {}
    for program in programs_one_by_one():
        for home in program.homes:
            for folder in _closed(home):
                closed.setdefault(folder, StorePlace(program.title, home.format, folder))
    yield from closed.values()


def _closed(home: Home) -> Iterator[Path]:
    """The folders on the way to this home that may not be looked into."""
    base = _base(home)
    if base is None:
        return
    for folder in reversed(base.absolute().parents):
        if folder.is_dir() and not folders.is_readable(folder, os.X_OK):
            yield folder
            return
    places = [base]
    for part in Path(home.below).parts:
        # A name that is known is opened where none may be listed.
        mode = os.X_OK | os.R_OK if "*" in part else os.X_OK
        inner = [place for place in places if place.is_dir()]
        yield from (place for place in inner if not folders.is_readable(place, mode))
        places = [path for place in inner if folders.is_readable(place, mode) for path in place.glob(part)]


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
        try:
            status = (folders.root(place.path) / name).stat()
        except PermissionError as error:
            raise files.problem(error, place.path) from error
        except OSError:
            continue
        size, written = size + status.st_size, max(written, status.st_mtime_ns // 1_000_000)
        count += 1
    return Extent(count, size, written or None)
