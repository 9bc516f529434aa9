"""A conversation read and judged: the piece of work of an import or a scan that any process can do, from plain values to plain values."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from inspector.planning.preview import digest_of
from inspector.presentation.conversation.examined import Examined, Judges, Surroundings, examined
from inspector.presentation.conversation.revision_content import RevisionContent, revision_content
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Grouped, Listed, Record, Stored
from inspector.sources import reading
from inspector.sources.dsn import Place
from inspector.sources.problems import SourceProblem
from inspector.text.at_hand import at_work
from inspector.traces.model import Problem
from inspector.traces.tree import build


@dataclass(frozen=True, slots=True)
class Known:
    """What was written of a conversation at an earlier import; `is_judged`: by these rules, and nothing around it changed since."""

    digest: str
    shared_facts: Mapping[str, str | None]
    is_judged: bool


@dataclass(frozen=True, slots=True)
class Task:
    """One conversation of a store. `known`: None where a revision is to be written in any case. `is_traced`: its source has traces, none of them of this one."""

    format: str
    listed: Listed
    records: tuple[Record, ...]
    judges: Judges
    taken_at: int
    bleeding: tuple[str, ...] = ()
    known: Known | None = None
    is_traced: bool = False
    is_judged_later: bool = False

    @property
    def size(self) -> int:
        """Bytes, about."""
        return sum(len(record.value.data) for record in self.records)


@dataclass(frozen=True, slots=True)
class Done:
    """`content` is None where the conversation is as it was. `examined` is None where it was judged before, or is judged later: with what only a database has."""

    native_id: str
    content: RevisionContent | None
    examined: Examined | None


@dataclass(frozen=True, slots=True)
class Check:
    """SQLite's own check of a store, which takes as long as a sixth of its import."""

    path: Place


def answer(piece: Task | Check) -> Done | tuple[Problem, ...] | None:
    """The work of a worker. None where a check could not be made here and now."""
    if isinstance(piece, Task):
        return done(piece)
    with suppress(SourceProblem):
        return reading.damage(piece.path)
    return None


def done(task: Task) -> Done:
    """Raises UnknownReader, UnknownProjection, UnknownProfile."""
    is_same = task.known is not None and _is_as_known(task, task.known)
    if is_same and task.known is not None and task.known.is_judged:
        return Done(task.listed.native_id, None, None)
    format_ = format_named(task.format)
    assert isinstance(format_, Grouped)
    trace = build(task.listed.native_id, []) if task.is_traced else None
    around = None if task.is_judged_later else Surroundings(task.taken_at, trace, None, task.bleeding)
    # What readers and rules ask for again and again is kept as long as they are at this conversation, and no longer.
    with at_work():
        return done_of(format_.read_group(task.listed, task.records), task.judges, around, is_same)


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
