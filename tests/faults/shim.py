"""The C library in between: compiled by the system's compiler, loaded before the C library, armed in a fork."""

import ctypes
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
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
    """A counted call: its number from 1, the path or socket, its bytes, of a send how it begins; and its number among calls of its name on files with its ending.

    By the last it is the same call in another run. How many pages SQLite writes is not: a row contains how many milliseconds something took, and with one digit
    more it may need another page, after which all calls have other numbers.
    """

    number: int
    name: str
    path: str
    size: int
    text: str
    place: int

    @property
    def ending(self) -> str:
        """As `ending_of` of the C side."""
        name = self.path.rpartition("/")[2]
        return name[name.rfind(".") :] if "." in name else ""

    def is_like(self, other: "Call") -> bool:
        return (self.name, self.ending, self.place) == (other.name, other.ending, other.place)

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
        text, number = ctypes.c_char_p, ctypes.c_int
        self._library.faults_arm.argtypes = [number, text, text, number, text, number]

    def arm(self, kind: str, call: Call | None, folders: list[str], log: int) -> None:
        """From here on this process's own calls count, and the one like `call` fails; for a fork that is thrown away afterwards."""
        name, ending, place = (call.name, call.ending, call.place) if call else ("", "", 0)
        number = KINDS.index("stop before" if kind in ON_SERVERS else kind)
        self._library.faults_arm(number, name.encode(), ending.encode(), place, "\n".join(folders).encode(), log)


def calls(log: bytes) -> list[Call]:
    alike: Counter[tuple[str, str]] = Counter()
    counted = []
    for line in log.decode("utf-8", "replace").splitlines():
        number, name, path, size, text = line.split("\t", 4)
        call = Call(int(number), name, path, int(size), text, 0)
        alike[name, call.ending] += 1
        counted.append(replace(call, place=alike[name, call.ending]))
    return counted
