"""Stores that nothing but their own program writes to: its import puts a conversation in, its deletion takes that out again.

Inspector gives the program a file, and reads the store back. Before that, the same is done in an empty store of the same shape: a program of another version
would bring the store to its own shape, or import something else, and then nothing has touched the store itself.
"""

import hashlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.programs.catalogue import READ_ONLY, format_named
from inspector.programs.formats import Cell, Change, Format, InRows, OwnProgram, Stored, WrittenByProgram
from inspector.sources import files, sqlite, streaming, table_rows
from inspector.sources.opening import TRIES, readonly
from inspector.sources.problems import NAMED, Changing, Linked, Moved, SourceProblem
from inspector.sources.statements import quoted

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

_SECONDS = 120
_WAIT = 5.0
"""Seconds that a look at a store waits for the program that writes to it for us."""
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE")
"""Of our own environment, which may hold passwords and keys, what a program needs to find its folders; those of the XDG specification too."""
_HALF = 140
"""Characters of the beginning, and of the end, of what a program that failed printed."""
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(eq=False)
class NotInstalled(SourceProblem):
    program: str
    variable: str
    template = "Nothing but {program} writes into {place}, and it cannot be run here: install it, or name it in {variable}."


@dataclass(eq=False)
class NoSuchFolder(SourceProblem):
    program: str
    folder: str
    template = (
        "The conversation is of the folder {folder}, which is not here, and {program} imports into the folder that it is run in: "
        "make that folder, or write the file for the import with --out. Nothing was written to {place}."
    )


@dataclass(eq=False)
class FolderElsewhere(SourceProblem):
    program: str
    folder: str
    real: str
    template = (
        "The conversation is of the folder {folder}, which leads to {real}, and {program} would file the new one under that: "
        "write the file for the import with --out, and import it there. Nothing was written to {place}."
    )


@dataclass(eq=False)
class StillWriting(SourceProblem):
    program: str
    template = "{program} is writing into {place} for Inspector: look again in a moment."


@dataclass(eq=False)
class HasChildren(SourceProblem):
    program: str
    child: str
    template = "{program} would delete {child} in {place} too, which is a child of this conversation: delete or keep that one in {program} first. Nothing was deleted."


@dataclass(eq=False)
class LeftInPart(SourceProblem):
    program: str
    detail: str
    template = "{program} imported a part into {place} and could not take it out again ({detail}): when the cause is gone, apply finishes it and undo takes it out."
    text_limit = 300


@dataclass(eq=False)
class ProgramFailed(SourceProblem):
    program: str
    detail: str
    template = "{program}, which writes into {place}, did not do it ({detail}): run its command by hand to learn more. Nothing was written."
    text_limit = 300


@dataclass(eq=False)
class OtherShape(SourceProblem):
    program: str
    template = (
        "{place} has another shape than the {program} that is installed here gives its store, and would be brought to that one: "
        "start {program} once yourself, then try again. Nothing was written."
    )


@dataclass(eq=False)
class ImportedOtherwise(SourceProblem):
    program: str
    template = (
        "{program} imports something else than was planned, as where it leaves out members that it does not know: write the file for the import with --out, "
        "and look at what it makes of that in a copy of {place}. Nothing was written."
    )


@dataclass(eq=False)
class NotDeleted(SourceProblem):
    program: str
    template = (
        "{program} does not delete all of what it imports, so that a repair could not be undone: another version of {program} may; "
        "write the file for the import with --out. Nothing was written to {place}."
    )


def executable(program: OwnProgram) -> str:
    """The file that is run; "" where there is none, or where its variable is `off`, as the settings make it where people sign in and it is not set."""
    named = os.environ.get(program.variable, "").strip()
    if named == "off":
        return ""
    return shutil.which(named or program.name) or ""


def read_only(format_name: str) -> str:
    """Why nothing is written to a source of the format; "" where a repair can be, by its own program too."""
    reason = READ_ONLY.get(format_name, "")
    if not reason:
        return ""
    format_ = format_named(format_name)
    return "" if isinstance(format_, WrittenByProgram) and executable(format_.own_program) else reason


def file_form(format_: Format, stored: Stored) -> Stored:
    """A conversation that the program imported, as the file of that import has it."""
    if not isinstance(format_, WrittenByProgram):
        return stored
    return next(iter(format_.read([format_.file_of(stored)])), stored)


def cells(path: Path, format_: Format, keys: Sequence[str]) -> dict[str, Cell | None]:
    """The rows with these keys, or the conversations as files, of which the key is `ID.json`. Raises StillWriting and other SourceProblem."""
    with _turn(path, format_):
        return _cells(path, format_, keys)


@contextmanager
def _turn(path: Path, format_: Format) -> Iterator[tuple[int, ...]]:
    """The only one of this user who looks at or writes to the store through its program. The program gets the file too: when this process is killed, the turn
    lasts until the program has ended, so that nobody settles what it is still doing. Raises StillWriting."""
    assert isinstance(format_, WrittenByProgram)
    if fcntl is None:
        yield ()
        return
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    file = Path(tempfile.gettempdir()) / f"inspector-{os.getuid()}-{name}.lock"
    try:
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        # As where somebody else made it first.
        raise ProgramFailed(path, format_.own_program.name, f"{file}, which keeps others out, cannot be opened: {error.strerror}") from None
    try:
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StillWriting(path, format_.own_program.name) from None
                time.sleep(0.05)
        yield (lock,)
    finally:
        os.close(lock)


def _cells(path: Path, format_: Format, keys: Sequence[str]) -> dict[str, Cell | None]:
    assert isinstance(format_, WrittenByProgram) and isinstance(format_, InRows)
    row = f"{format_.rows[0].name}:"
    ids = {key.removeprefix(row) for key in keys if key.startswith(row)} | {_id(key) for key in keys if key.endswith(".json")}
    values: dict[str, Cell] = {}
    for stored in _conversations(path, format_, ids):
        file = format_.file_of(stored)
        values |= {record.key: record.value for record in (*stored.records, file)}
    return {key: values.get(key) for key in keys}


def commit(path: Path, format_: Format, watch: Mapping[str, Cell | None], changes: Sequence[Change]) -> float:
    """Has the program import or delete what `changes` say; returns the milliseconds that it took. Raises Moved and other SourceProblem."""
    assert isinstance(format_, WrittenByProgram)
    if (names := files.status(path).st_nlink) > 1:
        raise Linked(path, names)
    with _turn(path, format_) as lock:
        run = _run_of(path, format_, lock)
        expected = {**watch, **{change.key: change.before for change in changes}}
        now = _cells(path, format_, list(expected))
        moved = [(key, "is new" if cell is None else "has another value") for key, cell in expected.items() if now[key] != cell]
        if moved:
            raise Moved(path, moved[:NAMED], len(moved))
        started = time.perf_counter()
        for change in changes:
            _change(run, format_, change)
        return (time.perf_counter() - started) * 1000


def _change(run: "_Run", format_: Format, change: Change) -> None:
    assert isinstance(format_, WrittenByProgram)
    if change.after is not None:
        run.refuse_folder(format_.folder_in(change.after))
        _rehearse(run, format_, change.key, change.after, False)
    if change.before is not None:
        run.refuse_children(format_, _id(change.key))
        run.delete(_id(change.key))
    try:
        if change.after is not None:
            run.put(format_.folder_in(change.after), change.after)
        if _cells(run.path, format_, [change.key])[change.key] != change.after:
            raise ImportedOtherwise(run.path, run.program.name)
    except SourceProblem:
        if change.after is not None and _cells(run.path, format_, [change.key])[change.key] is not None:
            try:
                run.delete(_id(change.key))
            except ProgramFailed as problem:
                raise LeftInPart(run.path, run.program.name, problem.detail) from None
        raise


def rehearse(path: Path, format_: Format, changes: Sequence[Change]) -> float:
    """Imports and deletes in an empty store of the same shape; returns the milliseconds that it took. Raises SourceProblem."""
    assert isinstance(format_, WrittenByProgram)
    run = _run_of(path, format_)
    started = time.perf_counter()
    for change in changes:
        if change.after is not None:
            run.refuse_folder(format_.folder_in(change.after))
            _rehearse(run, format_, change.key, change.after, True)
    return (time.perf_counter() - started) * 1000


def _run_of(path: Path, format_: Format, lock: tuple[int, ...] = ()) -> "_Run":
    assert isinstance(format_, WrittenByProgram)
    run = _Run(path, format_.own_program, executable(format_.own_program), lock)
    if not run.executable:
        raise NotInstalled(path, run.program.name, run.program.variable)
    return run


def _id(key: str) -> str:
    return key.removesuffix(".json")


def _conversations(path: Path, format_: Format, ids: set[str]) -> list[Stored]:
    for tries_left in reversed(range(TRIES)):
        try:
            with streaming.opened(path, format_, False, "") as store:
                return [store.read(listed) for listed in store.listed if listed.native_id in ids]
        except Changing:
            if not tries_left:
                raise
    raise AssertionError("the last try returns or raises")


@dataclass(frozen=True)
class _Run:
    """Commands of the program for the store at `path`; `lock` are files that it keeps open while it runs."""

    path: Path
    program: OwnProgram
    executable: str
    lock: tuple[int, ...] = ()

    def refuse_folder(self, folder: str) -> None:
        """Raises NoSuchFolder, FolderElsewhere."""
        real = ""
        with suppress(OSError, ValueError):
            real = os.path.realpath(folder) if Path(folder).is_absolute() and Path(folder).is_dir() else ""
        if not real:
            raise NoSuchFolder(self.path, self.program.name, folder)
        if real != folder:
            raise FolderElsewhere(self.path, self.program.name, folder, real)

    def refuse_children(self, format_: Format, id_: str) -> None:
        """Raises HasChildren."""
        assert isinstance(format_, InRows)
        table, column = format_.rows[0], self.program.parent_column
        with sqlite.snapshot(self.path) as store:
            if column in store.tables.get(table.name, ()):
                for (child,) in store.rows(table.name, (table.key,), f"{quoted(column)} = ?", (id_,)):
                    raise HasChildren(self.path, self.program.name, str(child))

    def put(self, folder: str, file: Cell) -> None:
        """Its import of a file, from `folder`."""
        with files.workspace() as space:
            (space / "import.json").write_bytes(file.data)
            self._run(self.program.import_words, folder, file=str(space / "import.json"))

    def delete(self, id_: str) -> None:
        with files.workspace() as space:
            self._run(self.program.delete_words, str(space), id=id_)

    def _run(self, words: Sequence[str], folder: str, **values: str) -> None:
        command = [self.executable, *(word.format(**values) for word in words)]
        own = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("XDG_")}
        environment = own | {name: value.format(store=self.path.absolute()) for name, value in self.program.environment.items()}
        with tempfile.TemporaryFile() as output:
            try:
                # A file, since what the program starts may keep a pipe open; of its own group, so that all of that ends with it.
                process = subprocess.Popen(  # noqa: S603 (a program that an admin or PATH names, no shell)
                    command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True, pass_fds=self.lock,
                )  # fmt: skip
            except OSError as error:
                raise ProgramFailed(self.path, self.program.name, str(error.strerror)) from None
            try:
                code = process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                raise ProgramFailed(self.path, self.program.name, f"no answer in {_SECONDS} seconds") from None
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if code:
                output.seek(0)
                printed = " ".join(_COLORS.sub("", output.read(1 << 16).decode("utf-8", "replace")).split())
                # A statement may stand between what failed and why.
                short = printed if len(printed) <= 2 * _HALF else f"{printed[:_HALF]} … {printed[-_HALF:]}"
                raise ProgramFailed(self.path, self.program.name, short or f"exit status {code}")


def _rehearse(run: _Run, format_: Format, key: str, file: Cell, takes_back: bool) -> None:
    """The import into an empty store of the same shape, and the deletion if it `takes_back`. Raises OtherShape, ImportedOtherwise, NotDeleted, ProgramFailed, NoSuchFolder."""
    assert isinstance(format_, WrittenByProgram)
    with files.workspace() as space:
        empty = space / run.path.name
        _copy_shape(run, empty)
        before = _shape(empty)
        own = _Run(empty, run.program, run.executable, run.lock)
        # Not in the folder of the conversation, where the program may write too.
        file = format_.in_folder(file, os.path.realpath(space))
        try:
            try:
                own.put(format_.folder_in(file), file)
            except ProgramFailed:
                if _shape(empty) != before:
                    raise OtherShape(run.path, run.program.name) from None
                raise
            if _shape(empty) != before:
                raise OtherShape(run.path, run.program.name)
            if _cells(empty, format_, [key])[key] != file:
                raise ImportedOtherwise(run.path, run.program.name)
            if takes_back:
                own.delete(_id(key))
                if _holds_rows(empty, format_):
                    raise NotDeleted(run.path, run.program.name)
        except SourceProblem as problem:
            problem.path = run.path
            raise


def _holds_rows(path: Path, format_: Format) -> bool:
    """Whether a row of a conversation is in the store."""
    assert isinstance(format_, InRows)
    with sqlite.snapshot(path) as store:
        return any(True for _ in table_rows.records(store, format_.rows))


def _copy_shape(run: _Run, empty: Path) -> None:
    """Tables, indexes and the rows that say which migrations ran; nothing else of the store, which may hold credentials."""
    with closing(sqlite3.connect(empty)) as connection, readonly(run.path) as store:
        statements = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type = 'table' DESC, rowid"
        try:
            for (statement,) in list(store.execute(statements)):
                connection.execute(statement)
            tables = {name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in tables & set(run.program.migrations):
                for row in list(store.execute(f"SELECT * FROM {quoted(table)}")):  # noqa: S608 (a name of our own)
                    connection.execute(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
            connection.commit()
        except sqlite3.Error as error:
            raise ProgramFailed(run.path, run.program.name, f"the shape of its store cannot be copied for a rehearsal, {error}") from None


def _shape(path: Path) -> set[object]:
    with closing(sqlite3.connect(path)) as connection:
        return set(connection.execute("SELECT type, name, sql FROM sqlite_master"))
