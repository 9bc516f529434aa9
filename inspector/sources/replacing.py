"""One file put in the place of another: complete next to it, with its owner, mode and times, before it takes its name."""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from inspector.programs.formats import Change
from inspector.sources import reach
from inspector.sources.problems import NotWritable, SourceProblem

_TEMPORARY = ".inspector-new"


def is_regular(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False


def place_of(base: Path, key: str) -> Path:
    """Raises ValueError for a key that leads out of the folder: keys come from plans, and those may come from a file. Raises OutOfReach."""
    place = base / key
    if not Path(key).parts or any(part in ("..", ".") for part in Path(key).parts) or Path(key).is_absolute():
        raise ValueError(f"{key!r} leads out of the source")
    reach.refuse(place)
    return place


def temporary_of(place: Path) -> Path:
    return place.with_name(f".{place.name}{_TEMPORARY}")


def prepared(base: Path, key: str, data: bytes) -> Path:
    place = place_of(base, key)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_of(place)
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o600
    try:
        # What a crash left is removed, and a link that somebody put there is not followed.
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        try:
            _keep_owner(descriptor, place)
            os.fchmod(descriptor, mode)
            fill(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        remove_if_empty(place.parent, base)
        raise
    except SourceProblem:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _keep_owner(descriptor: int, place: Path) -> None:
    """Under another owner the program could not open its own file any more: root repairs what a service account writes. Raises NotWritable."""
    is_new = not place.exists()
    expected, own = (place.parent if is_new else place).stat(), os.fstat(descriptor)
    if (expected.st_uid, expected.st_gid) == (own.st_uid, own.st_gid):
        return
    try:
        os.fchown(descriptor, expected.st_uid, expected.st_gid)
    except PermissionError as error:
        if not is_new:
            raise NotWritable(place, "it belongs to another user or group, and would become yours") from error


def fill(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def put_back(base: Path, change: Change) -> None:
    if change.before is None:
        place_of(base, change.key).unlink(missing_ok=True)
    else:
        place = place_of(base, change.key)
        temporary = prepared(base, change.key, change.before.data)
        take_times([(temporary, place)])
        temporary.replace(place)


def take_times(new_files: Sequence[tuple[Path, Path]]) -> None:
    for temporary, target in new_files:
        if target.exists():
            status = target.stat()
            os.utime(temporary, ns=(status.st_atime_ns, status.st_mtime_ns))


def sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_if_empty(folder: Path, base: Path) -> None:
    """A folder that a plan made goes again with its last file; one with anything in it stays."""
    while folder != base and folder.is_relative_to(base):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
