"""What may be opened: everything in a command, which reads what its person may; in the web interface only what its limit covers.

The web interface sets a limit around each request (`inspector.middleware.limit_reach`). Everything in this package that opens a file, a
folder, a database or a server asks here first, with links resolved at that moment.
"""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.sources.dsn import Dsn, Place
from inspector.sources.problems import SourceProblem

SIDES = ("-wal", "-shm", "-journal")
"""What SQLite puts after the name of a database for the files that it keeps next to it."""
_COMPANIONS = (*SIDES, ".1", ".lock")
"""What belongs to a single file: these, the rotated part of a journal, and the lock file of OpenClaw."""

_SET_ASIDE = re.compile(r"(.+)\.[0-9a-f]{1,8}\.quarantine")
"""Where a repair puts lines that it takes out of a session: next to its file."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What the web interface may open.

    `roots`: real folders, with everything below them. `allowed`: real paths of single files and folders, and addresses without their password;
    asked only when a root does not cover the place. `advice`: a sentence with what to do next, for a refusal.
    """

    roots: tuple[Path, ...]
    allowed: Callable[[], Collection[str]]
    advice: str

    def covers(self, real_path: Path) -> bool:
        """Whether the limit allows the real path."""
        if any(real_path.is_relative_to(root) for root in self.roots):
            return True
        allowed = self.allowed()
        text = str(real_path)
        return (
            text in allowed
            or any(str(folder) in allowed for folder in real_path.parents)
            or any(text.endswith(ending) and text.removesuffix(ending) in allowed for ending in _COMPANIONS)
            or ((aside := _SET_ASIDE.fullmatch(text)) is not None and f"{aside[1]}.jsonl" in allowed)
        )


@dataclass(eq=False)
class OutOfReach(SourceProblem):
    """The sentence is the same whether or not there is something at the place, and does not say where a link leads."""

    advice: str

    @property
    def sentence(self) -> str:
        return f"The web interface may not read {self.place}. {self.advice}"


_limit: ContextVar[Limit | None] = ContextVar("limit", default=None)


@contextmanager
def limited(limit: Limit | None) -> Iterator[None]:
    """Within it only what `limit` covers is opened; None lifts it."""
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def including(folder: Path) -> Iterator[None]:
    """Within it `folder` may be opened too: a private one that this process made."""
    limit = _limit.get()
    with limited(limit and replace(limit, roots=(*limit.roots, folder.resolve()))):
        yield


def is_limited() -> bool:
    return _limit.get() is not None


def real(path: Path) -> Path:
    """The real path, to be opened instead of `path`: a link that is put there later is not followed. Raises OutOfReach, and what Path.resolve raises."""
    limit = _limit.get()
    if limit is None:
        return path.resolve()
    try:
        real_path = path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        # Links in a circle may be anywhere, and what is wrong with them is not reported.
        raise OutOfReach(path, limit.advice) from error
    if not limit.covers(real_path):
        raise OutOfReach(path, limit.advice)
    return real_path


def refuse(place: Place) -> None:
    """Raises OutOfReach for a place that may not be opened here."""
    limit = _limit.get()
    if limit is None:
        return
    if not isinstance(place, Dsn):
        real(place)
    elif place.name not in limit.allowed():
        raise OutOfReach(place, limit.advice)
