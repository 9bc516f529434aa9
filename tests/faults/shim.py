"""The C library in between: compiled by the system's compiler, loaded before the C library, armed in a fork."""

import ctypes
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
KINDS = (
    *("off", "record", "kill before", "kill after", "half write", "disk full", "I/O error", "read-only"),
    *("cut before", "cut after", "stop before"),
)
"""By the number that the C side knows them by."""
ON_SERVERS = ("session killed", "server killed")
"""What the harness does to the server while the process is stopped before the call."""
_NEED_SPACE = {"write", "pwrite", "writev", "sendfile", "copy_file_range", "fsync", "fdatasync", "ftruncate", "truncate", "fallocate"}
_NEED_SPACE |= {"rename", "link", "symlink", "mkdir", "open"}
_DATA = {"write", "pwrite", "sendfile", "copy_file_range"}
_SYNCS = {"fsync", "fdatasync"}


class NoCompiler(Exception):
    """The shim cannot be compiled or loaded here; the text says why."""


@dataclass(frozen=True)
class Call:
    """A counted call: its number from 1, the path or socket, its bytes, and of a send how it begins."""

    number: int
    name: str
    path: str
    size: int
    text: str

    def can(self, kind: str) -> bool:
        """Whether the fault can happen to this call: half of a rename cannot be done, and what needs no room is not refused for want of it."""
        if self.name == "send":
            return kind in ("kill before", *(("kill after", "cut before", "cut after", *ON_SERVERS) if self.is_statement else ()))
        if kind == "half write":
            return self.name in _DATA and self.size > 1
        if kind == "disk full":
            return self.name in _NEED_SPACE
        if kind == "read-only":
            return self.name not in _SYNCS
        return kind in ("kill before", "kill after", "I/O error")

    @property
    def is_statement(self) -> bool:
        """Of a send: whether it hands PostgreSQL a statement; the others open and close the connection."""
        return self.text[:1] in ("Q", "P")


def compiled(folder: Path) -> Path:
    """Raises NoCompiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not sys.platform.startswith("linux"):
        raise NoCompiler("faults are injected with LD_PRELOAD, which needs Linux")
    if compiler is None:
        raise NoCompiler("there is no C compiler (cc) to build tests/faults/shim.c: on Debian, apt-get install gcc libc6-dev")
    out = folder / "shim.so"
    done = subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", out, SOURCE, "-ldl"], capture_output=True, text=True)
    if done.returncode:
        raise NoCompiler(f"{compiler} does not build tests/faults/shim.c: {done.stderr.strip()[:300]}")
    return out


class Shim:
    """The library that this process was started with."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.faults_arm.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]

    def arm(self, kind: str, number: int, folders: list[str], log: int) -> None:
        """From here on this process's own calls count; for a fork that is thrown away afterwards."""
        self._library.faults_arm(KINDS.index("stop before" if kind in ON_SERVERS else kind), number, "\n".join(folders).encode(), log)


def calls(log: bytes) -> list[Call]:
    found = []
    for line in log.decode("utf-8", "replace").splitlines():
        number, name, path, size, text = line.split("\t", 4)
        found.append(Call(int(number), name, path, int(size), text))
    return found
