"""Stores that are plain files: one file, or the files of a folder, read as they are at one moment and written all or none.

A record's key is its path below the folder that holds the source, with slashes: `request.json`, `.rollouts/sessions/ID/session.json`.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from inspector.formats.base import Cell, Change, InFiles, Record, Shape
from inspector.sources import files, lock_files
from inspector.sources.problems import NAMED, AlreadyThere, Changing, Missing, Moved, NoRoom, NotKept, NotWritable, SourceProblem, TooMany

MOST = 200_000
DEPTH = 6
TRIES = 4
_TEMPORARY = ".inspector-new"


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def names(path: Path) -> tuple[str, ...]:
    """Keys of the regular files of the source, sorted; links are not followed and nothing below DEPTH folders is looked at. Raises TooMany."""
    if not is_folder(path):
        return (path.resolve().name,)
    found: list[str] = []
    base = path.resolve()
    for folder, below, held in os.walk(base, onerror=None):
        at = Path(folder)
        if len(at.relative_to(base).parts) >= DEPTH:
            below.clear()
        found += [f"{base.name}/{(at / name).relative_to(base).as_posix()}" for name in held if _is_regular(at / name)]
        if len(found) > MOST:
            raise TooMany(path, MOST)
    return tuple(sorted(found))


def _is_regular(path: Path) -> bool:
    with suppress(OSError):
        return path.is_file() and not path.is_symlink()
    return False


def shape(path: Path) -> Shape:
    """What a format gets to see of a folder: its name and the names of its files."""
    return Shape(b"", {}, path.resolve().name, names(path))


def root(path: Path) -> Path:
    """The folder that keys count from."""
    return path.resolve().parent


def records(path: Path, format_: InFiles) -> list[Record]:
    """Every file that the format wants, whole; read again while one of them changes under it. Raises Missing, Changing, TooLarge, NotReadable."""
    if not files.exists(path):
        raise Missing(path)
    for _ in range(TRIES):
        wanted = [name for name in names(path) if format_.wants(name)]
        before = {name: _stamp(root(path) / name) for name in wanted}
        try:
            found = [Record(_key(name), Cell(files.read_bytes(root(path) / name), "file")) for name in wanted]
        except SourceProblem:
            if all(_stamp(root(path) / name) == before[name] for name in wanted):
                raise
            continue
        if before == {name: _stamp(root(path) / name) for name in wanted}:
            return found
    raise Changing(path)


def _key(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def _stamp(path: Path) -> tuple[int, int, int] | None:
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None


def copy(path: Path, out: Path, format_: InFiles) -> None:
    """The files that the format wants, in a new file or folder `out`; nothing of it is left by a failure. Raises AlreadyThere, NoRoom, NotWritable."""
    held = records(path, format_)
    if not is_folder(path):
        write_new(out, held[0].value.data)
        return
    if out.exists():
        raise AlreadyThere(out)
    try:
        for record in held:
            below = Path(*Path(record.key).parts[1:])
            (out / below).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_new(out / below, record.value.data)
    except OSError as error:
        remove(out)
        raise files.problem(error, out) from error
    except SourceProblem:
        remove(out)
        raise


def write_new(out: Path, data: bytes) -> None:
    """`data` in the new file `out` (mode 0600), on the disk. Raises AlreadyThere, NoRoom, NotWritable."""
    with files.new_file(out) as descriptor:
        try:
            _fill(descriptor, data)
        except OSError as error:
            raise files.problem(error, out) from error


def commit(
    path: Path, watch: Mapping[str, Cell | None], changes: Sequence[Change], keeps_times: bool = False, lock_suffix: str = ""
) -> float:
    """Writes `changes`, all or none, and returns the milliseconds from the last comparison to the last rename.

    `watch`: key -> its content, None = no such file. New files are complete under a temporary name, on the disk, before the first rename;
    a rename that fails puts back those before it. `keeps_times`, `lock_suffix`: see SharesFiles. Raises Moved, NotWritable, NotKept, Held.
    """
    base = root(path)
    made: list[tuple[Path, Path]] = []
    try:
        with lock_files.held([_place(base, change.key) for change in changes] if lock_suffix else (), lock_suffix):
            for change in changes:
                if change.after is not None:
                    made.append((_prepared(base, change.key, change.after.data), _place(base, change.key)))
            start = perf_counter()
            _compare(path, base, watch, changes)
            if keeps_times:
                _take_times(made)
            _rename(path, base, made, changes)
            return (perf_counter() - start) * 1000
    except OSError as error:
        raise _unwritten(error, path) from error
    finally:
        for temporary, target in made:
            temporary.unlink(missing_ok=True)
            _remove_if_empty(target.parent, base)


def _take_times(made: Sequence[tuple[Path, Path]]) -> None:
    for temporary, target in made:
        if target.exists():
            found = target.stat()
            os.utime(temporary, ns=(found.st_atime_ns, found.st_mtime_ns))


def _place(base: Path, key: str) -> Path:
    """Raises ValueError for a key that leads out of the folder: keys come from plans, and those may come from a file."""
    place = base / key
    if not Path(key).parts or any(part in ("..", ".") for part in Path(key).parts) or Path(key).is_absolute():
        raise ValueError(f"{key!r} leads out of the source")
    return place


def _prepared(base: Path, key: str, data: bytes) -> Path:
    place = _place(base, key)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}{_TEMPORARY}")
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o600
    try:
        # What a crash left behind goes, and a link that somebody laid there is not written through.
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        try:
            os.fchmod(descriptor, mode)
            _fill(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        _remove_if_empty(place.parent, base)
        raise
    return temporary


def _unwritten(error: OSError, path: Path) -> SourceProblem:
    found = files.problem(error, path)
    return found if isinstance(found, NoRoom) else NotWritable(path, error.strerror or str(error))


def _fill(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def _compare(path: Path, base: Path, watch: Mapping[str, Cell | None], changes: Sequence[Change]) -> None:
    wanted = dict(watch) | {change.key: change.before for change in changes}
    moved = [(key, what) for key, cell in wanted.items() if (what := _difference(cell, _content(base / key)))]
    if moved:
        raise Moved(path, moved[:NAMED], len(moved))


def _content(place: Path) -> bytes | None:
    return files.read_bytes(place) if place.exists() else None


def _difference(wanted: Cell | None, found: bytes | None) -> str:
    if (wanted.data if wanted else None) == found:
        return ""
    if wanted is None:
        return "is new"
    if found is not None and len(found) > len(wanted.data) and found.startswith(wanted.data):
        return f"grew by {len(found) - len(wanted.data):,} bytes"
    return "is gone" if found is None else "has another content"


def _rename(path: Path, base: Path, made: Sequence[tuple[Path, Path]], changes: Sequence[Change]) -> None:
    done: list[Change] = []
    temporaries = {target: temporary for temporary, target in made}
    try:
        for change in changes:
            place = _place(base, change.key)
            if change.after is None:
                place.unlink(missing_ok=True)
            else:
                temporaries[place].replace(place)
            done.append(change)
            _sync(place.parent)
    except OSError as error:
        for change in reversed(done):
            _put_back(base, change)
        raise _unwritten(error, path) from error
    for change in changes:
        if _difference(change.after, _content(_place(base, change.key))):
            raise NotKept(path, f"{change.key} reads back with other bytes")
        if change.after is None:
            _remove_if_empty(_place(base, change.key).parent, base)


def _put_back(base: Path, change: Change) -> None:
    if change.before is None:
        _place(base, change.key).unlink(missing_ok=True)
    else:
        place = _place(base, change.key)
        temporary = _prepared(base, change.key, change.before.data)
        _take_times([(temporary, place)])
        temporary.replace(place)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_if_empty(folder: Path, base: Path) -> None:
    """A folder that a plan made goes again with its last file; one with anything in it stays."""
    while folder != base and folder.is_relative_to(base):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def remove(out: Path) -> None:
    """The copy that `copy` made, after a failure."""
    if is_folder(out):
        shutil.rmtree(out, ignore_errors=True)
    else:
        out.unlink(missing_ok=True)
