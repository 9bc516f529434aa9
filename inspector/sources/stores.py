"""What every stored shape offers here, whether it lives in a database, on a server or in plain files: identify, records, copy, commit."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspector.programs.formats import (
    Cell,
    Change,
    Exported,
    Format,
    InFiles,
    InRelations,
    InRows,
    NotAnExport,
    OfAnotherDatabase,
    Record,
    Relation,
    Shape,
    SharesFiles,
    Unlocked,
    Unpacked,
    WrittenByProgram,
)
from inspector.sources import clusters, folders, index_rows, own_program, postgres, postgres_writing, replacing, sqlite, table_rows
from inspector.sources.dsn import Dsn, Place
from inspector.sources.problems import NoFolder, SourceProblem


class NotServed(SourceProblem):
    """An address for a format of files, or a path for a format of a server."""

    @property
    def sentence(self) -> str:
        if isinstance(self.path, Dsn):
            return f"{self.place} is a database server, and the format that was named reads files: leave --format out."
        return f"{self.place} is no place for this format: a database is named as postgresql://USER@HOST/NAME, a file by its path."


@dataclass(eq=False)
class NoExport(SourceProblem):
    """Files that were taken for the export of a database, and of which nothing can be read."""

    reason: str
    template = "{place} {reason}"
    text_limit = 1000


class OfAnother(NoExport):
    """An export of another database."""


class OnlyRows(SourceProblem):
    """A copy of a whole server is none of our business."""

    template = "{place} is a database server, of which no copy is made: use --out FILE.sql for the write as a script, or --apply."


def identify(place: Place) -> Shape:
    """What a format's `sniff` gets to see. Raises SourceProblem."""
    if isinstance(place, Dsn):
        return postgres.identify(place)
    clusters.refuse(place)
    return folders.shape(place) if folders.is_folder(place) else sqlite.identify(place)


def records(place: Place, format_: Format) -> list[Record]:
    """All records that the format reads, at one moment. Raises SourceProblem."""
    if isinstance(place, Dsn):
        return [record for batch in conversations(place, format_) for record in batch]
    if isinstance(format_, InFiles):
        return list(unpacked(place, format_).records)
    if isinstance(format_, InRelations):
        raise NotServed(place)
    return sqlite.reread(place, lambda store: from_snapshot(store, format_))


def conversations(place: Dsn, format_: Format, native_id: str | None = None) -> Generator[list[Record]]:
    """The records of one conversation after the other, of one only where it is named: no more than one is held. Raises SourceProblem, in the middle too."""
    relations = _relations(place, format_)
    with postgres.snapshot(place) as store:
        postgres.refuse_hidden(store, relations)
        yield from store.conversations(relations, native_id)


def native_ids(place: Dsn, format_: Format) -> list[str]:
    """The numbers of all conversations, in order. Raises SourceProblem."""
    relations = _relations(place, format_)
    with postgres.snapshot(place) as store:
        postgres.refuse_hidden(store, relations)
        return store.numbers(relations[0])


def _relations(place: Dsn, format_: Format) -> Sequence[Relation]:
    if not isinstance(format_, InRelations):
        raise NotServed(place)
    return format_.relations


def unpacked(place: Path, format_: InFiles) -> Unpacked:
    """Whole files, or the rows that the files of an export hold. Raises NoExport and other SourceProblem."""
    if not isinstance(format_, Exported):
        records = folders.records(place, format_)
        return Unpacked((*records, *index_rows.of(place, format_, [record.key for record in records])))
    try:
        format_.weigh(folders.size(place, format_))
        return format_.unpack(folders.records(place, format_))
    except NotAnExport as problem:
        raise (OfAnother if isinstance(problem, OfAnotherDatabase) else NoExport)(place, problem.reason) from None


def from_snapshot(store: sqlite.Snapshot, format_: Format) -> list[Record]:
    return list(table_rows.records(store, format_.rows) if isinstance(format_, InRows) else store.records(format_.table))


def cells(place: Place, format_: Format, native_id: str, keys: Sequence[str], after_rollback: bool = False) -> dict[str, Cell | None]:
    """The values under exactly `keys`, of conversation `native_id` on a server, whatever else the store holds. Raises SourceProblem.

    `after_rollback`: of an SQLite file, those that its waiting rollback journal leads back to.
    """
    if isinstance(place, Dsn):
        values = {record.key: record.value for batch in conversations(place, format_, native_id) for record in batch}
        return {key: values.get(key) for key in keys}
    if isinstance(format_, InFiles):
        return folders.cells(place, keys)
    if isinstance(format_, WrittenByProgram):
        return own_program.cells(place, format_, keys)
    return sqlite.cells(place, format_.table, keys, after_rollback)


def roll_back(place: Place) -> None:
    """Of an SQLite file, what its waiting rollback journal undoes. Raises SourceProblem."""
    if isinstance(place, Path):
        sqlite.roll_back(place)


def clear(place: Place, format_: Format, keys: Sequence[str]) -> None:
    """Of a store of files, what a killed write of these files left next to them."""
    if isinstance(place, Path) and isinstance(format_, InFiles):
        folders.clear(place, keys, format_.lock_suffix if isinstance(format_, SharesFiles) else "")


def copy(place: Place, out: Path, format_: Format) -> None:
    """A consistent copy in `out`, which must not be there yet. Raises AlreadyThere and other SourceProblem."""
    if isinstance(place, Dsn):
        raise OnlyRows(place)
    if not out.absolute().parent.is_dir():
        raise NoFolder(out)
    if isinstance(format_, InFiles):
        folders.copy(place, out, format_)
    else:
        sqlite.backup(place, out)


def refuse_out_of_reach(place: Place, format_: Format, keys: Sequence[str]) -> None:
    """Raises OutOfReach where a write of these records would open a file that may not be opened here."""
    if isinstance(place, Path) and isinstance(format_, InFiles):
        for key in keys:
            replacing.place_of(folders.root(place), key)


def commit(
    place: Place,
    format_: Format,
    guard: Mapping[str, Mapping[str, Cell]],
    watch: Mapping[str, Cell | None],
    changes: Sequence[Change],
    is_copy: bool = False,
) -> float:
    """The guarded write; returns the milliseconds for which others were kept out. Raises Moved and other SourceProblem.

    `is_copy`: nobody else knows the store, and a lock file in it is a copy of one that says nothing here.
    """
    if isinstance(place, Dsn):
        return postgres_writing.commit(place, _relations(place, format_), guard, changes)
    if isinstance(format_, InFiles):
        if isinstance(format_, Unlocked) and not is_copy:
            folders.refuse_at_work(place, changes, format_.quiet_seconds)
        elif not is_copy:
            folders.refuse_writers(place, changes)
        if isinstance(format_, SharesFiles):
            return folders.commit(place, watch, changes, format_.keeps_times, "" if is_copy else format_.lock_suffix, is_copy)
        return folders.commit(place, watch, changes, is_copy=is_copy)
    if isinstance(format_, WrittenByProgram):
        return own_program.commit(place, format_, watch, changes)
    return sqlite.commit(place, format_.table, guard, watch, changes)


def rehearse(
    place: Dsn,
    format_: Format,
    guard: Mapping[str, Mapping[str, Cell]],
    changes: Sequence[Change],
    look: Callable[[Sequence[Record]], bool],
) -> tuple[float, bool, bool]:
    """A write to a server, its reading and its undo, where nothing of it stays. Raises SourceProblem."""
    return postgres_writing.rehearse(place, _relations(place, format_), guard, changes, look)
