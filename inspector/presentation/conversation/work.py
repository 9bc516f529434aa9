"""A conversation read and judged: the piece of work of an import or a scan that any process can do, from plain values to plain values."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

from inspector.planning.preview import digest_of
from inspector.presentation.conversation.examined import Examined, Judges, Surroundings, examined
from inspector.presentation.conversation.revision_content import (
    RecordContent,
    RevisionContent,
    revision_content,
    revision_head,
    revision_parts,
)
from inspector.presentation.conversation.whole import TRIED_BYTES
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Listed, Record, Stored, read_listed
from inspector.sources import files, folders, reading
from inspector.sources.dsn import Dsn, Place
from inspector.sources.files import FileContent
from inspector.sources.problems import SourceProblem
from inspector.sources.spool import FileShelf, Parts
from inspector.sources.streaming import informed
from inspector.text.at_hand import apart, at_work
from inspector.text.shelf import shelving
from inspector.traces.model import Problem
from inspector.traces.tree import build

LONG = 4 << 20
"""Bytes of a conversation from which on its rows are given a few at a time: whoever makes them and whoever writes them would hold them several times."""

HUGE = 32 << 20
"""Bytes of a conversation from which on what its chunks say is in a file and not in memory while it is judged: that takes more time, and a seventh of the memory."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was written of a conversation at an earlier import; `is_judged`: by these rules, and nothing around it changed since."""

    digest: str
    shared_facts: Mapping[str, str | None]
    is_judged: bool


@dataclass(frozen=True, slots=True)
class Task:
    """One conversation of a store. `known`: None where a revision is to be written in any case. `is_traced`: its source has traces, none of them of this one.

    `files`: (key, file, bytes) of records that the worker reads, in place of `records`.
    """

    format: str
    listed: Listed
    records: tuple[Record, ...]
    judges: Judges
    taken_at: int
    bleeding: tuple[str, ...] = ()
    known: Known | None = None
    is_traced: bool = False
    is_judged_later: bool = False
    store: Place | None = None
    files: tuple[folders.WholeFile, ...] = ()

    @property
    def size(self) -> int:
        """Bytes, about."""
        return sum(len(record.value.data) for record in self.records) + sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Done:
    """`content` is None where the conversation is as it was. `examined` is None where it was judged before, or is judged later: with what only a database has."""

    native_id: str
    content: RevisionContent | None
    examined: Examined | None

    def with_parts(self, parts: Parts) -> "Done":
        content, examined = self.content, self.examined
        if content is not None:
            content = replace(content, chunks=Again(parts, "chunks"), words=Again(parts, "words"))
        if examined is not None and examined.whole is not None:
            examined = replace(examined, whole=replace(examined.whole, blocks=Again(parts, "blocks")))
        return replace(self, content=content, examined=examined)


@dataclass(frozen=True, slots=True)
class Again:
    """What was given under one name, as often as it is asked for."""

    parts: Parts
    name: str

    def __iter__(self) -> Iterator[Any]:
        return self.parts.of(self.name)


@dataclass(frozen=True, slots=True)
class Check:
    """SQLite's own check of a store, which takes as long as a sixth of its import."""

    path: Place


def answer(piece: Task | Check) -> Done | Generator[tuple[str, Any], None, Done] | tuple[Problem, ...] | None:
    """The work of a worker. None where a check could not be made here and now. Raises Changing."""
    if isinstance(piece, Task):
        task = _with_records(piece)
        return done(task) if piece.size < LONG else _long(task, {file.key: file.place for file in piece.files})
    with suppress(SourceProblem):
        return reading.damage(piece.path)
    return None


def _with_records(task: Task) -> Task:
    """With what other files of the store say, where the worker reads the conversation itself."""
    if task.store is None or isinstance(task.store, Dsn) or not task.files:
        return task
    records = task.records + tuple(
        folders.record(task.store, file, files.read_mapped if file.size >= HUGE else files.read_bytes) for file in task.files
    )
    return replace(task, records=records, files=(), listed=informed(task.store, format_named(task.format), task.listed, records))


def done(task: Task) -> Done:
    """Raises UnknownReader, UnknownProjection, UnknownProfile."""
    is_same = task.known is not None and _is_as_known(task, task.known)
    if is_same and task.known is not None and task.known.is_judged:
        return Done(task.listed.native_id, None, None)
    # What readers and rules ask for again and again is kept as long as they are at this conversation, and no longer.
    with at_work():
        return done_of(_read(task), task.judges, _around(task), is_same)


def _long(task: Task, places: Mapping[str, Any]) -> Generator[tuple[str, Any], None, Done]:
    """The same a few rows at a time; of files with `places` the bytes stay where they are."""
    is_same = task.known is not None and _is_as_known(task, task.known)
    if is_same and task.known is not None and task.known.is_judged:
        return Done(task.listed.native_id, None, None)
    with at_work(), shelving(FileShelf()) if task.size >= HUGE else nullcontext():
        # Its parsed lines are at hand for a trial of repairs, which reads the file again.
        with nullcontext() if task.size < TRIED_BYTES else apart():
            stored = _read(task)
        content = whole = None
        if not is_same:
            yield from revision_parts(stored)
            content = revision_head(stored)
            content = replace(content, records=[_elsewhere(record, places) for record in content.records])
        around = _around(task)
        # What it was compacted from is in the database, or will be.
        if around is None or stored.conversation.fact("compactedFrom"):
            return Done(stored.conversation.native_id, content, None)
        result = examined(stored, task.judges, around, is_long=True)
        if result.whole is not None:
            for block in result.whole.blocks:
                yield "blocks", [block]
            whole = replace(result.whole, blocks=())
        return Done(stored.conversation.native_id, content, replace(result, whole=whole))


def _elsewhere(record: RecordContent, places: Mapping[str, Any]) -> RecordContent:
    place = places.get(record.key)
    return record if place is None else replace(record, data=FileContent(place, len(record.data)))


def _read(task: Task) -> Stored:
    return read_listed(format_named(task.format), task.listed, task.records)


def _around(task: Task) -> Surroundings | None:
    trace = build(task.listed.native_id, []) if task.is_traced else None
    return None if task.is_judged_later else Surroundings(task.taken_at, trace, None, task.bleeding)


def done_of(stored: Stored, judges: Judges, around: Surroundings | None, is_same: bool) -> Done:
    """`around`: None where it is not known yet."""
    content = stored.conversation
    # What it was compacted from is in the database, or will be.
    if content.fact("compactedFrom"):
        around = None
    return Done(
        content.native_id,
        None if is_same else revision_content(stored),
        None if around is None else examined(stored, judges, around),
    )


def _is_as_known(task: Task, known: Known) -> bool:
    """Before anything is parsed: a store that grew by one conversation is read in the time of one."""
    own = {record.key for record in task.records}
    shared = {name: fact.value for name, fact in task.listed.facts.items() if fact.key and fact.key not in own}
    return shared == known.shared_facts and digest_of(task.records) == known.digest
