"""What TARGET names: a store by its path, or an imported conversation by its id, with the traces that belong to it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from inspector import bundle, models
from inspector.actions.own_database import refuse_own_database
from inspector.checking import Unread, judges_of, unread_in
from inspector.conversation.model import Conversation
from inspector.management.observed import PIPE, read_observed, read_traces, trace_of
from inspector.management.piped import read_body
from inspector.models import loading
from inspector.models.identity import short_id
from inspector.models.overlapping import overlapping, records_in
from inspector.models.transactions import one_snapshot
from inspector.presentation.visible import visible
from inspector.profiles.answering import own_judges
from inspector.programs.formats import Format, Stored
from inspector.rules.base import Case, case_of
from inspector.sources import places, reading, stores
from inspector.sources.captures import Captures
from inspector.sources.dsn import Dsn, Place
from inspector.sources.places import is_dsn, place
from inspector.sources.problems import NOT_OPENED, Missing, SourceProblem, shown
from inspector.sources.reading import ACapture, Store, Traces, read_store
from inspector.sources.streaming import OpenStore
from inspector.sources.within import stores_within
from inspector.traces.model import Trace

NAMED = 5
"""How many ids a sentence names; it always says how many there are."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A conversation of the target. `row` is set where it was read from the database; `taken_at` is when it was read (epoch ms)."""

    oid: str
    stored: Stored
    format: Format
    trace: Trace | None
    taken_at: int
    reader: str
    projection: str
    profile: str
    row: models.Conversation | None = None
    archive: Conversation | None = None
    bleeding: tuple[str, ...] = ()
    native_ids: frozenset[str] = frozenset()
    """Native ids of all conversations of the store, where it was read now."""

    @property
    def conversation(self) -> Conversation:
        return self.stored.conversation

    def case(self, reader: str | None = None) -> Case:
        """Raises UnknownReader."""
        return case_of(self.conversation, reader or self.reader, self.trace, self.taken_at, self.archive, self.bleeding)


@dataclass(frozen=True, slots=True)
class Target:
    """`problems` is what was found wrong with the file itself, as (where, sentence)."""

    path: str
    format: str
    conversations: tuple[Chosen, ...]
    problems: tuple[tuple[str, str], ...] = ()

    @property
    def real_path(self) -> str:
        """As a source is known by it, so that a plan has the same digest however its path was typed."""
        return self.path if self.is_piped else visible(places.real(place(self.path)))

    @property
    def is_piped(self) -> bool:
        """What came through standard input: there is no file that could be read again or written to."""
        return self.path == PIPE

    def one(self) -> Chosen:
        """Raises CommandError where there are none or several."""
        if len(self.conversations) == 1:
            return self.conversations[0]
        if not self.conversations:
            raise CommandError(f"{shown(self.path, 4096)} holds no conversations; give the store that the agent really writes to.")
        ids = [chosen.conversation.native_id for chosen in self.conversations]
        raise CommandError(f"{shown(self.path, 4096)} holds {_listed(ids)}: pick one with --conversation.")


def add_target_arguments(parser: CommandParser, several: bool = False, optional: bool = False) -> None:
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="+" if several else "?" if optional else None,
        help="the path of a store, request body or capture, - for a body or capture on standard input, or the id of an imported conversation "
        "or stream (its first characters will do); an existing path wins",
    )
    add_options_of_target(parser)


def add_options_of_target(parser: CommandParser) -> None:
    parser.add_argument("--format", metavar="NAME", help="read the target as this format instead of detecting it (see `formats`)")
    parser.add_argument("--conversation", metavar="ID", help="pick one conversation or stream: its own id or the start of it, or ours")
    parser.add_argument(
        "--traces",
        metavar="TARGET",
        action="append",
        default=[],
        help="a trace database or journal that belongs to the store (- reads a journal from standard input), or for scan the capture of a stream "
        "that is stored there; may be repeated",
    )


def load(options: Mapping[str, Any], observed: Sequence[Traces] | None = None) -> Target:
    """The target that a command's options name; `observed` are its traces, where they are read already.

    Raises CommandError, SourceProblem, UnknownFormat; of a capture ACapture, with its streams.
    """
    name, picked = options["target"], options["conversation"]
    _refuse_one_pipe_for_both(options)
    traces = [read_traces(trace_name) for trace_name in options["traces"]] if observed is None else observed
    if name == PIPE:
        return _chosen(PIPE, PIPE, read_body(options["format"]), picked, traces)
    if places.exists(place(name)):
        return _of_path(place(name), options["format"], picked, traces)
    if _looks_like_a_path(name):
        raise Missing(Path(name))
    with one_snapshot():
        try:
            row = imported(name)
        except CommandError:
            stream = _imported_stream(name)
            if stream is None:
                raise
            path = Path(stream.source.path)
            raise ACapture(path, Captures(path, stream.source.format, (loading.exchange(stream),))) from None
        return _of_row(row, options["format"], picked, traces)


def is_imported(name: str) -> bool:
    """Whether a TARGET is looked for in our database, which for paths and pipes need not be there."""
    return name != PIPE and not places.exists(place(name)) and not _looks_like_a_path(name)


def _refuse_one_pipe_for_both(options: Mapping[str, Any]) -> None:
    if options["target"] == PIPE and PIPE in options["traces"]:
        raise CommandError("Standard input can be the TARGET or the traces, not both: save one of them to a file and name that.")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A conversation that is read when `read` is called, which raises as `load` does.

    `files` are those that it consists of and nothing else, () where an answer about it must not outlive the command; `basis` is all else that it depends on.
    """

    read: Callable[[], Chosen]
    files: tuple[Path, ...] = ()
    basis: str = ""


@dataclass(frozen=True, slots=True)
class LazyTarget:
    """A target whose conversations are read one after the other and need not be held together: `waiting` and `conversations` can be used once.

    `captures` are the streams that were named with it.
    """

    path: str
    format: str
    waiting: Iterator[Waiting]
    problems: tuple[tuple[str, str], ...] = ()
    total: int | None = None
    """None: not known before the last."""
    captures: tuple[Captures, ...] = ()
    stores: tuple[tuple[str, str], ...] = ()
    """Path and format of each store, of a folder that holds several."""

    @property
    def conversations(self) -> Iterator[Chosen]:
        return (waiting.read() for waiting in self.waiting)


def _at_hand(conversations: Iterable[Chosen]) -> Iterator[Waiting]:
    return (Waiting(partial(_itself, chosen)) for chosen in conversations)


def _itself(chosen: Chosen) -> Chosen:
    return chosen


def load_lazily(options: Mapping[str, Any]) -> LazyTarget:
    """As `load`, for who looks at each conversation once: the jobs of a database server pass by without being held. Raises as `load`, in the middle too."""
    name = options["target"]
    where = place(name) if is_dsn(name) else None
    _refuse_one_pipe_for_both(options)
    observed = [read_observed(trace_name) for trace_name in options["traces"]]
    traces = [content for content in observed if isinstance(content, Traces)]
    captures = tuple(content for content in observed if isinstance(content, Captures))
    if where is None and name != PIPE and options["conversation"] is None and places.exists(place(name)):
        return _passing_stores(name, options["format"], traces, captures)
    if not isinstance(where, Dsn) or options["conversation"] is not None:
        target = load(options, traces)
        return LazyTarget(target.path, target.format, _at_hand(target.conversations), target.problems, len(target.conversations), captures)
    refuse_own_database(where)
    content = reading.format_of(where, options["format"])
    return LazyTarget(where.name, content.name, _at_hand(_passing(where, content, traces)), captures=captures)


def _passing_stores(name: str, format_name: str | None, traces: Sequence[Traces], captures: tuple[Captures, ...]) -> LazyTarget:
    """Every store of a folder, one after the other, as one target. Raises as `load`."""
    path = Path(name)
    refuse_own_database(path)
    within = stores_within(path, format_name)
    skipped = [(problem.where, problem.reason) for problem in within.skipped]
    targets: list[LazyTarget] = []
    for store in within.stores:
        try:
            targets.append(_passing_store(store.path, store.format or None, traces, captures))
        except SourceProblem as problem:
            if len(within.stores) == 1:
                raise
            skipped.append((NOT_OPENED, str(problem)))
    if len(targets) == 1:
        return replace(targets[0], problems=(*targets[0].problems, *skipped))
    return LazyTarget(
        name,
        ", ".join(dict.fromkeys(target.format for target in targets)),
        chain.from_iterable(target.waiting for target in targets),
        (
            *(
                (where if where == NOT_OPENED else f"{target.path}, {where}", reason)
                for target in targets
                for where, reason in target.problems
            ),
            *skipped,
        ),
        sum(target.total or 0 for target in targets),
        captures,
        tuple((target.path, target.format) for target in targets),
    )


def _passing_store(path: Path, format_name: str | None, traces: Sequence[Traces], captures: tuple[Captures, ...]) -> LazyTarget:
    """A path, of which one conversation after the other is read where its format allows that. Raises as `load`."""
    with ExitStack() as stack:
        content = stack.enter_context(reading.opened(path, format_name))
        reading.refuse_other(path, content)
        if not isinstance(content, OpenStore):
            assert isinstance(content, Store)
            target = _chosen(str(path), visible(places.real(path)), content, None, traces)
            return LazyTarget(
                target.path, target.format, _at_hand(target.conversations), target.problems, len(target.conversations), captures
            )
        problems = tuple((problem.where, problem.reason) for problem in (*reading.damage(path), *content.problems))
        conversations = _chosen_one_by_one(content, traces, stack.pop_all())
        return LazyTarget(str(path), content.format.name, conversations, problems, len(content.listed) - len(content.unexamined), captures)


def _chosen_one_by_one(store: OpenStore, traces: Sequence[Traces], opened: ExitStack) -> Iterator[Waiting]:
    format_, real = store.format, visible(places.real(store.path))
    native_ids = frozenset(listed.native_id for listed in store.listed)
    now = int(timezone.now().timestamp() * 1000)

    def read(unread: Unread) -> Chosen:
        one = unread.read()
        native_id = one.stored.conversation.native_id
        return Chosen(
            oid=short_id(real, format_.name, native_id),
            stored=one.stored,
            format=format_,
            trace=trace_of(traces, native_id),
            taken_at=now,
            reader=one.reader,
            projection=one.projection,
            profile=one.profile,
            archive=one.archive,
            bleeding=one.bleeding,
            native_ids=native_ids,
        )

    with opened:
        for unread in unread_in(store):
            yield Waiting(partial(read, unread), () if traces else unread.files, f"{real} {unread.basis}")


def _passing(where: Dsn, format_: Format, traces: Sequence[Traces]) -> Iterator[Chosen]:
    now = int(timezone.now().timestamp() * 1000)
    judges = (format_.default_reader, format_.default_projection, format_.default_profile)
    for stored in reading.streamed(where, format_):
        native_id = stored.conversation.native_id
        yield Chosen(short_id(where.name, format_.name, native_id), stored, format_, trace_of(traces, native_id), now, *judges)


def imported(name: str) -> models.Conversation:
    """The imported conversation with this id (ours, or the start of it) or native id (or its start). Raises CommandError."""
    # As ids are kept: bytes of a command line that are no text cannot be asked for.
    rows, typed = models.Conversation.objects, visible(name)
    matching = rows.filter(native_id=typed) or rows.filter(oid__startswith=typed.lower()) or rows.filter(native_id__startswith=typed)
    candidates = list(matching.select_related("source").order_by("oid")[: NAMED + 1])
    if not name or not candidates:
        raise CommandError(
            f"There is no file {shown(name)!r} and no imported conversation with that id: check the path, or import its store first."
        )
    if len(candidates) > 1:
        count = matching.count()
        ids = ", ".join(conversation.oid for conversation in candidates[:NAMED])
        raise CommandError(f"{shown(name)!r} may be any of {count} imported conversations ({ids}{_more(count)}): name one of these ids.")
    return candidates[0]


def _imported_stream(name: str) -> models.Stream | None:
    """The imported stream with this id (ours, or the start of it), or native id. Raises CommandError where it may be several."""
    rows, typed = models.Stream.objects.select_related("source"), visible(name)
    matching = (rows.filter(native_id=typed) or rows.filter(oid__startswith=typed.lower())) if typed else rows.none()
    candidates = list(matching.order_by("oid")[: NAMED + 1])
    if len(candidates) > 1:
        ids = ", ".join(stream.oid for stream in candidates[:NAMED]) + (", …" if len(candidates) > NAMED else "")
        raise CommandError(f"{shown(name)!r} may be any of several imported streams ({ids}): name one of these ids.")
    return candidates[0] if candidates else None


def _looks_like_a_path(name: str) -> bool:
    """Only then is the database left alone: a missing file has to be reported where no database is set up, too."""
    return "/" in name or name.endswith((".db", ".sqlite", ".sqlite3", ".ndjson", ".jsonl", ".json"))


def _of_path(path: Place, format_name: str | None, picked: str | None, traces: Sequence[Traces]) -> Target:
    refuse_own_database(path)
    if isinstance(path, Dsn) and picked is not None:
        format_ = reading.format_of(path, format_name)
        native_id = _native_id_of(path, format_, picked)
        stored = reading.read_one(path, format_, native_id)
        return _chosen(str(path), path.name, Store(path, format_, () if stored is None else (stored,)), None, traces)
    if isinstance(path, Path):
        stores_of_path = stores_within(path, format_name).stores
        if len(stores_of_path) > 1:
            names = ", ".join(shown(str(store.path), 4096) for store in stores_of_path[:NAMED]) + _more(len(stores_of_path))
            raise CommandError(f"{shown(str(path), 4096)} holds {len(stores_of_path)} stores: name one of them ({names}).")
        path, format_name = stores_of_path[0].path, stores_of_path[0].format or None
    return _chosen(str(path), visible(places.real(path)), read_store(path, format_name), picked, traces)


def _chosen(path: str, real: str, store: Store, picked: str | None, traces: Sequence[Traces]) -> Target:
    format_ = store.format
    stored_by_oid = {short_id(real, format_.name, stored.conversation.native_id): stored for stored in store.conversations}
    by_native_id = {stored.conversation.native_id: stored.conversation for stored in store.conversations}
    now = store.origin.read_at if store.origin else int(timezone.now().timestamp() * 1000)
    traces = [*traces, *([store.traces] if store.traces else [])]
    deployed = judges_of(format_, store.origin)
    native_ids = frozenset(by_native_id)
    chosen = tuple(
        Chosen(
            oid,
            stored,
            format_,
            trace_of(traces, stored.conversation.native_id),
            now,
            deployed[0],
            *own_judges(stored.conversation, *deployed[1:]),
            None,
            by_native_id.get(stored.conversation.fact("compactedFrom") or ""),
            bundle.bleeding(stored.conversation) or format_.bleeding(stored.conversation.native_id, by_native_id),
            native_ids,
        )
        for oid, stored in (stored_by_oid if picked is None else _picked(stored_by_oid, picked, place(path))).items()
    )
    return Target(path, format_.name, chosen, tuple((problem.where, problem.reason) for problem in store.problems))


def _picked(stored_by_oid: Mapping[str, Stored], picked: str, path: Place) -> dict[str, Stored]:
    """The one conversation that `picked` names. Raises CommandError."""
    ids = {oid: stored.conversation.native_id for oid, stored in stored_by_oid.items()}
    exact = [oid for oid, native_id in ids.items() if picked in (oid, native_id)]
    oids = exact or [oid for oid, native_id in ids.items() if picked and (native_id.startswith(picked) or oid.startswith(picked.lower()))]
    if len(oids) != 1:
        raise _not_one(path, picked, [ids[oid] for oid in oids], [*ids.values()])
    return {oids[0]: stored_by_oid[oids[0]]}


def _native_id_of(where: Dsn, format_: Format, picked: str) -> str:
    """The native id that `picked` names: it itself, or ours or the start of it. Raises CommandError."""
    ids = stores.native_ids(where, format_)
    if picked in ids:
        return picked
    # A number that no conversation has must not open another one, whose id of ours happens to start with it.
    may_be_ours = picked and (not picked.isdecimal() or len(picked) == len(short_id("")))
    native_ids = [name for name in ids if may_be_ours and short_id(where.name, format_.name, name).startswith(picked.lower())]
    if len(native_ids) != 1:
        raise _not_one(where, picked, native_ids, ids)
    return native_ids[0]


def _not_one(where: Place, picked: str, native_ids: Sequence[str], all_ids: Sequence[str]) -> CommandError:
    what = f"{len(native_ids)} conversations whose id starts with" if native_ids else "no conversation"
    ids = _listed(native_ids or all_ids)
    return CommandError(f"{shown(str(where), 4096)} holds {what} {shown(picked)!r}; it holds {ids}: write one of these ids.")


def _of_row(row: models.Conversation, format_name: str | None, picked: str | None, traces: Sequence[Traces]) -> Target:
    source, stored = row.source, loading.stored(row)
    native_id = stored.conversation.native_id
    if format_name not in (None, source.format):
        raise CommandError(f"Conversation {row.oid} was imported as {source.format}: leave --format out, or name the path of its store.")
    if picked is not None and not (native_id.startswith(picked) or row.oid.startswith(picked.lower())):
        raise CommandError(f"TARGET already names conversation {row.oid}: leave --conversation out, or name the path of its store.")
    trace = trace_of(traces, native_id) if traces else loading.trace(row, native_id)
    taken_at = int(source.read_at.timestamp() * 1000)
    format_, content = loading.format_of(source), stored.conversation
    archive, bleeding = loading.archive(source, content), bundle.bleeding(content) or format_.bleeding(native_id, loading.ids_of(source))
    judges = own_judges(content, source.projection, source.profile)
    chosen = Chosen(row.oid, stored, format_, trace, taken_at, source.reader, *judges, row, archive, bleeding)
    problems = tuple((problem["where"], problem["reason"]) for problem in source.problems)
    return Target(source.path, source.format, (chosen,), problems)


def _listed(native_ids: Sequence[str]) -> str:
    count = len(native_ids)
    if not count:
        return "no conversations"
    # One that names its file, since another file has the same id, is told apart at its end.
    named = ", ".join(shown(native_id, 200) for native_id in native_ids[:NAMED])
    return f"{count} conversation{'s' if count > 1 else ''} ({named}{_more(count)})"


def _more(count: int) -> str:
    return f" and {count - NAMED} more" if count > NAMED else ""


def sources_named(names: Sequence[str]) -> list[str]:
    """Paths to import: those that are given, and for an id the path that its conversation came from. Raises CommandError, Missing."""
    paths: list[str] = []
    for name in names:
        if name == PIPE:
            raise CommandError("What comes through a pipe has no path to be known by: save it to a file and import that.")
        if places.exists(place(name)):
            paths.append(name)
        elif _looks_like_a_path(name):
            raise Missing(Path(name))
        else:
            paths.append(_imported_path(name))
    return list(dict.fromkeys(paths))


def folder_around(name: str) -> models.Source | None:
    """The imported folder whose conversations are in this file or folder, None where the path is a source of its own or belongs to none.

    As two sources, each of these conversations would be counted and listed twice.
    """
    where = place(name)
    if isinstance(where, Dsn) or not places.exists(where):
        return None
    real = Path(places.real(where))
    folders = {models.Source.oid_of(visible(str(path))): path for path in (real, *real.parents)}
    sources = {source.oid: source for source in models.Source.objects.filter(oid__in=folders, is_trace=False)}
    oid = next((oid for oid in folders if oid in sources), None)
    if oid is None or folders[oid] == real:
        return None
    return sources[oid] if records_in(sources[oid], visible(str(real))).exists() else None


def overlap_notes(source: models.Source) -> Iterator[str]:
    """What the command that imported it says of sources inside or around it."""
    for overlap in overlapping(source):
        yield f"{overlap.sentence} Remove one of both on its page: /sources/{overlap.inner.oid}/remove/ says what goes with the part."


def _imported_path(name: str) -> str:
    try:
        return imported(name).source.path
    except CommandError:
        stream = _imported_stream(name)
        if stream is None:
            raise
        return stream.source.path
