"""What is in a folder that may be read, for a person who looks for a store. Nothing is opened; links that lead out are not shown."""

import os
from dataclasses import dataclass
from pathlib import Path

from inspector.sources import reach
from inspector.sources.files import problem
from inspector.sources.problems import SourceProblem

MOST = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """`size` is None of a folder."""

    name: str
    path: str
    size: int | None


def entries(folder: str) -> tuple[list[Entry], bool]:
    """Folders, then files, by name; at most MOST, and whether there are more. Hidden ones too: programs keep sessions there. Raises SourceProblem."""
    real = reach.real(Path(folder))
    listing: list[Entry] = []
    try:
        with os.scandir(real) as listed:
            for item in listed:
                if len(listing) > 4 * MOST:
                    break
                if (entry := _entry(item)) is not None:
                    listing.append(entry)
    except OSError as error:
        raise problem(error, Path(folder)) from None
    listing.sort(key=lambda entry: (entry.size is not None, entry.name))
    return listing[:MOST], len(listing) > MOST


def _entry(item: "os.DirEntry[str]") -> Entry | None:
    """None of what is neither a file nor a folder, of what may not be read, and of a name that a form cannot send."""
    try:
        item.name.encode()
        real = reach.real(Path(item.path)) if item.is_symlink() else Path(item.path)
        is_folder = real.is_dir()
        return Entry(item.name, item.path, None if is_folder else real.stat().st_size) if is_folder or real.is_file() else None
    except (OSError, SourceProblem, UnicodeEncodeError):
        return None
