"""Files that people brought through their browser: each in a folder of its own below one of ours, closed to other users of the machine."""

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.sources.problems import SourceProblem

LARGEST = 64 << 20
"""Bytes of one file: what the server takes as one request. What is larger is brought by its path."""
LONGEST_NAME = 80
YOUNG = 3600
"""Seconds for which a file without a source may be one that is being imported."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
KEPT = re.compile(r"[0-9a-f]{16}/([A-Za-z0-9_-][A-Za-z0-9._-]*)")
"""Below the folder of all uploads, one of them: its folder, and the name under which it was brought."""


@dataclass(eq=False)
class NotKept(SourceProblem):
    detail: str
    template = "No file can be kept in {place} ({detail}): free some disk space there, or make the folder that of who runs Inspector, and send the file again."


class TooLarge(SourceProblem):
    @property
    def sentence(self) -> str:
        return (
            f"This file is over {LARGEST >> 20} MB: put it below a folder of INSPECTOR_SOURCES, or load it with the command import_source."
        )


class NothingInIt(SourceProblem):
    template = "There is nothing in it: choose another file, or paste some text."


def safe_name(name: str) -> str:
    """Of the last part of what the browser sent: letters, digits, and - . _ alone; never hidden, never empty, never what SQLite keeps next to a database."""
    name = _UNSAFE.sub("-", name.replace("\\", "/").rpartition("/")[2]).strip(".-")
    stem, dot, ending = name.rpartition(".")
    short = f"{stem[: LONGEST_NAME - 20]}{dot}{ending[:19]}" if stem else name[:LONGEST_NAME]
    # A name with these endings says that there is a database next to it.
    return re.sub(r"-(wal|shm|journal)$", r"_\1", short) or "pasted"


def keep(base: Path, name: str, pieces: Iterable[bytes]) -> Path:
    """Writes it to disk as it comes; the same content under the same name is the same file. Raises NotKept, TooLarge, NothingInIt: then nothing is kept."""
    new = base / f".new-{secrets.token_hex(8)}"
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        base.chmod(0o700)
        new.mkdir(mode=0o700)
        path = new / safe_name(name)
        digest = _write(path, pieces)
        kept = base / hashlib.sha256(f"{digest} {path.name}".encode()).hexdigest()[:16]
        with suppress(OSError):
            # There already: then it is the same, and as young as this one.
            new.rename(kept)
        kept.touch()
        return (kept / path.name).resolve(strict=True)
    except OSError as error:
        raise NotKept(base, error.strerror or type(error).__name__) from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _write(path: Path, pieces: Iterable[bytes]) -> str:
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for piece in pieces:
            size += len(piece)
            if size > LARGEST:
                raise TooLarge(path)
            digest.update(piece)
            file.write(piece)
    if not size:
        raise NothingInIt(path)
    return digest.hexdigest()


class NotThere(SourceProblem):
    template = "It is not kept any more: send the file or the text again."


def kept(base: Path, name: str) -> Path:
    """What `keep` made, by its folder and name, as an answer to the browser has it. Raises NotThere."""
    path = base / name
    if not KEPT.fullmatch(name) or not path.is_file():
        raise NotThere(base)
    return path.resolve()


def is_below(base: Path, path: str) -> bool:
    return Path(path).is_relative_to(base.resolve())


def folder_of(base: Path, path: str) -> Path:
    """Of what is below `base`, the folder directly in it: a source may be that, or a file in it."""
    base = base.resolve()
    return base / Path(path).relative_to(base).parts[0] if is_below(base, path) and Path(path) != base else base


def remove(base: Path, path: str) -> None:
    """Deletes an upload with what SQLite left next to it; of any other path nothing happens."""
    inside = Path(path)
    if is_below(base, path) and inside.parent.parent == base.resolve():
        shutil.rmtree(inside.parent, ignore_errors=True)


def remove_unused(base: Path, used: Collection[str]) -> None:
    """Deletes what was brought and is none of the paths that are used: it was only tested, or its import was ended in the middle."""
    if not base.is_dir():
        return
    folders = {folder_of(base, path) for path in used}
    for entry in base.resolve().iterdir():
        with suppress(OSError):
            if entry not in folders and time.time() - entry.stat().st_mtime > YOUNG:
                shutil.rmtree(entry, ignore_errors=True)
