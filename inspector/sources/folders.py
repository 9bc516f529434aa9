"""Stores that are plain files: one file, or the files of a folder, read as they are at one moment and written all or none.

A record's key is its path below the folder that holds the source, with slashes: `request.json`, `.rollouts/sessions/ID/session.json`.
"""

import errno
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from inspector.conversation.model import Fact
from inspector.programs.formats import Cell, Change, InFiles, LooksAround, Record, Shape
from inspector.sources import elements, files, growing, lock_files, open_files, reach
from inspector.sources.appending import Interleaved, append, is_append, piece_of, take_back, without
from inspector.sources.carrying import carry_over, link_of, link_old, opened_files, refuse_late_writers
from inspector.sources.elements import ChangeState
from inspector.sources.problems import (
    DATABASES,
    NAMED,
    AlreadyThere,
    Changing,
    InsideStore,
    Missing,
    Moved,
    NoRoom,
    NotFollowed,
    NotReadable,
    NotWritable,
    OverLimit,
    SourceProblem,
    TooMany,
)
from inspector.sources.replacing import fill, is_regular, place_of, prepared, put_back, remove_if_empty, sync, take_times, temporary_of

MOST = 200_000
DEPTH = 6
TRIES = 4
LINKED = 1_000
"""Names of files and folders that are looked at, in a folder to which a link leads."""
HEADS, HEAD = 64, 4096
"""Files of a folder whose first bytes are read to detect its format, and how many bytes. Measured: 64 heads of sessions of Claude Code are read in 3 ms, and all formats look at them in 4 ms."""


def is_folder(path: Path) -> bool:
    """Raises OutOfReach."""
    reach.refuse(path)
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


class Listing(NamedTuple):
    """`keys` of the regular files, sorted. `closed`: folders in it that may not be looked into, which could hold anything. `links`: their keys, whatever they lead to."""

    keys: tuple[str, ...]
    closed: tuple[SourceProblem, ...] = ()
    links: tuple[str, ...] = ()


def names(path: Path) -> tuple[str, ...]:
    """Keys of the regular files of the source that may be seen, sorted; see `listing`."""
    return listing(path).keys


def listing(path: Path) -> Listing:
    """Links are not followed and nothing below DEPTH folders is looked at. Raises OutOfReach, TooMany, and NotReadable of the folder itself."""
    if not is_folder(path):
        return Listing((reach.real(path).name,))
    keys: list[str] = []
    links: list[str] = []
    closed: list[SourceProblem] = []
    base = reach.real(path)

    def note(error: OSError) -> None:
        # One that went away meanwhile holds nothing.
        if not isinstance(error, FileNotFoundError):
            closed.append(files.problem(error, path / Path(error.filename).relative_to(base)))

    for folder, below, file_names in os.walk(base, onerror=note):
        at = Path(folder)
        if not is_readable(at, os.X_OK):
            # Its names are seen, and nothing else of them.
            note(PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder))
            below.clear()
            continue
        inner = f"{base.name}/{at.relative_to(base).as_posix()}/" if at != base else f"{base.name}/"
        regular_names = {name for name in file_names if is_regular(at / name)}
        keys += [inner + name for name in regular_names]
        links += [inner + name for name in (*below, *file_names) if name not in regular_names and (at / name).is_symlink()]
        if inner.count("/") > DEPTH:
            below.clear()
        if len(keys) > MOST:
            raise TooMany(path, MOST)
    if closed and Path(str(closed[0].path)) == path:
        raise closed[0]
    return Listing(tuple(sorted(keys)), tuple(closed), tuple(sorted(links)))


def unseen(path: Path, wants: Callable[[str], bool]) -> Iterator[SourceProblem]:
    """What is in a folder and was not looked at: folders and wanted files that may not be read, and links to what is wanted."""
    if not is_folder(path):
        return
    listed, base = listing(path), root(path)
    yield from listed.closed
    for key in listed.keys:
        if wants(key) and not is_readable(base / key):
            yield NotReadable(path / key.partition("/")[2], "permission denied")
    yield from not_followed(path, listed.links, wants)


def not_followed(path: Path, links: Iterable[str], wants: Callable[[str], bool]) -> Iterator[NotFollowed]:
    """One for those of these links of a folder that lead to what is wanted, or to a database, which any program's may be."""

    def is_wanted(key: str) -> bool:
        return wants(key) or key.endswith(DATABASES)

    if wanted := [key.partition("/")[2] for key in links if _leads_to_wanted(root(path), key, is_wanted)]:
        yield NotFollowed(path, wanted)


def is_readable(place: Path, mode: int = os.R_OK) -> bool:
    """Whether this process may read it (or look into it: os.X_OK), as far as the system says that without opening it."""
    return os.access(place, mode, effective_ids=os.access in os.supports_effective_ids)


def _leads_to_wanted(base: Path, key: str, wants: Callable[[str], bool]) -> bool:
    """Whether a link leads out of the folder to a file that is wanted, or to a folder with one; True where that cannot be known."""
    link = base / key
    try:
        if reach.real(link).is_relative_to(base / key.partition("/")[0]):
            # It is read there.
            return False
        if not is_folder(link):
            return wants(key)
    except SourceProblem:
        return True
    except (OSError, RuntimeError):
        return wants(key)
    below = ((Path(folder), name) for folder, inner, file_names in os.walk(link) for name in (*inner, *file_names))
    looked_at = list(islice(below, LINKED))
    return len(looked_at) == LINKED or any(wants(f"{key}/{(at / name).relative_to(link).as_posix()}") for at, name in looked_at)


def shape(path: Path) -> Shape:
    """What a format gets to see of a folder: its name, the names of its files, and how the first of those with lines of JSON begin."""
    keys = names(path)
    return Shape(b"", {}, reach.real(path).name, keys, heads(path, keys))


def heads(path: Path, keys: Iterable[str]) -> tuple[bytes, ...]:
    """How files of a folder begin that have lines of JSON: the first of each folder in it, then the second of each, since another program's may be in any."""
    places: Counter[str] = Counter()
    lines: list[tuple[int, str]] = []
    for key in keys:
        if key.endswith(".jsonl"):
            folder = key.rpartition("/")[0]
            lines.append((places[folder], key))
            places[folder] += 1
    base = root(path)
    return tuple(beginning(base / key) for _, key in nsmallest(HEADS, lines))


def beginning(path: Path) -> bytes:
    """How a file of a listing begins; b"" where it cannot be read: what reads it later says why. Of a folder there may be many thousands."""
    with suppress(OSError, SourceProblem):
        # It may be a pipe by now.
        descriptor = os.open(reach.real(path) if reach.is_limited() else path, os.O_RDONLY | files.NOFOLLOW | os.O_NONBLOCK)
        try:
            return os.read(descriptor, HEAD)
        finally:
            os.close(descriptor)
    return b""


def root(path: Path) -> Path:
    """The folder that keys count from. Raises OutOfReach."""
    return reach.real(path).parent


def records(path: Path, format_: InFiles) -> list[Record]:
    """Every file that the format wants, whole; read again while one of them changes under it. Raises Missing, Changing, TooLarge, NotReadable."""
    if not files.exists(path):
        raise Missing(path)
    for _ in range(TRIES):
        listed = listing(path)
        for problem in listed.closed:
            raise problem
        file_names = [name for name in listed.keys if format_.wants(name)]
        before = {name: _stamp(root(path) / name) for name in file_names}
        try:
            contents = [Record(_key(name), Cell(files.read_bytes(root(path) / name), "file")) for name in file_names]
        except SourceProblem:
            if all(_stamp(root(path) / name) == before[name] for name in file_names):
                raise
            continue
        if before == {name: _stamp(root(path) / name) for name in file_names}:
            return contents
    raise Changing(path)


class FolderNeighbors:
    """The files of the folder `path` (see Neighbors), whether or not its format reads them."""

    def __init__(self, path: Path) -> None:
        self._base = root(path)

    def below(self, folder: str) -> tuple[str, ...]:
        """As `names`, which counts keys from the folder itself."""
        parent = folder.rpartition("/")[0]
        try:
            place = place_of(self._base, folder)
            return tuple(_key(f"{parent}/{name}" if parent else name) for name in names(place)) if is_folder(place) else ()
        except (SourceProblem, OSError, ValueError):
            return ()

    def place(self, key: str) -> str:
        return str(self._base / key)

    def read(self, key: str) -> bytes | None:
        try:
            return files.read_bytes(place_of(self._base, key))
        except (SourceProblem, OSError, ValueError):
            return None


def around(path: Path, format_: object, records: Sequence[Record]) -> dict[str, Fact]:
    """What other files of a folder say of the conversation of these records; nothing of a file that was opened alone."""
    return dict(format_.around(records, FolderNeighbors(path))) if isinstance(format_, LooksAround) and records and is_folder(path) else {}


def regular(path: Path) -> dict[str, Path]:
    """The regular files of the source by their keys, in order. Raises Missing, TooMany, NotReadable."""
    if not files.exists(path):
        raise Missing(path)
    base = root(path)
    return {_key(name): base / name for name in names(path)}


class Start(NamedTuple):
    """How a file began when the store was listed: so many bytes, with this SHA-256 (hex)."""

    size: int
    digest: str

    @classmethod
    def of(cls, data: bytes) -> "Start":
        return cls(len(data), hashlib.sha256(data).hexdigest())


class WholeFile(NamedTuple):
    """A record that is a file, as any process can read it. `start`: None where nobody looked at it; another one is another session of that name."""

    key: str
    place: Path
    size: int
    start: Start | None = None


def record(path: Path, file: WholeFile, read: Callable[[Path], bytes] = files.read_bytes) -> Record:
    """One file, whole, as `read` gives it; read again while it changes. Raises Changing, also where it is gone or another one, TooLarge, NotReadable."""
    key, place, _, start = file
    for _ in range(TRIES):
        before = _stamp(place)
        if before is None:
            break
        try:
            data = read(place)
        except Missing:
            break
        if _stamp(place) == before:
            if start is not None and Start.of(data[: start.size]) != start:
                break
            return Record(key, Cell(growing.without_torn_line(place, data), "file"))
    raise Changing(path)


def head(place: Path, size: int) -> bytes:
    """The first bytes of a file. Raises Missing, NotReadable."""
    try:
        with files.opened(place) as file:
            return file.read(size)
    except OSError as error:
        raise files.problem(error, place) from error


def cells(path: Path, keys: Iterable[str]) -> dict[str, Cell | None]:
    """The content of the files with these keys; None where there is no such file. Raises SourceProblem."""
    contents = {key: _content(place_of(root(path), key)) for key in keys}
    return {key: None if data is None else Cell(data, "file") for key, data in contents.items()}


def size(path: Path, format_: InFiles) -> int:
    """Bytes of all files that the format wants. Raises TooMany."""
    return sum(stamp[1] for name in names(path) if format_.wants(name) and (stamp := _stamp(root(path) / name)))


def size_of(place: Path) -> int:
    """Bytes of a file; -1 where it is gone."""
    stamp = _stamp(place)
    return -1 if stamp is None else stamp[1]


def _key(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "surrogateescape")


def _stamp(path: Path) -> tuple[int, int, int] | None:
    with suppress(OSError):
        status = path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns
    return None


def copy(path: Path, out: Path, format_: InFiles) -> None:
    """The files that the format wants, in a new file or folder `out`; nothing of it is left by a failure. Raises AlreadyThere, InsideStore, NoRoom, NotWritable."""
    file_records = records(path, format_)
    if not is_folder(path):
        write_new(out, file_records[0].value.data)
        return
    if out.exists():
        raise AlreadyThere(out)
    if out.resolve().is_relative_to(path.resolve()):
        raise InsideStore(out)
    try:
        for record in file_records:
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
        fill(descriptor, data)


def commit(
    path: Path,
    watch: Mapping[str, Cell | None],
    changes: Sequence[Change],
    keeps_times: bool = False,
    lock_suffix: str = "",
    is_copy: bool = False,
) -> float:
    """Writes `changes`, all or none, and returns the milliseconds from the last comparison to the last rename.

    `watch`: key -> its content, None = no such file. A file that only grows is appended to, and stays the same file. Other new files are complete under a
    temporary name, on the disk, before the first rename; a step that fails takes back those before it, and so does a process that has a replaced file
    open for writing. `keeps_times`, `lock_suffix`: see SharesFiles. Raises Moved, NotAList, NotWritable, SessionLocked, NotALock.
    """
    base = root(path)
    new_files: list[tuple[Path, Path]] = []
    opened: dict[Path, int] = {}
    linked: dict[Path, Path] = {}
    try:
        with lock_files.holding([place_of(base, change.key) for change in changes] if lock_suffix else (), lock_suffix):
            # A file that conversations share is written whole, as it is now with the one part in it or out of it.
            files_now = [elements.whole(path, change, _cell(place_of(base, change.key))) for change in changes]
            own = [now for change, now in zip(changes, files_now, strict=True) if not change.element]
            appended = {change.key for change in own if is_append(place_of(base, change.key), change)}
            replaced = [change for change in files_now if change.key not in appended]
            for change in replaced:
                if change.after is not None:
                    new_files.append((prepared(base, change.key, change.after.data), place_of(base, change.key)))
            start = perf_counter()
            opened = opened_files(base, replaced)
            _compare(path, base, watch, files_now)
            if keeps_times:
                # Not of a shared file: by its time a program sees that its copy in memory is old.
                shared = {place_of(base, change.key) for change in changes if change.element}
                take_times([(temporary, target) for temporary, target in new_files if target not in shared])
            linked = link_old(base, replaced)
            _write(path, base, new_files, files_now, keeps_times)
            _read_back(path, base, changes)
            milliseconds = (perf_counter() - start) * 1000

            def settled() -> None:
                refuse_late_writers(base, opened, linked, files_now, lambda change: _take_back(base, change))

            if not is_copy:
                carry_over(path, base, opened, replaced, settled)
            return milliseconds
    except OSError as error:
        raise _unwritten(error, path) from error
    finally:
        for descriptor in opened.values():
            os.close(descriptor)
        for link in linked.values():
            with suppress(OSError):
                link.unlink(missing_ok=True)
            # Of a file that went, its second name was the last thing in there.
            remove_if_empty(link.parent, base)
        for temporary, target in new_files:
            # On a disk that went read-only it stays, and the next write of this file removes it.
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            remove_if_empty(target.parent, base)


def refuse_at_work(path: Path, changes: Sequence[Change], quiet: float) -> None:
    """Raises OpenElsewhere, JustWritten: see Unlocked. A list that conversations share is its program's own, and small."""
    base = root(path)
    own = [change for change in changes if not change.element and change.before is not None]
    open_files.refuse_at_work(
        [place_of(base, change.key) for change in own if change.after is not None],
        [place_of(base, change.key) for change in own if change.after is None],
        quiet,
    )


def refuse_writers(path: Path, changes: Sequence[Change]) -> None:
    """Raises OpenElsewhere where another process may write to a file that is replaced or removed."""
    base = root(path)
    open_files.refuse_writers(place_of(base, change.key) for change in changes if change.before is not None or change.element)


def clear(path: Path, keys: Iterable[str], lock_suffix: str = "") -> None:
    """Removes what a write of these files that was killed left next to them: our temporary files, our locks, and folders that held nothing else."""
    base = root(path)
    for key in keys:
        place = place_of(base, key)
        with suppress(OSError):
            temporary_of(place).unlink(missing_ok=True)
            link_of(place).unlink(missing_ok=True)
        if lock_suffix:
            lock_files.remove_stale(place.with_name(place.name + lock_suffix))
        remove_if_empty(place.parent, base)


def _unwritten(error: OSError, path: Path) -> SourceProblem:
    problem = files.problem(error, path)
    return problem if isinstance(problem, NoRoom | OverLimit) else NotWritable(path, error.strerror or str(error))


def _compare(path: Path, base: Path, watch: Mapping[str, Cell | None], changes: Sequence[Change]) -> None:
    expected = dict(watch) | {change.key: change.before for change in changes}
    moved = [(key, what) for key, cell in expected.items() if (what := _difference(cell, _content(base / key)))]
    if moved:
        raise Moved(path, moved[:NAMED], len(moved))


def _content(place: Path) -> bytes | None:
    return files.read_bytes(place) if place.exists() else None


def _cell(place: Path) -> Cell | None:
    content = _content(place)
    return None if content is None else Cell(content, "file")


def _difference(expected: Cell | None, content: bytes | None) -> str:
    if (expected.data if expected else None) == content:
        return ""
    if expected is None:
        return "is new"
    if content is not None and len(content) > len(expected.data) and content.startswith(expected.data):
        return f"grew by {len(content) - len(expected.data):,} bytes"
    return "is gone" if content is None else "has another content"


def _write(path: Path, base: Path, new_files: Sequence[tuple[Path, Path]], changes: Sequence[Change], keeps_times: bool) -> None:
    done: list[Change] = []
    temporaries = {target: temporary for temporary, target in new_files}
    try:
        for change in changes:
            place = place_of(base, change.key)
            if change.after is None:
                place.unlink(missing_ok=True)
            elif place in temporaries:
                temporaries[place].replace(place)
            else:
                append(place, change, keeps_times)
            done.append(change)
            sync(place.parent)
    except (OSError, Interleaved) as error:
        if isinstance(error, Interleaved):
            _separate(error)
        for change in reversed(done):
            if change.after is None or place_of(base, change.key) in temporaries:
                put_back(base, change)
            else:
                _take_back(base, change)
        if isinstance(error, Interleaved):
            raise Moved(path, [(change.key, "was written by another program")], 1) from error
        raise _unwritten(error, path) from error


def _take_back(base: Path, change: Change) -> None:
    place = place_of(base, change.key)
    if not take_back(place, change):
        _separate(Interleaved(place, [piece_of(change)]))


def _separate(interleaved: Interleaved) -> None:
    """Takes our bytes out of a file in which those of another program precede or follow them: our plan did not know of those. Raises Moved."""
    place, pieces = interleaved.place, interleaved.pieces
    with files.opened(place) as old:
        data = old.read()
        rest = without(data, pieces)
        if not pieces or rest is None:
            return
        change = Change(place.name, Cell(data, "file"), Cell(rest, "file"))
        temporary = prepared(place.parent, place.name, rest)
        take_times([(temporary, place)])
        temporary.replace(place)
        sync(place.parent)
        # The program may be in the middle of many appends: those since the file was read are in the old file.
        carry_over(place, place.parent, {place: old.fileno()}, [change])


def _read_back(path: Path, base: Path, changes: Sequence[Change]) -> None:
    for change in changes:
        stored = _cell(place_of(base, change.key))
        is_longer = not change.element and bool(change.after and stored and stored.data.startswith(change.after.data))
        if elements.state(change, stored) is not ChangeState.AFTER and not is_longer:
            # A program may append to what we wrote; one that wrote something else has the last word.
            raise Moved(path, [(change.key, "was replaced by another program while it was written")], 1)
        if change.after is None:
            remove_if_empty(place_of(base, change.key).parent, base)


def remove(out: Path) -> None:
    """The copy that `copy` made, after a failure."""
    if is_folder(out):
        shutil.rmtree(out, ignore_errors=True)
    else:
        out.unlink(missing_ok=True)
