"""The places on this machine where programs keep their sessions by default: which there are, and how large they are. No file is opened."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.programs.base import Home
from inspector.programs.formats import InFiles
from inspector.programs.registry import programs
from inspector.sources import folders


@dataclass(frozen=True, slots=True)
class StorePlace:
    """A file or folder of sessions. `format` is "" where a person named it and what it holds is not known yet; `program` is for people."""

    program: str
    format: str
    path: Path


@dataclass(frozen=True, slots=True)
class Extent:
    """How many files a format reads there, and their bytes."""

    files: int
    size: int


def default_places() -> list[StorePlace]:
    """Those that exist, once each, in the order of the programs."""
    places: dict[str, StorePlace] = {}
    for program in programs():
        for home in program.homes:
            for path in paths(home):
                places.setdefault(os.path.realpath(path), StorePlace(program.title, home.format, path))
    return list(places.values())


def paths(home: Home) -> list[Path]:
    """The places of this home that exist, sorted. A person without a home folder has none below it."""
    named = os.environ.get(home.moved_by, "").strip() if home.moved_by else ""
    try:
        base = Path(named or home.base).expanduser()
    except RuntimeError:
        return []
    places = base.glob(home.below) if home.below else [base]
    return sorted(path for path in places if path.exists())


def extent(place: StorePlace) -> Extent:
    """Raises OutOfReach, TooMany, NotReadable."""
    wanted = next((format_ for program in programs() for format_ in program.formats if format_.name == place.format), None)
    names = folders.names(place.path)
    count = size = 0
    for name in names:
        if isinstance(wanted, InFiles) and not wanted.wants(name):
            continue
        with suppress(OSError):
            size += (folders.root(place.path) / name).stat().st_size
            count += 1
    return Extent(count, size)
