"""Whether somebody is at work on a file that no lock protects: a process that has it open, or a write a moment ago.

A program that keeps a file open goes on writing to that very file when another one takes its name, and nobody reads what it writes.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from inspector.sources.problems import SourceProblem

_PROCESSES = Path("/proc")
_LSOF_SECONDS = 20.0

Identity = tuple[int, int]
"""Device and number of a file, whatever its name."""


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


class User(NamedTuple):
    """A process that has a file open. `name` "" = it has to be asked for."""

    pid: int
    identity: Identity
    may_write: bool
    name: str = ""


def refuse_at_work(replaced: Iterable[Path], removed: Iterable[Path], quiet: float) -> None:
    """Raises OpenElsewhere where a process other than this one has one of the files open, as far as the system shows processes; JustWritten
    where one that is to be replaced was written less than `quiet` seconds ago."""
    written = list(replaced)
    for place in written:
        with suppress(OSError):
            seconds = time.time() - place.stat().st_mtime
            if 0 <= seconds < quiet:
                raise JustWritten(place, seconds)
    _refuse([*written, *removed], only_writers=False)


def refuse_writers(places: Iterable[Path]) -> None:
    """Raises OpenElsewhere where another process may write to one of the files through a descriptor that it has open. A reader loses nothing."""
    _refuse(places, only_writers=True)


def _refuse(places: Iterable[Path], only_writers: bool) -> None:
    identities: dict[Identity, Path] = {}
    for place in places:
        with suppress(OSError):
            status = place.stat()
            identities[status.st_dev, status.st_ino] = place
    for user in users(identities):
        if user.may_write or not only_writers:
            raise OpenElsewhere(identities[user.identity], user.pid, user.name or _name(user.pid))


def users(identities: dict[Identity, Path]) -> Iterator[User]:
    """Processes other than this one that have one of these files open, as far as this user may look at them; the paths are names of the files."""
    if not identities:
        return
    if _PROCESSES.is_dir():
        yield from _in_proc(identities)
    elif lsof := shutil.which("lsof"):
        yield from _by_lsof(lsof, identities)


def name_of(user: User) -> str:
    return user.name or _name(user.pid)


def _in_proc(identities: Iterable[Identity]) -> Iterator[User]:
    own, sought = os.getpid(), set(identities)
    for process in _listed(_PROCESSES):
        if process.name.isdecimal() and int(process.name) != own:
            for descriptor in _listed(process / "fd"):
                with suppress(OSError):
                    status = descriptor.stat()
                    if (status.st_dev, status.st_ino) in sought:
                        yield User(int(process.name), (status.st_dev, status.st_ino), _may_write(process / "fdinfo" / descriptor.name))


def _may_write(info: Path) -> bool:
    """By the flags (octal) with which the descriptor was opened; True where they cannot be read."""
    with suppress(OSError, ValueError, StopIteration):
        flags = next(line for line in info.read_text().splitlines() if line.startswith("flags:"))
        return int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return True


def _by_lsof(lsof: str, identities: dict[Identity, Path]) -> Iterator[User]:
    """From its output for programs: a line for each fact, p (process), c (command), f (descriptor), a (access: r, w, u), n (name)."""
    paths = {str(path.resolve()): identity for identity, path in identities.items()}
    try:
        ran = subprocess.run([lsof, "-w", "-F", "pcan", "--", *paths], capture_output=True, timeout=_LSOF_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return
    facts = {"p": "0", "c": "", "a": ""}
    for line in ran.stdout.decode("utf-8", "surrogateescape").splitlines():
        facts[line[:1]] = line[1:]
        if line[:1] == "f":
            facts["a"] = ""
        if line[:1] == "n" and line[1:] in paths and facts["p"] != str(os.getpid()):
            yield User(int(facts["p"]), paths[line[1:]], facts["a"] != "r", facts["c"])


def _listed(folder: Path) -> list[Path]:
    with suppress(OSError):
        return list(folder.iterdir())
    return []


def _name(pid: int) -> str:
    with suppress(OSError):
        return (_PROCESSES / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    return "ended meanwhile"
