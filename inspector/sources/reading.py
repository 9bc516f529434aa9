"""A path as what it holds: a store's conversations, or a trace source's records. The whole of it is read before anybody uses any of it."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

from inspector import bundle
from inspector.presentation.visible import visible
from inspector.programs import not_read
from inspector.programs.catalogue import FORMATS, format_named, sealed_as
from inspector.programs.formats import (
    UNREAD,
    Exported,
    Format,
    InFiles,
    InRelations,
    InRows,
    KnowsKeys,
    LeavesFiles,
    Listed,
    Shape,
    Stored,
    read_listed,
    unread,
)
from inspector.programs.registry import wire_of
from inspector.programs.sealed import is_sealed
from inspector.sources import bundles, captures, clusters, files, folders, postgres, sqlite, stores, streaming, table_rows
from inspector.sources.captures import Captures
from inspector.sources.dsn import Dsn, Place
from inspector.sources.postgres_problems import OffSearchPath
from inspector.sources.problems import (
    DATABASES,
    NOT_OPENED,
    THE_FILE,
    Empty,
    LargeValue,
    NotAFile,
    NotReadable,
    SourceProblem,
    TooLarge,
    shown,
)
from inspector.sources.streaming import OpenStore
from inspector.streams.captures.base import CaptureKind
from inspector.streams.captures.catalogue import kind_named
from inspector.text import limits
from inspector.traces import dispatch as dispatch_traces
from inspector.traces.bodies import Body, plain
from inspector.traces.model import Problem, Report, TraceRecord
from inspector.wires import detection as request_detection
from inspector.wires import layout as request_layout
from inspector.wires.layout import NotARequest

TRACE_FORMATS = (dispatch_traces.NAME, dispatch_traces.JOURNAL)
THE_KEYS, UNREAD_FILES = "its keys", "files next to the sessions"
SURE = 0.5
"""How sure a format must be of a folder that holds something else too: below that it goes by how the name of a file ends."""
_NAMED, _LOOKED_AT = 5, 50
"""The place of a problem in a store: records of which the format knows no meaning, and files that it does not read."""


@dataclass(eq=False)
class NotRecognized(SourceProblem):
    """A file that is none of the shapes we know."""

    tables: tuple[str, ...] = ()
    unread: SourceProblem | None = None
    """Why a file of a folder is not read, which may be what it is a folder of."""

    @property
    def sentence(self) -> str:
        return self.unread.sentence if self.unread else f"{self.what}: `formats` lists what it reads, --format NAME forces one."

    @property
    def what(self) -> str:
        """Without what to do at a terminal, for a page."""
        tables = f" (its tables: {shown(', '.join(self.tables))})" if self.tables else ""
        return f"{self.place} is no store, request body, trace database, journal or capture of a stream that Inspector knows{tables}"


class EmptyFolder(SourceProblem):
    template = "{place} is a folder without a file: name the folder that the program really writes to."


@dataclass(eq=False)
class NotReadYet(SourceProblem):
    """A store of a program that is known."""

    what: str
    why: str = field(init=False)
    template = "{place} holds {what}, {why}."
    text_limit = 1000

    def __post_init__(self) -> None:
        self.why = not_read.why(self.what)


@dataclass(eq=False)
class OnlyCopies(SourceProblem):
    """A folder of sessions that are all gone."""

    kinds: str
    template = "{place} holds no session, only copies that its program set aside ({kinds}): name one of them by its path to read it."
    text_limit = 1000


@dataclass(eq=False)
class FolderOfCaptures(SourceProblem):
    """Captures are named one by one: each is evidence of its own."""

    names: tuple[str, ...]

    @property
    def sentence(self) -> str:
        named = ", ".join(shown(name) for name in self.names[:_NAMED]) + (", …" if len(self.names) > _NAMED else "")
        return f"{self.place} is a folder with captures of streams ({named}): name one of these files; scan takes the folder, and import_source several files at once."


@dataclass(eq=False)
class OtherShape(SourceProblem):
    """A file that is not of the format that was named."""

    format: str = ""
    template = "{place} is not of the format {format}: leave --format out, and it is detected."


@dataclass(eq=False)
class NoRequest(SourceProblem):
    """JSON that is no request body, or whose shape cannot be detected; `what` is `reason` without what to do at a terminal, for a page."""

    reason: str
    what: str
    template = "{place} {reason}"
    text_limit = 1000


@dataclass(eq=False)
class SharedId(SourceProblem):
    """Two conversations of a folder for which a format has one id."""

    native_id: str
    keys: tuple[str, ...]

    @property
    def sentence(self) -> str:
        files = " and ".join(shown(key) for key in self.keys)
        return f"{self.place} holds two conversations with the id {shown(self.native_id)} ({files}), which its format does not distinguish: name one of the files."


@dataclass(eq=False)
class NotAStore(SourceProblem):
    """A trace source where a store is wanted."""

    format: str = ""
    template = "{place} holds traces ({format}), no conversations: name the store, and this file with --traces."


@dataclass(eq=False)
class ACapture(SourceProblem):
    """A capture of streams where a store is wanted; who takes captures as well finds them here."""

    captures: Captures

    @property
    def sentence(self) -> str:
        kind = self.captures.kind
        return f"{self.place} holds captured streams ({kind}), no conversations: scan, show, repair and import_source take it, and --traces next to a store."


@dataclass(frozen=True, slots=True)
class Store:
    """`problems`: what SQLite's own check says of the file (where it finds damage, rows may be missing without a trace), and unknown keys.

    `origin` and `traces` are those of an evidence bundle, which brings its own along.
    """

    path: Place
    format: Format
    conversations: tuple[Stored, ...]
    problems: tuple[Problem, ...] = ()
    origin: bundle.BundleOrigin | None = None
    traces: "Traces | None" = None


@dataclass(frozen=True, slots=True)
class Traces:
    """`files` are those that were read: a journal brings the generation before it (`.1`) along."""

    path: Path
    format: str
    records: tuple[TraceRecord, ...]
    bodies: dict[str, Body]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Server:
    """A database server, whose conversations come one by one from `streamed`."""

    path: Dsn
    format: Format


Content = Store | Traces | Captures
"""What a path holds, read to its end."""


def read(path: Place, format_name: str | None = None) -> Content:
    """Detects the shape (unless named) and reads it: formats win over traces, and both over captures. Raises SourceProblem, UnknownFormat."""
    what = _recognized(path, format_name)
    if not callable(what):
        if isinstance(path, Dsn):
            return Store(path, what, tuple(streamed(path, what)))
        return _store(path, what, check=True)
    return what()


@contextmanager
def opened(path: Place, format_name: str | None = None) -> Iterator[Content | OpenStore | Server]:
    """As `read`; but a store whose format can be read one conversation after the other is only opened: its conversations are read when they are asked for.

    Nothing but the whole of it says what SQLite's own check finds (see `damage`). Raises SourceProblem, UnknownFormat.
    """
    what = _recognized(path, format_name)
    if callable(what):
        yield what()
    elif isinstance(path, Dsn):
        yield Server(path, what)
    elif streaming.is_streamed(what):
        with streaming.opened(path, what, True, THE_KEYS) as store:
            problems = (*store.problems, *_unread(path, what))
            _refuse_shared_ids(path, store.listed)
            yield replace(store, problems=problems)
    else:
        yield _store(path, what, check=True)


def damage(path: Place) -> tuple[Problem, ...]:
    """What SQLite's own check says of a database, () of anything else: where it finds damage, rows may be missing without a trace. Raises SourceProblem."""
    if isinstance(path, Dsn) or folders.is_folder(path) or not sqlite.identify(path).tables:
        return ()
    return tuple(Problem(THE_FILE, text) for text in sqlite.reread(path, sqlite.Snapshot.damage))


def _recognized(path: Place, format_name: str | None) -> "Format | Callable[[], Traces | Captures]":
    """The format of a store, or what reads anything else. Raises SourceProblem, UnknownFormat."""
    if format_name in captures.NAMES:
        if isinstance(path, Dsn):
            raise stores.NotServed(path)
        return partial(captures.read, path, kind_named(format_name))
    if format_name not in (None, *TRACE_FORMATS) and isinstance(path, Path) and folders.is_folder(path):
        # The first bytes of its files say nothing that is asked.
        clusters.refuse(path)
        return format_named(format_name)
    shape = stores.identify(path)
    if format_name is None:
        scores: list[tuple[float, str]] = [(format_.sniff(shape), format_.name) for format_ in FORMATS]
        scores += [(dispatch_traces.sniff(shape), dispatch_traces.NAME), (dispatch_traces.sniff_journal(shape), dispatch_traces.JOURNAL)]
        score, format_name = max(scores)
        if score > 0 and format_name not in TRACE_FORMATS and reads_nothing(path, shape, format_named(format_name)):
            score, format_name = max(entry for entry in scores if entry[1] != format_name)
        if score <= 0:
            if isinstance(path, Dsn):
                raise _strange(path, shape)
            other = _request_or_capture(path, shape)
            if isinstance(other, CaptureKind):
                return partial(captures.read, path, other)
            format_name = other
    if isinstance(path, Path) and format_name == dispatch_traces.NAME:
        if "records" not in shape.tables:
            raise OtherShape(path, format_name)
        return partial(_traces, path)
    if isinstance(path, Path) and format_name == dispatch_traces.JOURNAL:
        if shape.tables or shape.head.startswith(b"SQLite format 3"):
            raise OtherShape(path, format_name)
        return partial(_journal, path)
    return format_named(format_name)


def reads_nothing(path: Place, shape: Shape, format_: Format) -> bool:
    """Whether a folder was taken for an export by how the name of a file in it ends, and that holds no row of one: then the other files say what it is."""
    if not isinstance(format_, Exported) or format_.sniff(shape) >= SURE or all(map(format_.wants, shape.files)):
        return False
    assert isinstance(path, Path)
    try:
        stores.unpacked(path, format_)
    except stores.OfAnother:
        return True
    except SourceProblem:
        # Whoever reads it is told why it cannot be read.
        pass
    return False


def read_store(path: Place, format_name: str | None = None) -> Store:
    """As `read`, where only a store will do. Raises SourceProblem."""
    content = read(path, format_name)
    refuse_other(path, content)
    assert isinstance(content, Store)
    return content


def refuse_other(path: Place, content: Content | OpenStore | Server) -> None:
    """Raises NotAStore, ACapture."""
    if isinstance(content, Traces):
        raise NotAStore(path, content.format)
    if isinstance(content, Captures):
        raise ACapture(path, content)


def read_one(path: Place, format_: Format, native_id: str) -> Stored | None:
    """One conversation as the store holds it now; None where it is gone. Raises SourceProblem."""
    if isinstance(path, Dsn):
        with closing(streamed(path, format_, native_id)) as conversations:
            return next(conversations, None)
    present = _store(path, format_).conversations
    exact = next((stored for stored in present if stored.conversation.native_id == native_id), None)
    # Our database has ids as they are shown: one that names its file may hold what is not.
    alike = [] if exact else [stored for stored in present if visible(stored.conversation.native_id) == native_id]
    if exact is None and len(alike) != 1 and isinstance(format_, InFiles):
        for problem in folders.unseen(path, format_.wants):
            # It may be there.
            raise problem
    return exact or (alike[0] if len(alike) == 1 else None)


def format_of(path: Dsn, format_name: str | None = None) -> Format:
    """The format of what a server holds. Raises NotRecognized, UnknownFormat and other SourceProblem."""
    if format_name is not None:
        return format_named(format_name)
    shape = stores.identify(path)
    score, name = max((format_.sniff(shape), format_.name) for format_ in FORMATS)
    if score <= 0:
        raise _strange(path, shape)
    return format_named(name)


def _strange(path: Dsn, shape: Shape) -> SourceProblem:
    """What to say of a database in which a plain name finds no table that we know."""
    table_names = {relation.name for format_ in FORMATS if isinstance(format_, InRelations) for relation in format_.relations}
    schemas = postgres.schemas_with(path, table_names)
    return OffSearchPath(path, schemas) if schemas else NotRecognized(path, tuple(shape.tables))


def streamed(path: Dsn, format_: Format, native_id: str | None = None) -> Generator[Stored]:
    """The conversations of a server one by one, of one only where it is named. Raises SourceProblem, in the middle too."""
    with closing(stores.conversations(path, format_, native_id)) as batches:
        for records in batches:
            if records and records[0].key == UNREAD:
                over = limits.reason(f"a value of more than {limits.LARGEST_VALUE >> 20} MB")
                yield read_listed(format_, unread(Listed(records[0].value.data.decode(), "", {}), over), ())
            else:
                yield from format_.read(records)


def _store(path: Path, format_: Format, check: bool = False) -> Store:
    try:
        return _read_at_once(path, format_, check)
    except (LargeValue, NotReadable, TooLarge):
        if isinstance(format_, InRows) and not streaming.is_streamed(format_):
            return sqlite.reread(path, lambda store: _within_limit(path, format_, store, check))
        if not streaming.is_streamed(format_):
            raise
        # One conversation after the other: only that which is over the limit, or may not be read, is not read.
        with streaming.opened(path, format_, check, THE_KEYS) as store:
            problems = (*(damage(path) if check else ()), *store.problems, *_unread(path, format_))
            return Store(path, format_, _distinct(path, map(store.read, store.listed)), problems)


def _read_at_once(path: Path, format_: Format, check: bool) -> Store:
    if is_sealed(format_.name):
        return _bundle(path)
    if isinstance(format_, InRelations):
        raise stores.NotServed(path)
    if wire_of(format_.name) and folders.is_folder(path):
        raise NotAFile(path, "folder")
    if isinstance(format_, InFiles):
        try:
            unpacked = stores.unpacked(path, format_)
            problems = (*(Problem(THE_FILE, text) for text in unpacked.notes), *_unread(path, format_))
            return Store(path, format_, _distinct(path, _informed(path, format_, format_.read(unpacked.records))), problems)
        except NotARequest as problem:
            raise NoRequest(path, problem.reason, problem.what) from None

    def use(store: sqlite.Snapshot) -> Store:
        damage = store.damage() if check else ()
        records = stores.from_snapshot(store, format_)
        strange = format_.unknown(records) if check and isinstance(format_, KnowsKeys) else ()
        problems = (*(Problem(THE_FILE, text) for text in damage), *(Problem(THE_KEYS, text) for text in strange))
        return Store(path, format_, tuple(format_.read(records)), problems)

    return sqlite.reread(path, use)


def _within_limit(path: Path, format_: Format, store: sqlite.Snapshot, check: bool) -> Store:
    """All conversations of a store of rows, without the content of those that have a value over the limit. Raises SourceProblem."""
    assert isinstance(format_, InRows)
    damage = store.damage() if check else ()
    records, over = table_rows.within_limit(store, format_.rows)
    read = [stored for stored in format_.read(records) if stored.conversation.native_id not in over]
    reason = limits.reason(f"a value of more than {limits.LARGEST_VALUE >> 20} MB")
    read += [read_listed(format_, unread(Listed(native_id, "", {}), reason), ()) for native_id in over]
    read.sort(key=lambda stored: stored.conversation.native_id.encode("utf-8", "surrogatepass"))
    return Store(path, format_, tuple(read), tuple(Problem(THE_FILE, text) for text in damage))


def _informed(path: Path, format_: Format, conversations: Iterable[Stored]) -> Iterator[Stored]:
    """With what other files of the folder say of each."""
    for stored in conversations:
        facts = folders.around(path, format_, stored.records)
        own = stored.conversation
        yield replace(stored, conversation=replace(own, facts={**own.facts, **facts})) if facts else stored


def _refuse_shared_ids(path: Path, listed: Iterable[Listed]) -> None:
    """Raises SharedId, as `_distinct`."""
    by_id: dict[str, Listed] = {}
    for conversation in listed:
        other = by_id.setdefault(conversation.native_id, conversation)
        if other is not conversation:
            raise SharedId(path, conversation.native_id, (other.group, conversation.group))


def _distinct(path: Path, conversations: Iterable[Stored]) -> tuple[Stored, ...]:
    """Raises SharedId: of two conversations with one id, every page and command would show one and hide the other."""
    by_id: dict[str, Stored] = {}
    for stored in conversations:
        other = by_id.setdefault(stored.conversation.native_id, stored)
        if other is not stored:
            raise SharedId(path, stored.conversation.native_id, tuple(twin.records[0].key for twin in (other, stored) if twin.records))
    return tuple(by_id.values())


def _unread(path: Path, format_: Format) -> tuple[Problem, ...]:
    """What of a folder is not read: what may not be, and the files next to sessions that are none by their names: what is looked for may be in one of them."""
    if not isinstance(format_, InFiles) or not folders.is_folder(path):
        return ()
    reasons = format_.unread(folders.names(path)) if isinstance(format_, LeavesFiles) else ()
    return (*not_opened(path, format_.wants), *(Problem(UNREAD_FILES, reason) for reason in reasons))


def not_opened(path: Path, wants: Callable[[str], bool]) -> tuple[Problem, ...]:
    """What of a folder may hold sessions and was not opened. Raises SourceProblem."""
    return tuple(Problem(NOT_OPENED, str(problem)) for problem in folders.unseen(path, wants))


def _may_be_a_request(shape: Shape) -> bool:
    """Whether it starts as JSON does, or as what is often saved instead, of which the sentence says what to do."""
    if shape.tables or shape.files:
        return False
    starts_as_json = shape.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    return starts_as_json or request_layout.is_mistaken(shape.head)


def _request_or_capture(path: Path, shape: Shape) -> str | CaptureKind:
    """Raises NotReadYet, NotRecognized, NoRequest and other SourceProblem."""
    if names := captures_within(path, shape):
        raise FolderOfCaptures(path, names)
    if what := not_read.of_shape(shape):
        raise NotReadYet(path, what)
    for format_ in FORMATS:
        if isinstance(format_, LeavesFiles) and (kinds := format_.copies(shape.files)):
            raise OnlyCopies(path, kinds)
    if shape.tables or shape.files:
        raise NotRecognized(path, tuple(shape.tables), _unread_in(path, shape))
    if folders.is_folder(path):
        raise next(folders.unseen(path, lambda key: True), EmptyFolder(path))
    kind = captures.kind_of(captures.of_path(path), path.name)
    if not _may_be_a_request(shape):
        if kind is None:
            raise NotRecognized(path, tuple(shape.tables))
        return kind
    if kind is not None and files.status(path).st_size > request_layout.LIMIT:
        return kind
    try:
        return _request_format(path)
    except NoRequest:
        if kind is None:
            raise
        return kind


def _unread_in(path: Path, shape: Shape) -> SourceProblem | None:
    """Of a folder that is no program's: what may not be read, or a database that cannot be or is not read yet."""
    problems = (problem for problem in folders.unseen(path, lambda key: True) if isinstance(problem, NotReadable))
    return next(chain(problems, (problem for key in shape.files if (problem := _of_database(path / key.partition("/")[2])))), None)


def _of_database(place: Path) -> SourceProblem | None:
    if place.suffix not in DATABASES:
        return None
    try:
        what = not_read.of_shape(stores.identify(place))
    except Empty:
        return None
    except SourceProblem as problem:
        return problem
    return NotReadYet(place, what) if what else None


def captures_in(path: Path) -> Iterator[tuple[str, Captures | SourceProblem]]:
    """The captures in a folder, by the names of their files below it, in the order of these; what is wrong with one that cannot be read. Raises SourceProblem."""
    for key in stores.identify(path).files:
        name = key.partition("/")[2]
        try:
            kind = captures.kind_of(captures.of_path(path / name), name)
            if kind is not None:
                yield name, captures.read(path / name, kind)
        except SourceProblem as problem:
            yield name, problem


def captures_within(path: Path, shape: Shape) -> tuple[str, ...]:
    """Of a folder the files that are captures by their first bytes, as far as its first 50 by name go."""
    below = [name.partition("/")[2] for name in shape.files[:_LOOKED_AT]] if folders.is_folder(path) else []
    return tuple(name for name in below if _is_capture(path / name))


def _is_capture(path: Path) -> bool:
    try:
        return captures.kind_of(captures.of_path(path), path.name) is not None
    except SourceProblem:
        return False


def _request_format(path: Path) -> str:
    """Which wire shape it is, what follows the first bytes may say: a system prompt and tools can be longer than all messages."""
    try:
        return request_detection.format_of(files.read_bytes(path, request_layout.LIMIT))
    except NotARequest as problem:
        raise NoRequest(path, problem.reason, problem.what) from None


def _bundle(path: Path) -> Store:
    """In the format of the bundles of the program that the manifest names."""
    sealed = bundles.open_bundle(path)
    bodies = {name: plain(data) for name, data in sealed.bodies.items()}
    format_ = sealed_as(sealed.origin.format)
    traces = None if sealed.trace is None else Traces(path, format_.name, sealed.trace, bodies, (), (path,))
    return Store(path, format_, sealed.conversations, (), sealed.origin, traces)


def _traces(path: Path) -> Traces:
    def use(store: sqlite.Snapshot) -> Traces:
        return _gather(path, dispatch_traces.NAME, lambda report: dispatch_traces.read_database(store, report), (path,))

    return sqlite.reread(path, use)


def _journal(path: Path) -> Traces:
    before = path.with_name(path.name + ".1")
    parts = (before, path) if files.exists(before) else (path,)

    def observed(report: Report) -> Iterator[dispatch_traces.ObservedRecord]:
        first = 0
        for part in parts:
            yield from dispatch_traces.read_journal(files.lines(part), report, first)
            first += part.stat().st_size

    return _gather(path, dispatch_traces.JOURNAL, observed, parts)


def _gather(
    path: Path, name: str, observed: Callable[[Report], Iterator[dispatch_traces.ObservedRecord]], parts: tuple[Path, ...]
) -> Traces:
    problems: list[Problem] = []
    records: dict[str, TraceRecord] = {}
    bodies: dict[str, Body] = {}
    for record, body in observed(problems.append):
        records.setdefault(record.id, record)
        if body is not None:
            bodies.setdefault(body.name, body)
    return Traces(path, name, tuple(records.values()), bodies, tuple(problems), parts)
