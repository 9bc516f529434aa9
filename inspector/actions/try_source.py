"""What a path holds, before anybody imports it: its format, how many conversations, and what becomes of the newest. Nothing is kept."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.access.context import unlimited
from inspector.actions.add_source import known_as, sentence_of
from inspector.actions.problems import Refused
from inspector.checking import Around, judges_of, unread_in
from inspector.conversation.model import Kind
from inspector.presentation.conversation.resuming import is_accepted
from inspector.presentation.conversation.revision_content import Summary, revision_head
from inspector.presentation.conversation.verdict import NextRequest, Verdict, unless_unnoticed, verdict
from inspector.presentation.visible import visible
from inspector.profiles.judging import judged_case
from inspector.programs.catalogue import FORMATS, UnknownFormat, format_named
from inspector.programs.formats import Listed
from inspector.rules.base import Finding, Severity, case_of, findings
from inspector.rules.catalogue import RULES
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
EXAMINED = 16 << 20
"""Bytes of conversations that are examined, a second or two: all of a small store, of a larger one the newest that fit."""
NEWEST = 5
"""Of a larger store that is one file, how many are examined."""
SHOWN = 10
"""How many of those that were examined a page lists."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A conversation as the import will list it; `version` is that of the program or of the file, as it names it."""

    summary: Summary
    native_id: str
    version: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    is_damaged: bool
    """Damaged or rejected, as the import counts it."""
    unreadable: int

    @property
    def has_error(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def next_request(self) -> NextRequest:
        silent_errors = sorted(finding.code for finding in self.findings if finding.silent and finding.severity is Severity.ERROR)
        return unless_unnoticed(self.verdict.next_request, silent_errors)


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
    samples: tuple[Sample, ...] = ()
    """The conversations that were examined: the damaged ones first, of each kind the newest first."""

    @property
    def shown(self) -> tuple[Sample, ...]:
        return self.samples[:SHOWN]

    @property
    def not_shown(self) -> tuple[tuple[int, str], ...]:
        """How many conversations there are besides, by what is known of them."""
        damaged = max(0, self.damaged - SHOWN)
        undamaged = max(0, len(self.samples) - SHOWN) - damaged
        left = (self.count or 0) - len(self.samples)
        return tuple(
            (n, words) for n, words in ((damaged, "damaged or rejected"), (undamaged, "undamaged"), (left, "not examined")) if n > 0
        )

    @property
    def damaged(self) -> int:
        return sum(sample.is_damaged for sample in self.samples)

    @property
    def chunks(self) -> int:
        return sum(sample.summary.chunk_count for sample in self.samples)

    @property
    def unreadable(self) -> int:
        return sum(sample.unreadable for sample in self.samples)

    @property
    def versions(self) -> bool:
        return any(sample.version for sample in self.shown)


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
            trial = _with_files(replace(trial, problems=tuple(content.problems)), path)
            if not isinstance(content, OpenStore | reading.Store):
                return trial
            samples = [_sample(one) for one in _examined(content, trial.size)]
            return replace(
                trial, samples=tuple(sorted(samples, key=lambda sample: (not sample.is_damaged, -(sample.summary.last_activity or 0))))
            )
    except (SourceProblem, UnknownFormat) as problem:
        return Trial(shown, problem=visible(sentence_of(str(path), problem)))


def _of_store(shown: str, format_name: str, count: int | None) -> Trial:
    return Trial(shown, format_name, format_named(format_name).title, count=count)


def _examined(content: OpenStore | reading.Store, size: int) -> Iterator[Around]:
    """All conversations of a small store, else the newest."""
    if isinstance(content, reading.Store):
        reader, projection, profile = judges_of(content.format, content.origin)
        for stored in content.conversations if size <= EXAMINED else content.conversations[-NEWEST:]:
            yield Around(stored, reader, projection, profile, None, ())
        return
    newest = sorted(zip(content.examined, unread_in(content), strict=True), key=lambda pair: _written(content, pair[0]), reverse=True)
    left, count = EXAMINED, len(newest) if size <= EXAMINED else NEWEST
    for listed, unread in newest:
        if not count or (own_size := _size(content, listed)) > left:
            continue
        left, count = left - own_size, count - 1
        # What cannot be read is among the problems of the import.
        with suppress(SourceProblem):
            yield unread.read()


def _written(content: OpenStore, listed: Listed) -> int:
    """When it was last written, as far as that is known before it is read, in epoch milliseconds."""
    files = content.files(listed)
    fact = listed.facts.get("lastActivityAt")
    with suppress(OSError, ValueError):
        return max(file.place.stat().st_mtime_ns // 1_000_000 for file in files) if files else int((fact and fact.value) or 0)
    return 0


def _size(content: OpenStore, listed: Listed) -> int:
    files = content.files(listed)
    return sum(file.size for file in files) if files else content.size // max(1, len(content.listed))


def _sample(one: Around) -> Sample:
    conversation = one.stored.conversation
    case = case_of(conversation, one.reader, archive=one.archive, bleeding=one.bleeding)
    results = findings(case, RULES)
    judgement = judged_case(case, one.profile, one.projection)[1]
    return Sample(
        revision_head(one.stored).summary,
        visible(conversation.native_id),
        visible(conversation.fact("version") or ""),
        verdict(case, results, judgement),
        tuple(results),
        any(finding.severity is not Severity.NOTE for finding in results) or not is_accepted(case, judgement) or bool(case.reading.failure),
        sum(chunk.kind is Kind.UNREADABLE for chunk in conversation.chunks),
    )


def _with_files(trial: Trial, path: Path) -> Trial:
    is_of_store = any(format_.name == trial.format for format_ in FORMATS)
    try:
        all_files = homes.extent(StorePlace("", "", path))
        extent = homes.extent(StorePlace("", trial.format, path)) if is_of_store else all_files
    except SourceProblem:
        return trial
    return replace(trial, files=extent.files, size=extent.size, others=all_files.files - extent.files, written=extent.written)
