"""What a path holds, before anybody imports it: its format and how many conversations. Nothing is kept, and no conversation is judged."""

from dataclasses import dataclass, replace
from pathlib import Path

from inspector.access.context import unlimited
from inspector.actions.add_source import known_as
from inspector.actions.problems import Refused
from inspector.presentation.visible import visible
from inspector.programs.catalogue import FORMATS, UnknownFormat, format_named
from inspector.sources import homes, reading
from inspector.sources.captures import Captures
from inspector.sources.homes import StorePlace
from inspector.sources.places import is_dsn
from inspector.sources.problems import NOT_OPENED, SourceProblem
from inspector.sources.streaming import OpenStore
from inspector.sources.within import stores_within
from inspector.streams.captures.catalogue import kind_named
from inspector.traces.model import Problem

LARGEST = 512 << 20
"""Bytes of a file that a request reads for it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """`title` says what the format is, `count` how many of `thing` there are; None where only an import counts them. `problem` says why it is not read."""

    path: str
    format: str = ""
    title: str = ""
    thing: str = "conversation"
    count: int | None = None
    problem: str = ""
    files: int = 0
    """How many its format reads there, `size` bytes, and `others` how many it leaves alone; 0 where they cannot be counted."""
    size: int = 0
    others: int = 0
    written: int | None = None
    """When the last of them was written, in epoch milliseconds."""
    problems: tuple[Problem, ...] = ()
    """What could not be read as it should be."""


@unlimited
def trials(path: str) -> tuple[Trial, ...]:
    """One for each store there. `path` is one that `add_source.named` gave. Raises SourceProblem, Refused."""
    if is_dsn(path):
        raise Refused("A database is asked only when it is imported: each look would be a login there.")
    within = stores_within(Path(path))
    not_opened = (problem.reason for problem in within.skipped if problem.where == NOT_OPENED)
    return (*(_trial(store.path) for store in within.stores), *(Trial(known_as(path), problem=visible(reason)) for reason in not_opened))


def _trial(path: Path) -> Trial:
    shown = known_as(str(path))
    try:
        if path.is_file() and homes.extent(StorePlace("", "", path)).size > LARGEST:
            return Trial(shown, problem="It is too large to be read while you wait: the import reads it one conversation after the other.")
        with reading.opened(path) as content:
            match content:
                case reading.Traces():
                    trial = Trial(shown, content.format, "A trace", "trace record", len(content.records))
                case Captures():
                    trial = Trial(shown, content.kind, kind_named(content.kind).title, "stream", len(content.exchanges))
                case OpenStore():
                    trial = _of_store(shown, content.format.name, len(content.listed))
                case reading.Store():
                    trial = _of_store(shown, content.format.name, len(content.conversations))
                case _:
                    return _of_store(shown, content.format.name, None)
            return _with_files(replace(trial, problems=tuple(content.problems)), path)
    except (SourceProblem, UnknownFormat) as problem:
        return Trial(shown, problem=visible(str(problem)))


def _of_store(shown: str, format_name: str, count: int | None) -> Trial:
    return Trial(shown, format_name, format_named(format_name).title, count=count)


def _with_files(trial: Trial, path: Path) -> Trial:
    is_of_store = any(format_.name == trial.format for format_ in FORMATS)
    try:
        all_files = homes.extent(StorePlace("", "", path))
        extent = homes.extent(StorePlace("", trial.format, path)) if is_of_store else all_files
    except SourceProblem:
        return trial
    return replace(trial, files=extent.files, size=extent.size, others=all_files.files - extent.files, written=extent.written)
