"""Which stores a folder holds: the files of one format, and the databases and files of other formats of the same program next to them.

A program may keep sessions in several stores of one folder: opencode leaves its tree of files where it is when it moves to a database
(opencode 1.2, `storage/` next to `opencode.db`), and OpenClaw has files and a database. A folder with sessions of several programs, as a home folder
is, is taken apart: each folder and file in it is looked at alone.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.programs import not_read
from inspector.programs.base import Program
from inspector.programs.catalogue import FORMATS
from inspector.programs.formats import Format, InFiles, Shape
from inspector.programs.registry import program_of
from inspector.sources import folders, reading, stores
from inspector.sources.homes import StorePlace
from inspector.sources.opening import MAGIC
from inspector.sources.problems import DATABASES, NOT_OPENED, Empty, SourceProblem, shown
from inspector.sources.replacing import is_regular
from inspector.traces.model import Problem

_LINES = ".jsonl"
_LOOKED_AT = 50
"""Files of one folder that are asked whose they are."""


@dataclass(frozen=True, slots=True)
class StoresWithin:
    """`stores` are those to read: the place itself where it is one store, or nothing that is known (then without a format). `skipped` says of each other store why it is not read."""

    stores: tuple[StorePlace, ...]
    skipped: tuple[Problem, ...] = ()


def stores_within(path: Path, format_name: str | None = None) -> StoresWithin:
    """Those of each program in the folder; of a file that file. Who names a format gets what is of it alone. Raises SourceProblem."""
    itself = StorePlace("", format_name or "", path)
    if format_name is not None or not folders.is_folder(path):
        return StoresWithin((itself,))
    shape = stores.identify(path)
    databases, skipped = _databases(path, shape.files)
    titles = {_title(format_) for _, format_ in databases}
    if len(titles | _sure(shape)) > 1 and len(titles | _titles(path)) > 1:
        return _apart(path)
    main = _best(shape, FORMATS, reading.SURE if databases else 0.0)
    if main is not None and reading.reads_nothing(path, shape, main):
        main = _best(shape, [format_ for format_ in FORMATS if format_ is not main], reading.SURE if databases else 0.0)
    if main is not None and _others(path, shape, main):
        return _apart(path)
    if main is None and not databases:
        return StoresWithin((itself,), tuple(skipped))
    trees = list(_trees(path, shape, main, program_of((main or databases[0][1]).name)))
    if main is None and (captures := reading.captures_within(path, shape)):
        names = shown(", ".join(captures), 300)
        skipped.append(
            Problem(
                reading.UNREAD_FILES,
                f"{shown(str(path), 4096)} holds captured streams too, which are not read with its stores ({names}): name one of them.",
            )
        )
    if len(trees) == 1 and not databases:
        return StoresWithin((replace(itself, format=trees[0][0].name),), tuple(skipped))
    places = [(_narrowed(path, format_, keys), format_) for format_, keys in trees]
    skipped += _outside(path, [place for place, _ in places])
    return StoresWithin(tuple(StorePlace(_title(format_), format_.name, place) for place, format_ in (*databases, *places)), tuple(skipped))


def _outside(path: Path, places: Sequence[Path]) -> Iterator[Problem]:
    """What was not opened of a folder, but for what is in one of these: who reads that finds the rest."""

    def is_outside(place: Path) -> bool:
        return not any(place.is_relative_to(other) for other in places)

    def wants(key: str) -> bool:
        return key.endswith(_LINES) and is_outside(path / key.partition("/")[2])

    if is_outside(path):
        for problem in folders.unseen(path, wants):
            if is_outside(Path(str(problem.path))):
                yield Problem(NOT_OPENED, str(problem))


def _apart(path: Path) -> StoresWithin:
    """Those of each folder in the folder, and its files one by one; nothing of what holds no sessions. Raises SourceProblem."""
    parts: list[StorePlace] = []
    links = [key for key in folders.listing(path).links if key.count("/") == 1]
    skipped = [Problem(NOT_OPENED, str(problem)) for problem in folders.not_followed(path, links, lambda key: key.endswith(_LINES))]
    for child in sorted(path.iterdir()):
        if child.is_symlink():
            continue
        if folders.is_folder(child):
            try:
                within = stores_within(child)
            except SourceProblem as problem:
                skipped.append(Problem(NOT_OPENED, str(problem)))
                continue
            parts += within.stores
            skipped += within.skipped
        elif child.suffix in DATABASES:
            databases, problems = _databases(path, [f"{path.name}/{child.name}"])
            parts += [StorePlace("", format_.name, file) for file, format_ in databases]
            skipped += problems
        elif is_regular(child):
            try:
                format_ = _best(stores.identify(child), FORMATS)
            except Empty:
                continue
            except SourceProblem as problem:
                skipped.append(Problem(NOT_OPENED, str(problem)))
                continue
            parts += [StorePlace("", format_.name, child)] if format_ else []
    titles = {format_.name: _title(format_) for format_ in FORMATS}
    named = tuple(replace(part, program=titles[part.format]) for part in parts if part.format)
    return StoresWithin(named or (StorePlace("", "", path),), tuple(skipped))


def _sure(shape: Shape) -> set[str]:
    """The programs whose files these may be."""
    return {_title(format_) for format_ in FORMATS if format_.sniff(shape) >= reading.SURE}


def _others(path: Path, shape: Shape, main: Format) -> bool:
    """Whether a file of lines is of another program than the folder: of many files, the shape has the heads of some."""
    lines = [key for key in shape.files if key.endswith(_LINES)]
    if len(lines) <= len(shape.heads):
        return False
    own, base = {_title(main)}, folders.root(path)
    heads = (Shape(folders.beginning(base / key), {}, key.rpartition("/")[2]) for key in lines)
    return any(main.sniff(head) <= 0 and _sure(head) - own for head in heads)


def _titles(path: Path) -> set[str]:
    """The programs of the files below: a folder may look like one of several programs, and a file alone is of one."""
    try:
        shape = stores.identify(path)
    except SourceProblem:
        return set()
    sure = _sure(shape)
    if len(sure) <= 1:
        return sure
    if not folders.is_folder(path):
        best = _best(shape, FORMATS)
        return {_title(best)} if best else set()
    children = [child for child in path.iterdir() if not child.is_symlink()]
    below = [child for child in children if folders.is_folder(child)]
    looked_at = [child for child in children if child not in set(below)][:_LOOKED_AT]
    return set().union(*map(_titles, (*below, *looked_at)))


def _best(shape: Shape, formats: Sequence[Format], least: float = 0.0) -> Format | None:
    score, name = max(((format_.sniff(shape), format_.name) for format_ in formats), default=(0.0, ""))
    return next(format_ for format_ in formats if format_.name == name) if score > least or score >= least > 0 else None


def _databases(path: Path, keys: Sequence[str]) -> tuple[list[tuple[Path, Format]], list[Problem]]:
    """Databases that are stores of any program, each with its format; and what is wrong with those that cannot be read or are not read yet."""
    databases: list[tuple[Path, Format]] = []
    problems: list[Problem] = []
    unread: dict[str, list[Path]] = {}
    for key in keys:
        file = path / key.partition("/")[2]
        if file.suffix not in DATABASES:
            continue
        try:
            shape = stores.identify(file)
        except Empty:
            continue
        except SourceProblem as problem:
            problems.append(Problem(NOT_OPENED, str(problem)))
            continue
        if not shape.head.startswith(MAGIC):
            continue
        format_ = _best(shape, FORMATS)
        if format_ is not None:
            databases.append((file, format_))
        elif what := not_read.of_shape(shape):
            unread.setdefault(what, []).append(file)
    return databases, [*problems, *(_of_unread(what, files) for what, files in unread.items())]


def _trees(path: Path, shape: Shape, main: Format | None, program: Program | None) -> Iterator[tuple[Format, list[str]]]:
    """The formats of the program whose files are in the folder, each with the keys of its own, most certain first."""
    formats = [format_ for format_ in FORMATS if program_of(format_.name) == program]
    format_, rest = main, shape
    while isinstance(format_, InFiles):
        yield format_, [key for key in rest.files if format_.wants(key)]
        formats.remove(format_)
        rest = _without(path, rest, [format_])
        format_ = _best(rest, formats)


def _without(path: Path, shape: Shape, formats: Sequence[Format]) -> Shape:
    """What a folder looks like without the files of these formats."""
    keys = tuple(key for key in shape.files if not any(isinstance(format_, InFiles) and format_.wants(key) for format_ in formats))
    return replace(shape, files=keys, heads=folders.heads(path, keys))


def _narrowed(path: Path, format_: Format, keys: Sequence[str]) -> Path:
    """The folder in which all files with these keys are, as far down as the format still knows them: `storage` of the files of a tree, whose name is enough
    in a command then."""
    assert isinstance(format_, InFiles)
    below = [key.partition("/")[2] for key in keys]
    deepest = path / os.path.commonpath([Path(name).parent for name in below])
    for folder in (deepest, *deepest.parents):
        if folder == path:
            break
        names = tuple(f"{folder.name}/{(path / name).relative_to(folder).as_posix()}" for name in below)
        if all(map(format_.wants, names)) and format_.sniff(Shape(b"", {}, folder.name, names, folders.heads(folder, names))) > 0:
            return folder
    return path


def _title(format_: Format) -> str:
    program = program_of(format_.name)
    return program.title if program else format_.title


def _of_unread(what: str, files: Sequence[Path]) -> Problem:
    if len(files) == 1:
        return Problem(reading.UNREAD_FILES, str(reading.NotReadYet(files[0], what)))
    more = "1 file more" if len(files) == 2 else f"{len(files) - 1:,} files more"
    return Problem(reading.UNREAD_FILES, f"{shown(str(files[0]), 4096)} and {more} hold {what}, {not_read.why(what)}.")
