"""What a program without locks writes to a file while that is replaced: seen through the old descriptor, and carried over."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import sleep

from inspector.programs.formats import Change
from inspector.sources.problems import Moved
from inspector.sources.replacing import fill, is_regular, place_of, put_back

_GRACE = 0.01
"""Seconds in which a program that had a file open before it was replaced has written to it: it opens, writes and closes for each record."""


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


def carry_over(path: Path, base: Path, opened: Mapping[Path, int], changes: Sequence[Change]) -> None:
    """pi takes no lock: what it wrote between the comparison and the rename is in the old file only, and goes after what we wrote.

    Where it did more than append, its own file is put back. Raises Moved.
    """
    carried = {change.key: len(change.before.data) for change in changes if change.before and place_of(base, change.key) in opened}
    for pause in (0.0, _GRACE) if carried else ():
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


def _append(place: Path, data: bytes) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_APPEND)
    try:
        fill(descriptor, data)
    finally:
        os.close(descriptor)
