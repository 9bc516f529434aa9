"""What a program without locks writes to a file while that is replaced: seen through the old descriptor, and carried over."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import sleep

from inspector.programs.formats import Change
from inspector.sources.open_files import OpenElsewhere, name_of, users
from inspector.sources.problems import Moved, SourceProblem
from inspector.sources.replacing import fill, is_regular, place_of, put_back, sync

_OLD = ".inspector-old"
_GRACE = 0.01
"""Seconds in which a program that had a file open before it was replaced has written to it: it opens, writes and closes for each record."""


@dataclass(eq=False)
class LateWriter(SourceProblem):
    pid: int
    name: str
    template = (
        "{place} was written, and process {pid} ({name}) opened it a moment before: it goes on writing to the old file, which nobody reads. "
        "End that program now; what it wrote until then is carried over."
    )


def opened_files(base: Path, changes: Sequence[Change]) -> dict[Path, int]:
    """The files that are replaced, each by its descriptor: what a program puts into one of them later can be seen only there."""
    descriptors: dict[Path, int] = {}
    try:
        for change in changes:
            place = place_of(base, change.key)
            if change.before is not None and is_regular(place):
                descriptors[place] = os.open(place, os.O_RDONLY)
    except OSError:
        for descriptor in descriptors.values():
            os.close(descriptor)
        raise
    return descriptors


def carry_over(
    path: Path, base: Path, opened: Mapping[Path, int], changes: Sequence[Change], settled: Callable[[], None] = lambda: None
) -> None:
    """pi takes no lock: what it wrote between the comparison and the rename is in the old file only, and goes after what we wrote.

    Where it did more than append, its own file is put back. `settled` raises where a process still has an old file open. Raises Moved.
    """
    carried = {change.key: len(change.before.data) for change in changes if change.before and place_of(base, change.key) in opened}
    for pause in (0.0, _GRACE, None) if carried else ():
        if pause is None:
            # No process has an old file open after this, and nobody can open one: what is in it now is all that ever will be.
            settled()
        else:
            sleep(pause)
        for change in changes:
            if change.key not in carried or change.before is None:
                continue
            place = place_of(base, change.key)
            with os.fdopen(os.dup(opened[place]), "rb") as file:
                file.seek(0)
                old = file.read()
            if change.after is None or not old.startswith(change.before.data):
                if old != change.before.data:
                    put_back(base, replace(change, before=replace(change.before, data=old)))
                    raise Moved(path, [(change.key, "was written by another program")], 1)
            elif len(old) > carried[change.key]:
                _append(place, old[carried[change.key] :])
                carried[change.key] = len(old)


def link_of(place: Path) -> Path:
    return place.with_name(f".{place.name}{_OLD}")


def link_old(base: Path, changes: Sequence[Change]) -> dict[Path, Path]:
    """A second name for each file that is replaced or removed, by which that very file can take its place again. None where the file system has no links."""
    linked: dict[Path, Path] = {}
    for change in changes:
        place = place_of(base, change.key)
        if change.before is not None and is_regular(place):
            with suppress(OSError):
                link_of(place).unlink(missing_ok=True)
                os.link(place, link_of(place))
                linked[place] = link_of(place)
    return linked


def refuse_late_writers(
    base: Path, opened: Mapping[Path, int], linked: Mapping[Path, Path], changes: Sequence[Change], take_back: Callable[[Change], None]
) -> None:
    """Where a process opened a file for writing between the look at processes and the rename, the old files take their places again, with what it wrote.

    `take_back` takes out of a file that was not replaced what was appended to it. Raises OpenElsewhere; where the file system has no links LateWriter.
    """
    identities = {
        (status.st_dev, status.st_ino): place for place, status in ((place, os.fstat(number)) for place, number in opened.items())
    }
    writer = next((user for user in users(identities) if user.may_write), None)
    if writer is None:
        return
    place, name = identities[writer.identity], name_of(writer)
    if place not in linked:
        raise LateWriter(place, writer.pid, name)
    for change in reversed(changes):
        changed = place_of(base, change.key)
        if changed in linked:
            linked[changed].replace(changed)
        elif change.before is None:
            changed.unlink(missing_ok=True)
        elif changed not in opened:
            take_back(change)
        sync(changed.parent)
    raise OpenElsewhere(place, writer.pid, name)


def _append(place: Path, data: bytes) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND)
    try:
        fill(descriptor, data)
    finally:
        os.close(descriptor)
