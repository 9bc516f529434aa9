"""The lock files of OpenClaw: one that a live process holds is respected, and ours is there while we write.

`<file>.jsonl.lock` is made exclusively and holds {pid, createdAt}, later also starttime; the program takes one of a dead process for stale. Ours says whose it
is, so that one that a killed process of ours left is removed. It gets its name when it is whole: one without a process in it could be the program's as well.
"""

import errno
import glob
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inspector.sources import files
from inspector.sources.problems import Missing, NotAFile, SourceProblem, TooLarge, shown
from inspector.sources.processes import is_alive, start_time

YOUNG = 10.0
"""Seconds for which a lock file without a process in it may be one that is just being written."""

_MOST = 1 << 16
_OURS = "inspector"
_NEW = ".inspector-new"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of a file system that has no second names for a file."""


@dataclass(eq=False)
class SessionLocked(SourceProblem):
    """`pid` 0 = the lock file names no process (yet)."""

    pid: int
    seconds: float

    @property
    def sentence(self) -> str:
        holder = f"process {self.pid}" if self.pid else "a process that it does not name yet"
        return (
            f"{self.place} is locked by {holder} for {self.seconds:,.0f} seconds ({shown(self.path.name)}.lock), so nothing was written; "
            "stop the gateway or wait until its turn is over, then try again."
        )


class NotALock(SourceProblem):
    """A folder, a pipe or something else under the name of the lock file."""

    template = "{place} is no file, so that it is not known who holds the session, and nothing was written; move it away, then try again."


@contextmanager
def holding(places: Sequence[Path], suffix: str) -> Iterator[None]:
    """Holds the lock of each file; that of a dead process of the program stays as it is, and is never removed by us. Raises SessionLocked, NotALock, NotReadable, OSError."""
    with ExitStack() as stack:
        for place in places:
            lock = place.with_name(place.name + suffix)
            remove_stale(lock)
            if _create(lock):
                stack.callback(_release, lock)
                continue
            holder = _holder(lock)
            if holder is not None:
                raise SessionLocked(place, *holder)
        yield


def remove_stale(lock: Path) -> None:
    """Removes a lock, whole or not, that a process of ours left that was killed; any other stays."""
    with suppress(OSError):
        for new in lock.parent.glob(f".{glob.escape(lock.name)}.*{_NEW}"):
            number = new.name.removesuffix(_NEW).split(".")[-2]
            if number.isdecimal() and int(number) != os.getpid() and not is_alive(int(number)):
                new.unlink(missing_ok=True)
    with suppress(OSError, SourceProblem):
        owner = _owner(lock)
        pid, start = owner.get("pid"), owner.get("starttime")
        if owner.get("program") != _OURS or not isinstance(pid, int) or pid == os.getpid():
            return
        if (not is_alive(pid) or (isinstance(start, int) and start_time(pid) not in (None, start))) and _owner(lock) == owner:
            lock.unlink()


def _text() -> bytes:
    now = datetime.now(UTC)
    owner: dict[str, Any] = {"pid": os.getpid(), "program": _OURS, "createdAt": f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z"}
    start = start_time(os.getpid())
    return json.dumps(owner | ({"starttime": start} if start is not None else {}), indent=2).encode()


def _create(lock: Path) -> bool:
    if not lock.parent.is_dir():
        return True
    new = lock.with_name(f".{lock.name}.{os.getpid()}.{secrets.token_hex(4)}{_NEW}")
    try:
        _make(new)
        try:
            os.link(new, lock)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _make(lock)
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return True


def _make(place: Path) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        rest = memoryview(_text())
        while rest:
            # A full disk takes a part first, and refuses only then.
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        # A lock that names nobody would keep the program out until it is old.
        place.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _release(lock: Path) -> None:
    with suppress(OSError, SourceProblem):
        if _owner(lock).get("pid") == os.getpid():
            lock.unlink()


def _owner(lock: Path) -> dict[str, Any]:
    try:
        # A pipe would be waited for without end.
        owner = json.loads(files.read_bytes(lock, _MOST))
    except NotAFile:
        raise NotALock(lock) from None
    except (TooLarge, ValueError, RecursionError):
        return {}
    return owner if isinstance(owner, dict) else {}


def _holder(lock: Path) -> tuple[int, float] | None:
    """Pid and age in seconds of a lock that counts; None for one that is stale or was let go meanwhile."""
    try:
        owner, since = _owner(lock), lock.stat().st_mtime
    except (Missing, FileNotFoundError):
        return None
    pid = owner.get("pid")
    age = max(0.0, time.time() - _created(owner.get("createdAt"), since))
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return (0, age) if age < YOUNG else None
    if not is_alive(pid):
        return None
    start, recorded_start = start_time(pid), owner.get("starttime")
    # A pid is given out again; the moment at which its process began is not.
    is_other = isinstance(recorded_start, int) and start is not None and recorded_start != start
    return None if is_other else (pid, age)


def _created(value: Any, otherwise: float) -> float:
    with suppress(ValueError, TypeError, OverflowError):
        created = datetime.fromisoformat(value)
        return (created if created.tzinfo else created.replace(tzinfo=UTC)).timestamp()
    return otherwise
