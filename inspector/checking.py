"""Whether the provider accepts a history, and what is wrong with it: for programs that check a history before they send it.

Needs no Django and no settings: `from inspector import check`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from time import time
from typing import Any

from inspector import bundle
from inspector.conversation.model import Chunk, Conversation, Span, kept_raw
from inspector.planning.suggested import suggested
from inspector.presentation.conversation.verdict import verdict
from inspector.profiles.answering import own_judges
from inspector.profiles.base import Violation
from inspector.profiles.catalogue import UnknownProfile, profile
from inspector.profiles.judging import judged
from inspector.programs.catalogue import format_named
from inspector.programs.formats import FILE, UNREAD, Cell, Format, Listed, Record, Stored, not_read
from inspector.programs.registry import program_or_default
from inspector.projections.catalogue import UnknownProjection, projection
from inspector.readers.catalogue import UnknownReader, reader_of
from inspector.rules.base import Case, Finding, Severity, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.sources import files, folders, reading
from inspector.sources.opening import MAGIC
from inspector.sources.problems import DATABASES, NOT_OPENED, SourceProblem, shown
from inspector.sources.reading import Store
from inspector.sources.streaming import OpenStore
from inspector.sources.within import stores_within
from inspector.text.unknown import UnknownName
from inspector.traces.model import Problem
from inspector.wires.detection import format_of
from inspector.wires.layout import NotARequest
from inspector.wires.names import WIRES

History = Mapping[str, Any] | Sequence[Any] | bytes | Path
"""A request body or its list of messages, the bytes of a body or of a session file, or the path of a body, file or folder."""
NAMELESS = "The history"
"""What sentences call a history that has no path."""


class NotAHistory(ValueError):
    """What was given cannot be checked: one sentence says why, and what to do next."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The answer for one history.

    `conversation` is its id in its store (`request` of a body), `file` the path of its file ("" where it has none of its own). `verdict` is one sentence.
    `violations` are provider rules that refuse the next request: `id`, `path` as the provider's message names it, `seqs`, `text` in the provider's words.
    `findings` are detection rules that report something, most dangerous first. `lines` has the line (from 1) in `file` of a seq that they name, where it is known.
    `failure` says why the client cannot open the session at all, "" where it can. `unread` says what of it is over a limit of Inspector, and so was not read:
    then nobody knows whether it passes, and it does not; "" where all was read.
    """

    conversation: str
    file: str
    format: str
    reader: str
    profile: str
    verdict: str
    violations: tuple[Violation, ...]
    findings: tuple[Finding, ...]
    failure: str = ""
    notes: tuple[str, ...] = ()
    lines: Mapping[int, int] = field(default_factory=dict)
    unread: str = ""

    @property
    def accepted(self) -> bool:
        """Whether no known rule of the provider refuses the next request, the client can make it, and all of it was read."""
        return not (self.violations or self.failure or self.unread)

    @property
    def passes(self) -> bool:
        """Whether it is accepted and no finding is an error."""
        return self.accepted and not any(finding.severity is Severity.ERROR for finding in self.findings)

    def line(self, seqs: Iterable[int]) -> int | None:
        """The line of the first of these, None where it is not known."""
        return next((self.lines[seq] for seq in seqs if seq in self.lines), None)


def check(history: History, *, profile: str | None = None, format: str | None = None, reader: str | None = None) -> Checked:
    """The answer for one history; `profile`, `format` and `reader` name others than its own. Raises NotAHistory, also where there are none or several."""
    answers = list(islice(check_all(history, profile=profile, format=format, reader=reader), 2))
    if len(answers) == 1:
        return answers[0]
    how_many = "several conversations: use check_all" if answers else "no conversations: give what the agent really writes or sends"
    raise NotAHistory(f"{_name(history)} holds {how_many}.")


def check_all(history: History, *, profile: str | None = None, format: str | None = None, reader: str | None = None) -> Iterator[Checked]:
    """The answers for all conversations of a file or folder, one after the other. Raises NotAHistory, in the middle too."""
    for answer in answers(history, profile, format, reader):
        if isinstance(answer, Checked):
            yield answer


def answers(history: History, profile_name: str | None, format_name: str | None, reader: str | None) -> Iterator[Checked | Problem]:
    """As `check_all`, with what is wrong with the file itself, and with files of a folder that are no histories."""
    with _as_sentences():
        if profile_name is not None:
            profile(profile_name)
        try:
            yield from _answers(history, profile_name, format_name, reader)
            return
        except (NotARequest, reading.NoRequest):
            if profile_name is None or format_name is not None:
                raise
            # Words alone are a body of several providers: the profile says of which one.
            wire = profile(profile_name).wire
            yield from _answers(history, profile_name, next(name for name, of in WIRES.items() if of == wire), reader)
            return
        except reading.NotRecognized as strange:
            if not isinstance(history, Path) or not folders.is_folder(history):
                raise
            unread = strange
        # No program's folder: request bodies that somebody keeps together, say.
        is_any = False
        listed = folders.listing(history)
        for problem in (*listed.closed, *folders.not_followed(history, listed.links, lambda key: True)):
            yield Problem(NOT_OPENED, str(problem))
        for name in listed.keys:
            file = folders.root(history) / name
            below = history / name.partition("/")[2]
            try:
                for answer in _answers(file, profile_name, format_name, reader):
                    is_any = True
                    yield replace(answer, file=str(below)) if isinstance(answer, Checked) else answer
            except (NotARequest, SourceProblem) as problem:
                yield Problem(str(below), str(problem))
        if not is_any:
            raise unread


def _answers(history: History, profile_name: str | None, format_name: str | None, reader: str | None) -> Iterator[Checked | Problem]:
    within = stores_within(history, format_name) if isinstance(history, Path) else None
    # Files of a folder that is no program's are gone through one by one, its databases among them.
    if within is None or all(store.path.suffix in DATABASES and not folders.is_folder(store.path) for store in within.stores):
        yield from _answers_of_one(history, profile_name, format_name, reader)
        return
    yield from within.skipped
    for store in within.stores:
        try:
            yield from _answers_of_one(store.path, profile_name, store.format or None, reader)
        except SourceProblem as problem:
            if len(within.stores) == 1:
                raise
            yield Problem(NOT_OPENED, str(problem))


def _answers_of_one(history: History, profile_name: str | None, format_name: str | None, reader: str | None) -> Iterator[Checked | Problem]:
    with _cases(history, format_name, reader) as (path, problems, cases):
        yield from problems
        for case, one in cases:
            checked = _checked(case, one.stored, path, profile_name or one.profile, one.projection, isinstance(history, bytes | Path))
            if checked.unread:
                yield Problem(checked.file or checked.conversation, f"The conversation {checked.unread}.")
            yield checked


@dataclass(frozen=True, slots=True)
class Around:
    """A conversation of a store, with what the rules are given of its surroundings and by whom it is judged."""

    stored: Stored
    reader: str
    projection: str
    profile: str
    archive: Conversation | None
    bleeding: tuple[str, ...]


def around(store: OpenStore) -> Iterator[Around]:
    """The conversations of a store that is open, each read when it is asked for. Raises SourceProblem."""
    return (unread.read() for unread in unread_in(store))


@dataclass(frozen=True, slots=True)
class Unread:
    """A conversation of a store that is open, before it is read. `basis` is what is known around it, as one text.

    `files` are those that it consists of, () where it is no file. `read` raises SourceProblem.
    """

    basis: str
    files: tuple[Path, ...]
    read: Callable[[], Around]


def unread_in(store: OpenStore) -> Iterator[Unread]:
    by_native_id = {listed.native_id: listed for listed in store.listed}
    bleeding_of = store.format.bleeding_among(list(by_native_id))

    def archive(conversation: Conversation) -> Conversation | None:
        compacted: Listed | None = by_native_id.get(conversation.fact("compactedFrom") or "")
        return store.read(compacted).conversation if compacted else None

    def read(listed: Listed, bleeding: tuple[str, ...]) -> Around:
        return _around(store.read(listed), judges_of(store.format), archive, bleeding)

    for listed in store.examined:
        bleeding = bleeding_of(listed.native_id)
        facts = sorted((fact.name, fact.value, fact.key) for fact in listed.facts.values())
        basis = repr((store.format.name, listed.native_id, listed.group, facts, bleeding, store.nearby(listed)))
        # What is over a limit is not kept either.
        whole_files = () if UNREAD in store.within_limit(listed).facts else store.files(listed)
        yield Unread(basis, tuple(file.place for file in whole_files), partial(read, listed, bleeding))


def _around_read(store: Store) -> Iterator[Around]:
    by_native_id = {stored.conversation.native_id: stored.conversation for stored in store.conversations}
    for stored in store.conversations:
        own = stored.conversation
        bleeding = bundle.bleeding(own) or store.format.bleeding(own.native_id, by_native_id)
        yield _around(
            stored, judges_of(store.format, store.origin), lambda one: by_native_id.get(one.fact("compactedFrom") or ""), bleeding
        )


def _around(
    stored: Stored,
    judges: tuple[str, str, str],
    archive: Callable[[Conversation], Conversation | None],
    bleeding: tuple[str, ...],
) -> Around:
    reader, usual_projection, usual_profile = judges
    own_projection, own_profile = own_judges(stored.conversation, usual_projection, usual_profile)
    return Around(stored, reader, own_projection, own_profile, archive(stored.conversation), bleeding)


def judges_of(format_: Format, origin: bundle.BundleOrigin | None = None) -> tuple[str, str, str]:
    """Reader, projection and profile: the format's own, or those of a bundle."""
    return known_judges(origin) if origin else (format_.default_reader, format_.default_projection, format_.default_profile)


def known_judges(origin: bundle.BundleOrigin) -> tuple[str, str, str]:
    """Reader, projection and profile of a bundle; the format's own where this Inspector does not know one."""
    inner = bundle.inner(origin.format)
    judges = []
    for name, default, named, problem in (
        (origin.reader, inner.default_reader, lambda name: reader_of(name, inner.name), UnknownReader),
        (origin.projection, inner.default_projection, projection, UnknownProjection),
        (origin.profile, inner.default_profile, profile, UnknownProfile),
    ):
        try:
            named(name)
            judges.append(name)
        except problem:
            judges.append(default)
    return judges[0], judges[1], judges[2]


_Cases = tuple[Path | None, Iterable[Problem], Iterator[tuple[Case, Around]]]


@contextmanager
def _cases(history: History, format_name: str | None, reader: str | None) -> Iterator[_Cases]:
    """Raises SourceProblem, NotARequest, UnknownName, NotAHistory."""
    if isinstance(history, Path):
        with _opened(history, format_name) as store:
            yield (
                history,
                (*reading.damage(history), *store.problems) if isinstance(store, OpenStore) else store.problems,
                _of(store, reader),
            )
    elif isinstance(history, bytes):
        if history.startswith(MAGIC):
            raise NotAHistory("An SQLite store is checked by its path: a part of it may be in the -wal file next to it.")
        with files.workspace() as folder:
            # Sentences name a path, and nobody knows this one.
            path = folder / NAMELESS
            path.write_bytes(history)
            try:
                with _opened(path, format_name) as store:
                    yield None, (), _of(store, reader)
            except SourceProblem as problem:
                problem.path = Path(NAMELESS)
                raise
    elif isinstance(history, str) or not isinstance(history, Mapping | Sequence):
        raise NotAHistory(
            f"A {type(history).__name__} is no history: give a request body, its list of messages, bytes, or the Path of a file or folder."
        )
    else:
        data = _body(history)
        format_ = format_named(format_name or format_of(data))
        stored = tuple(format_.read([Record("request.json", Cell(data, FILE))]))
        yield None, (), _of(Store(Path(NAMELESS), format_, stored), reader)


@contextmanager
def _opened(path: Path, format_name: str | None) -> Iterator[Store | OpenStore]:
    with reading.opened(path, format_name) as content:
        reading.refuse_other(path, content)
        assert isinstance(content, Store | OpenStore)
        yield content


def _of(store: Store | OpenStore, reader: str | None) -> Iterator[tuple[Case, Around]]:
    now = store.origin.read_at if isinstance(store, Store) and store.origin else int(time() * 1000)
    for one in around(store) if isinstance(store, OpenStore) else _around_read(store):
        yield case_of(one.stored.conversation, reader or one.reader, None, now, one.archive, one.bleeding), one


def _body(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Objects of a provider's SDK become what that SDK sends. Raises NotAHistory."""
    try:
        return json.dumps(value, default=_sent).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise NotAHistory(f"The history holds a value that has no JSON ({shown(str(error))}): give it as it is sent.") from None


def _sent(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"an object of the type {type(value).__name__}")


def _checked(case: Case, stored: Stored, path: Path | None, profile_name: str, own_projection: str, is_text: bool) -> Checked:
    results = suggested(case, findings(case, RULES), stored)
    judgement = judged(case.reading, case.conversation, profile_name, own_projection)[1]
    named = {
        seq
        for seqs in (*(finding.seqs for finding in results), *(violation.seqs for violation in judgement.violations))
        for seq in seqs[:1]
    }
    # Values that a program gives are in no file yet.
    key, lines = line_numbers(case.tree or case.conversation, stored, named if is_text else set())
    return Checked(
        case.conversation.native_id,
        "" if path is None else _file(path, key),
        case.conversation.format,
        case.reading.reader,
        profile_name,
        verdict(case, results, judgement).text,
        judgement.violations,
        results,
        case.reading.failure,
        judgement.notes,
        lines,
        not_read(case.tree or case.conversation),
    )


def _file(path: Path, key: str) -> str:
    """The path of the file with this key ("" = the source itself), as the path of the source was typed."""
    return str(path / key.partition("/")[2]) if key and folders.is_folder(path) else str(path)


def line_numbers(conversation: Conversation, stored: Stored, seqs: set[int]) -> tuple[str, dict[int, int]]:
    """The key of the file that the conversation is in, and by seq the line (from 1) of each of these chunks in it; no lines where it is no file."""
    records = [record for record in stored.records if record.value.type == FILE]
    chunks = [chunk for chunk in conversation.chunks if chunk.seq in seqs]
    starts = [
        (chunk.seq, record, start) for chunk in chunks for record in records if (start := _start(conversation, record, chunk)) is not None
    ]
    main = starts[0][1] if starts else records[0] if records else None
    if main is None:
        return "", {}
    return main.key, _line_numbers(main.value.data, {seq: start for seq, record, start in starts if record is main})


def _line_numbers(data: bytes, starts: Mapping[int, int]) -> dict[int, int]:
    """The line (from 1) that each byte is in; the data is gone through once, however many there are."""
    numbers: dict[int, int] = {}
    line, at = 1, 0
    for start in sorted(set(starts.values())):
        line, at = line + data.count(b"\n", at, start), start
        numbers[start] = line
    return {seq: numbers[start] for seq, start in starts.items()}


def _start(conversation: Conversation, record: Record, chunk: Chunk) -> int | None:
    """The byte of the record's file at which the chunk starts; None where it is not in it, or nobody knows where."""
    data, raw = record.value.data, kept_raw(chunk)
    if isinstance(raw, Span):
        return raw.start if data[raw.start : raw.stop] == chunk.raw else None
    count = data.count(raw) if raw else 0
    if count == 1:
        return data.find(raw)
    return program_or_default(conversation.format).start_of(conversation, record, chunk) if count else None


@contextmanager
def _as_sentences() -> Iterator[None]:
    try:
        yield
    except NotARequest as problem:
        raise NotAHistory(f"The history {problem.reason}") from None
    except (SourceProblem, UnknownName) as problem:
        raise NotAHistory(str(problem)) from None


def _name(history: History) -> str:
    return shown(str(history), 4096) if isinstance(history, Path) else NAMELESS
