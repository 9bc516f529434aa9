"""Lock files beside session files: what counts as held, and what stands under the name of one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.programs.formats import Cell, Change
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.sources import folders, stores
from inspector.sources.lock_files import NotALock, SessionLocked

SUFFIX = ".lock"
OLD = 1_000_000_000


def session(folder: Path) -> Path:
    path = folder / "s.jsonl"
    path.write_bytes(b"old\n")
    return path


def write(path: Path) -> float:
    return folders.commit(path, {}, [Change(path.name, Cell(b"old\n", "file"), Cell(b"new\n", "file"))], lock_suffix=SUFFIX)


def lock_of(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


STALE: dict[str, Callable[[], bytes]] = {
    "a dead process": lambda: json.dumps({"pid": dead_pid()}).encode(),
    "a number that no process has": lambda: b'{"pid":%s}' % (b"9" * 30),
    "an integer that is not read": lambda: b'{"pid":%s}' % (b"9" * 5000),
    "no number": lambda: b'{"pid":"1"}',
    "below zero": lambda: b'{"pid":-1}',
    "no JSON": lambda: b"\0\xff[",
    "deep": lambda: b"[" * 60_000,
    "larger than any lock": lambda: b" " * 100_000,
    "empty": lambda: b"",
}


@pytest.mark.parametrize("name", STALE)
def test_a_lock_that_nobody_holds_is_left_and_stands_in_no_way(tmp_path: Path, name: str) -> None:
    path, data = session(tmp_path), STALE[name]()
    lock_of(path).write_bytes(data)
    os.utime(lock_of(path), (OLD, OLD))
    write(path)
    assert path.read_bytes() == b"new\n" and lock_of(path).read_bytes() == data


@pytest.mark.parametrize("data", [b"", b"{", json.dumps({"pid": os.getppid()}).encode()])
def test_a_live_lock_and_one_that_is_just_being_written_are_respected(tmp_path: Path, data: bytes) -> None:
    path = session(tmp_path)
    lock_of(path).write_bytes(data)
    with pytest.raises(SessionLocked, match="nothing was written"):
        write(path)
    assert path.read_bytes() == b"old\n" and lock_of(path).read_bytes() == data and len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_folder_or_a_pipe_of_that_name_is_said_and_never_waited_for(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = session(tmp_path)
    make(lock_of(path))
    with pytest.raises(NotALock, match=r"s\.jsonl\.lock is no file, .* nothing was written; move it away"):
        write(path)
    assert path.read_bytes() == b"old\n"


def test_a_copy_is_written_whatever_its_copied_lock_says(tmp_path: Path) -> None:
    """A rehearsal copies the lock too, and the copy of an old one is young."""
    path = session(tmp_path)
    lock_of(path).write_text(json.dumps({"pid": os.getppid()}))
    change = Change(path.name, Cell(b"old\n", "file"), Cell(b"new\n", "file"))
    with pytest.raises(SessionLocked):
        stores.commit(path, OPENCLAW, {}, {}, [change])
    stores.commit(path, OPENCLAW, {}, {}, [change], is_copy=True)
    assert path.read_bytes() == b"new\n"


KILLED = """
import os, signal, sys
from pathlib import Path
from inspector.sources import lock_files
def die(*given):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(lock_files.os, sys.argv[2], die)
with lock_files.holding([Path(sys.argv[1])], ".lock"):
    pass
"""


@pytest.mark.parametrize("call", ["write", "link", "unlink"])
def test_what_a_process_left_that_was_killed_while_it_made_its_lock_is_removed(tmp_path: Path, call: str) -> None:
    """An empty lock that names nobody stayed, and kept the program out until it was old."""
    path = session(tmp_path)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), call], timeout=60)
    assert killed.returncode < 0 and len(list(tmp_path.iterdir())) > 1
    assert not lock_of(path).exists() or json.loads(lock_of(path).read_bytes())["program"] == "inspector"
    folders.clear(path, [path.name], SUFFIX)
    assert list(tmp_path.iterdir()) == [path]


def test_what_another_process_is_making_stays(tmp_path: Path) -> None:
    path = session(tmp_path)
    others = lock_of(path).with_name(f".{lock_of(path).name}.{os.getppid()}.0011aabb.inspector-new")
    others.write_bytes(b"")
    write(path)
    assert others.exists() and path.read_bytes() == b"new\n"
