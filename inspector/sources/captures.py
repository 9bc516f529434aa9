"""Captures of streams as sources: which kind a file is, and its bytes as often as needed, never kept in memory."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from inspector.sources import files
from inspector.sources.problems import SourceProblem
from inspector.streams.captures import raw
from inspector.streams.captures.base import BOM, CaptureKind, NoCapture, Opened, head_of, json_object
from inspector.streams.captures.catalogue import HEAD, KINDS, kind_named
from inspector.streams.captures.unpacking import GZIP, Unpacker
from inspector.streams.catalogue import sniff
from inspector.streams.model import Exchange
from inspector.traces.model import Problem

NAMES = frozenset(kind.name for kind in KINDS)
MOST = 10_000
"""Exchanges of one file that are read; those after are counted."""

ID_KEPT = 500
"""Characters of an exchange's own id."""

_BLOCK = 2**18
_RAW = "raw"


@dataclass(eq=False)
class NotRead(SourceProblem):
    """A capture of which nothing can be read."""

    reason: str
    template = "{place} cannot be read as a capture. {reason}"
    text_limit = 1000


class WentOn(SourceProblem):
    """A capture whose bytes are in its file only, and that file has changed."""

    template = "{place} has changed since it was imported, and is too large to be kept here: import it again."


@dataclass(frozen=True, slots=True)
class Captures:
    """`kind` is one of `captures.catalogue`; ids of exchanges differ within the file. Problems of a single exchange are kept with it."""

    path: Path
    kind: str
    exchanges: tuple[Exchange, ...]
    problems: tuple[Problem, ...] = ()
    stamp: tuple[int, int] = (0, 0)
    """Of the file before anything was read: one that grows meanwhile is then another one."""


def of_path(path: Path) -> Opened:
    """The bytes that the file has now; what is appended later is not looked at, so that every pass sees the same. Raises SourceProblem."""
    real_path, size = files.regular(path), files.status(path).st_size

    def blocks(offset: int = 0) -> Iterator[bytes]:
        try:
            with files.opened(real_path) as file:
                yield from _blocks(file, offset, size)
        except OSError as error:
            raise files.problem(error, path) from error

    return blocks


def stamp(path: Path) -> tuple[int, int]:
    """Bytes of the file, and when it was written, in nanoseconds since the epoch: what says that it is still the one that was read. Raises SourceProblem."""
    now = files.status(path)
    return now.st_size, now.st_mtime_ns


def of_file(file: IO[bytes], size: int) -> Opened:
    """The bytes of an open file that has no name, as what came through a pipe."""
    return lambda offset=0: _blocks(file, offset, size)


def of_bytes(data: bytes) -> Opened:
    """What was pasted or uploaded."""
    return lambda offset=0: iter((data[offset:],))


def _blocks(file: IO[bytes], offset: int, size: int) -> Iterator[bytes]:
    at = offset
    while at < size:
        # Of one open file several passes may run side by side.
        file.seek(at)
        block = file.read(min(_BLOCK, size - at))
        if not block:
            return
        at += len(block)
        yield block


def spooled(pipe: IO[bytes], limit: int) -> tuple[Opened, int]:
    """What comes through a pipe, kept in a file without a name, and its size: over `limit` bytes the rest is not read."""
    # It goes with the last who may read it.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    size = 0
    while size <= limit and (block := pipe.read(min(_BLOCK, limit + 1 - size))):
        file.write(block)
        size += len(block)
    return of_file(file, size), size


def write_new(out: Path, lines: Iterable[bytes]) -> None:
    """Writes a capture to a new file, whole or not at all. Raises AlreadyThere and other SourceProblem."""
    with files.new_file(out) as descriptor, os.fdopen(descriptor, "wb", closefd=False) as file:
        file.writelines(lines)


def kind_of(opened: Opened, name: str) -> CaptureKind | None:
    """The kind that the first bytes show. Plain bytes are taken for a capture only where they hold events: nearly every text could be one else."""
    head = head_of(opened, HEAD).removeprefix(BOM)
    recognized = next((kind for kind in KINDS if kind.sniff(head, name)), None)
    return None if recognized is not None and recognized.name == _RAW and not _holds_events(head) else recognized


def _holds_events(head: bytes) -> bool:
    if head.startswith(GZIP):
        head = b"".join(Unpacker("gzip").feed(head))[:HEAD]
    if not raw.sniff(head, ""):
        return False
    lines = head.removeprefix(BOM).lstrip().splitlines()
    if any(line.startswith((b"data:", b"event:")) for line in lines):
        return True
    value = json_object(lines[0])
    recognized = None if value is None else sniff(value)
    # A document of its own is an answer only where a protocol that is read here sends such records.
    return recognized is not None and (recognized.supported or len(lines) > 1)


def read(path: Path, kind: CaptureKind) -> Captures:
    """Raises NotRead and other SourceProblem."""
    before = stamp(path)
    return replace(read_from(of_path(path), path, path.name, kind), stamp=before)


def read_bytes(data: bytes, name: str) -> Captures:
    """What was pasted or uploaded, called `name` in sentences; without exchanges where it is no capture. Raises NotRead and other SourceProblem."""
    opened = of_bytes(data)
    kind = kind_of(opened, name)
    return read_from(opened, Path(name), name, kind) if kind else Captures(Path(name), "", ())


def read_again(name: str, kind: str, read_at: tuple[int, int]) -> Captures:
    """The file as it was imported, `read_at` being its stamp then. Raises WentOn and other SourceProblem."""
    return read(refuse_another(name, read_at), kind_named(kind))


def refuse_another(name: str, read_at: tuple[int, int]) -> Path:
    """The path of a file that is still as it was imported. Raises WentOn and other SourceProblem."""
    path = Path(name)
    if stamp(path) != read_at:
        raise WentOn(path)
    return path


def read_from(opened: Opened, path: Path, name: str, kind: CaptureKind) -> Captures:
    """`path` is for sentences. Raises NotRead and other SourceProblem."""
    exchanges: list[Exchange] = []
    problems: list[Problem] = []
    last_numbers: dict[str, int] = {}
    try:
        for exchange in kind.exchanges(opened, name):
            if len(exchanges) == MOST:
                problems.append(Problem("the file", f"It holds more than {MOST:,} exchanges, of which the first {MOST:,} are read."))
                break
            exchanges.append(_with_unique_id(exchange, last_numbers))
    except NoCapture as problem:
        if not exchanges:
            raise NotRead(path, str(problem)) from None
        problems.append(Problem("the file", str(problem)))
    if not exchanges:
        raise NotRead(path, "It holds no answer of a model.")
    return Captures(path, kind.name, tuple(exchanges), tuple(problems))


def _with_unique_id(exchange: Exchange, last_numbers: dict[str, int]) -> Exchange:
    """With an id that no earlier exchange of the file has: writers may give one to several. `last_numbers`: id -> the last number used for it."""
    native_id = exchange.native_id[:ID_KEPT]
    name, number = native_id, last_numbers.get(native_id, 1)
    # From where the last of this id ended: ten thousand that are all named alike would else be looked for fifty million times.
    while name in last_numbers:
        number += 1
        name = f"{native_id} ({number})"
    last_numbers[native_id] = number
    last_numbers.setdefault(name, 1)
    return exchange if name == exchange.native_id else replace(exchange, native_id=name)
