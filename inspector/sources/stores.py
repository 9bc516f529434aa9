"""What every stored shape offers here, whether it lives in a database or in plain files: identify, records, copy, commit."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from inspector.formats.base import Cell, Change, Format, InFiles, InRows, Record, Shape, SharesFiles
from inspector.sources import folders, sqlite, table_rows


def identify(path: Path) -> Shape:
    """What a format's `sniff` gets to see. Raises SourceProblem."""
    return folders.shape(path) if folders.is_folder(path) else sqlite.identify(path)


def records(path: Path, format_: Format) -> list[Record]:
    """All records that the format reads, at one moment. Raises SourceProblem."""
    if isinstance(format_, InFiles):
        return folders.records(path, format_)
    return sqlite.reread(path, lambda store: from_snapshot(store, format_))


def from_snapshot(store: sqlite.Snapshot, format_: Format) -> list[Record]:
    return list(table_rows.records(store, format_.rows) if isinstance(format_, InRows) else store.records(format_.table))


def copy(path: Path, out: Path, format_: Format) -> None:
    """A consistent copy in `out`, which must not be there yet. Raises AlreadyThere and other SourceProblem."""
    if isinstance(format_, InFiles):
        folders.copy(path, out, format_)
    else:
        sqlite.backup(path, out)


def remove(out: Path) -> None:
    """A copy that failed half-way."""
    folders.remove(out)


def commit(
    path: Path,
    format_: Format,
    guard: Mapping[str, Mapping[str, Cell]],
    watch: Mapping[str, Cell | None],
    changes: Sequence[Change],
    is_copy: bool = False,
) -> float:
    """The guarded write; returns the milliseconds for which others were kept out. Raises Moved and other SourceProblem.

    `is_copy`: nobody else knows the store, and a lock file in it is a copy of one that says nothing here.
    """
    if isinstance(format_, InFiles):
        if isinstance(format_, SharesFiles):
            return folders.commit(path, watch, changes, format_.keeps_times, "" if is_copy else format_.lock_suffix)
        return folders.commit(path, watch, changes)
    return sqlite.commit(path, format_.table, guard, watch, changes)
