"""Processes of this machine, by a name that is never given out again: which one did something, and whether it has ended."""

import os
import socket
from contextlib import suppress
from pathlib import Path


def this_process() -> str:
    """`HOST NAMESPACE PID START`: a pid alone is given out again, and counts in its own container only."""
    pid = os.getpid()
    return f"{_where()} {pid} {start_time(pid) or 0}"


def has_ended(name: str) -> bool:
    """Whether the process that `this_process` named is known to have ended: never of one on another machine, or where nothing was named."""
    try:
        where, pid, start = name.rsplit(" ", 2)
        number, began = int(pid), int(start)
    except ValueError:
        return False
    if where != _where():
        return False
    now = start_time(number)
    return not is_alive(number) or (now is not None and began not in (0, now))


def is_alive(pid: int) -> bool:
    """A process that has ended and that its parent has not asked about yet is not alive."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        # A number that no process can have is no process.
        return False
    except OSError:
        pass
    return _stat(pid)[:1] not in (["Z"], ["X"])


def start_time(pid: int) -> int | None:
    """Clock ticks since boot at which the process began, where the system says so."""
    with suppress(ValueError, IndexError):
        return int(_stat(pid)[19])
    return None


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on, those after the name of the command; none where the system has no such file."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    return []


def _where() -> str:
    boot = namespace = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()} {boot} {namespace}".strip()
