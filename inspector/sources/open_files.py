"""Whether somebody is at work on a file that no lock protects: a process that has it open, or a write a moment ago."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.sources.problems import SourceProblem

_PROCESSES = Path("/proc")


@dataclass(eq=False)
class OpenElsewhere(SourceProblem):
    """`pid` and `name` are those of the process that has the file open."""

    pid: int
    name: str
    template = "{place} is open in process {pid} ({name}), so nothing was written; end that program, then try again."


@dataclass(eq=False)
class JustWritten(SourceProblem):
    seconds: float
    template = "{place} was written {seconds:.0f} seconds ago, and its program may be at work on it, so nothing was written; wait a minute, then try again."


def refuse_at_work(replaced: Iterable[Path], removed: Iterable[Path], quiet: float) -> None:
    """Raises OpenElsewhere where a process other than this one has one of the files open, as far as the system shows processes; JustWritten
    where one that is to be replaced was written less than `quiet` seconds ago."""
    written = list(replaced)
    for place in written:
        with suppress(OSError):
            seconds = time.time() - place.stat().st_mtime
            if 0 <= seconds < quiet:
                raise JustWritten(place, seconds)
    places = [*written, *removed]
    identities = {}
    for place in places:
        with suppress(OSError):
            identities[_identity(place)] = place
    for pid, identity in _open_files() if identities else ():
        if identity in identities:
            raise OpenElsewhere(identities[identity], pid, _name(pid))


def _identity(place: Path) -> tuple[int, int]:
    status = place.stat()
    return status.st_dev, status.st_ino


def _open_files() -> Iterable[tuple[int, tuple[int, int]]]:
    """Of processes that this user may look at; none where the system has no such folder."""
    own = os.getpid()
    for process in _listed(_PROCESSES):
        if process.name.isdecimal() and int(process.name) != own:
            for descriptor in _listed(process / "fd"):
                with suppress(OSError):
                    yield int(process.name), _identity(descriptor)


def _listed(folder: Path) -> list[Path]:
    with suppress(OSError):
        return list(folder.iterdir())
    return []


def _name(pid: int) -> str:
    with suppress(OSError):
        return (_PROCESSES / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    return "ended meanwhile"
