"""Loads stores, traces and captures into the models. Every target is recognized before the first row is written; conversations are then read and written one after the other."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import Length
from django.utils import timezone

import inspector
from inspector import bundle
from inspector.access.context import unlimited
from inspector.access.permits import acts
from inspector.actions import audit, import_streams
from inspector.actions.examining import examine
from inspector.actions.import_store import Imported, Part, Report, StoreImport
from inspector.actions.import_streams import PreparedCaptures
from inspector.actions.own_database import refuse_own_database
from inspector.actions.problems import Refused
from inspector.actions.revisions import BATCH
from inspector.actions.verification import verify_source
from inspector.checking import known_judges
from inspector.models import Conversation, Payload, Source, Tombstone, TraceRecord, counting, loading, news, outbox
from inspector.models.identity import LONGEST, indexed, native_hash
from inspector.models.transactions import many_rows, one_writer
from inspector.presentation.conversation import work
from inspector.presentation.visible import visible
from inspector.programs.registry import programs
from inspector.programs.sealed import SUFFIX, is_sealed
from inspector.sources import places, reach, reading, unchanged, workers
from inspector.sources.captures import Captures
from inspector.sources.dsn import Dsn, Place
from inspector.sources.opening import TRIES
from inspector.sources.places import place, real
from inspector.sources.problems import NOT_OPENED, Changing, NotShown, SourceProblem
from inspector.sources.reading import Content, Server, Store, Traces, read
from inspector.sources.stores import native_ids
from inspector.sources.streaming import OpenStore
from inspector.sources.workers import WorkerLost, Workers
from inspector.traces import model as traces
from inspector.traces.bodies import Body

LEAST_FOR_WORKERS = 8 << 20
"""Bytes of a store that are worth the start of worker processes."""
EXAMINED_AT_ONCE = 50
PROBLEMS_KEPT = 50
FROM_KEPT = 200
SEALED_KEPT = 500
_FIELDS = ("extension_id", "name", "message", "level", "span_id", "parent_span_id", "duration_ms", "status", "turn_id")


@dataclass(eq=False)
class AnotherFormat(SourceProblem):
    """A path that is known as something else."""

    recorded: str
    detected: str
    template = (
        "{place} is known as {recorded}, and holds {detected} now: give the new file another name, "
        "so that what was read before stays what it is."
    )


@dataclass(eq=False)
class BeingRemoved(SourceProblem):
    """A source that somebody removes."""

    template = "{place} is being removed from Inspector: wait until that is done, and import it again."


@dataclass(eq=False)
class NoTraces(SourceProblem):
    """A store where traces were named."""

    format: str
    template = "{place} holds conversations ({format}), no traces: name it as a target of its own, without --traces."


@acts("import", of=lambda paths: [_imported_from(path) for path in paths])
def import_targets(
    paths: Sequence[str],
    operator: str,
    format_name: str | None = None,
    demo: bool = False,
    came_from: str | None = None,
    as_traces: Sequence[str] = (),
    only: str = "",
    report: Report = lambda progress: None,
    part: Part | None = None,
    processes: int | None = None,
    is_watched: bool = False,
) -> list[Imported]:
    """Imports every path; none where one cannot be read as anything. Captures are tied to nothing. Traces belong to the stores of the same call, and else to every store that knows one of their ids.

    Conversations are read, judged and written one after the other. An import that ends early leaves those that it wrote, and the next one goes on after them;
    what a store does not have any more is only known once all of it was read. `came_from` says where the files were copied from; None keeps the previous text.
    `as_traces` are those of `paths` that must be traces. `only`: of a database server this conversation alone, so that one of many thousands is repaired without
    the others being read. `report` is called after each conversation.

    `part`: of each store these conversations alone, for one of several processes; an import of all then follows, which finds them written and does what
    belongs to the store as a whole. `processes`: how many read and judge, by default one for each processor. `is_watched`: nobody asked for it but a switch,
    which the audit log has; it gets no line of its own. Raises SourceProblem, UnknownFormat, Refused.
    """
    for path in paths:
        refuse_own_database(place(path))
    packages = ("inspector", *(program.package for program in programs()))
    stamps = {path: unchanged.stamp(where, format_name, packages) for path in paths if isinstance(where := place(path), Path)}
    with ExitStack() as stack:
        contents = [
            # A format that is named is that of the stores: traces are what they are.
            read(place(path), None)
            if path in as_traces
            else stack.enter_context(_opened(place(path), format_name, only, stamps.get(path, "")))
            for path in paths
        ]
        for path, content in zip(paths, contents, strict=True):
            if path in as_traces and isinstance(content, Store):
                raise NoTraces(place(path), content.format.name)
        ready = [import_streams.prepared(content) if isinstance(content, Captures) else content for content in contents]
        with one_writer():
            done = [_begun(content, demo) for content in ready]
            touched = _attach([imported.source for imported in done])
        with _workers(contents, processes) as pool, many_rows():
            stores = [
                _import_store(imported, content, only, report, pool, part)
                for imported, content in zip(done, ready, strict=True)
                if isinstance(content, Store | OpenStore | Server)
            ]
    with one_writer():
        for store in stores:
            store.imported.gone = store.mark_gone()
    if part is not None:
        return done
    for imported in done:
        if not imported.source.is_trace:
            touched |= _not_judged(imported.source)
    examine_all(touched)
    with one_writer():
        for path, imported in zip(paths, done, strict=True):
            # What may be read depends on who reads.
            imported.source.stamp = "" if imported.source.is_trace or is_part(imported.source) else stamps.get(path, "")
            if came_from is not None:
                imported.source.came_from = visible(" ".join(came_from.split()))[:FROM_KEPT]
            is_last = Source.objects.filter(pk=imported.source.pk, read_at=imported.source.read_at).exists()
            # An import that began later may have read other files than this one.
            imported.source.save(update_fields=["stamp", "came_from"] if is_last else ["came_from"])
            counting.renew(list(counting.misplaced(imported.source).values_list("pk", flat=True)))
            # Captures name their streams as well; the lines of other imports stay as they were.
            counts: dict[str, Any] = {"conversations": imported.conversations, "records": imported.records}
            counts |= {"streams": imported.streams} if imported.source.is_capture else {}
            if not is_watched:
                audit.record(operator, "import", source_path=imported.source.path, **counts)
            outbox.release(imported.source.oid)
    for imported in done:
        verify_source(imported.source, operator)
    return done


def is_part(source: Source) -> bool:
    """Whether something of it was not opened, so that what it lacks may be there."""
    return any(problem["where"] == NOT_OPENED for problem in source.problems)


def _imported_from(path: str) -> Source | None:
    """None of a place that is not imported, or not one that may be seen: that takes an admin of all."""
    return Source.objects.filter(oid=Source.oid_of(visible(real(place(path))))).first()


@contextmanager
def _workers(contents: Sequence[object], processes: int | None) -> Iterator[Workers]:
    """As many as there are processors; none where starting them takes as long as the work. Raises Refused where one of them is lost."""
    size = sum(content.size for content in contents if isinstance(content, OpenStore))
    if processes is None:
        processes = workers.processors() if size >= LEAST_FOR_WORKERS else 0
    try:
        with Workers(work.answer, processes) as pool:
            yield pool
    except WorkerLost as lost:
        ended = f"by signal {-lost.code}" if lost.code and lost.code < 0 else f"with status {lost.code}"
        raise Refused(
            f"A process that reads conversations was ended {ended}, most often because memory ran out. "
            "What was imported before stays: free some memory and import again, which goes on after it."
        ) from None


def _import_store(
    imported: Imported, store: Store | OpenStore | Server, only: str, report: Report, pool: Workers, part: Part | None
) -> StoreImport:
    problems = store.problems if isinstance(store, Store | OpenStore) else ()
    # Next to the conversations, since it takes a sixth of their time; within a limit only this process knows what may be opened.
    is_checked = part is None and isinstance(store, OpenStore) and not reach.is_limited()
    check = pool.submit(work.Check(Path(str(store.path)).resolve())) if is_checked else None
    tries_left = TRIES if isinstance(store, OpenStore) else 1
    with ExitStack() as stack:
        while True:
            result = StoreImport(imported, store, only if isinstance(store.path, Dsn) else "", report, part)
            try:
                result.run(pool)
                break
            except Changing:
                # What was written of one state stays; of the next one only what differs is read again.
                tries_left -= 1
                if not tries_left or isinstance(store, Server):
                    raise
                stack.close()
                reopened = stack.enter_context(reading.opened(store.path, store.format.name))
                assert isinstance(reopened, OpenStore)
                store = reopened
        if isinstance(store, OpenStore) and part is None:
            problems = ((check.result() if check else None) or reading.damage(store.path)) + problems
    if part is not None:
        return result
    imported.problems = len(problems)
    imported.source.problems = [asdict(problem) for problem in problems[:PROBLEMS_KEPT]]
    with one_writer():
        imported.source.save(update_fields=["problems"])
    return result


def _not_judged(source: Source) -> set[int]:
    """Conversations of which what is around them is in the database only now: what they were compacted from, or their traces."""
    present = source.conversations.filter(is_gone=False)
    return set(present.filter(Q(verdict="") | ~Q(judged_by=inspector.__version__)).values_list("pk", flat=True))


def examine_all(touched: set[int]) -> None:
    ids: dict[int, list[str]] = {}
    pks = sorted(touched)
    for start in range(0, len(pks), EXAMINED_AT_ONCE):
        with one_writer():
            for conversation in Conversation.objects.filter(pk__in=pks[start : start + EXAMINED_AT_ONCE]).select_related("source"):
                if conversation.source_id not in ids:
                    ids[conversation.source_id] = loading.ids_of(conversation.source)
                examine(conversation, ids=ids[conversation.source_id])
            for source_pk in ids:
                news.changes(source_pk)


@dataclass(frozen=True)
class Unchanged:
    """A source whose files are those of its last import."""

    source: Source
    path: Place


@contextmanager
def _opened(where: Place, format_name: str | None, only: str, stamp: str) -> Iterator[Content | OpenStore | Server | Unchanged]:
    """What a place holds, opened only where its files, the code and the format that is named are not those of its last import."""
    if only and isinstance(where, Dsn):
        yield _one_of(where, format_name, only)
        return
    source = Source.objects.filter(oid=Source.oid_of(visible(places.real(where))), stamp=stamp).first() if stamp else None
    if (
        source is None
        or is_sealed(source.format)
        or source.conversations.filter(is_gone=False).exclude(judged_by=inspector.__version__).exists()
    ):
        with reading.opened(where, format_name) as content:
            yield content
    else:
        yield Unchanged(source, where)


def _begun(content: Store | OpenStore | Server | Traces | PreparedCaptures | Unchanged, demo: bool) -> Imported:
    """The source of a target; of one without conversations that are to be read, all of it is written."""
    if isinstance(content, Unchanged):
        source = _source(content.path, content.source.format, False, demo)
        source.save()
        present = source.conversations.filter(is_gone=False).aggregate(count=Count("pk"), chunks=Sum("chunk_count"))
        return Imported(source, present["count"], present["chunks"] or 0, present["count"], problems=len(source.problems))
    if isinstance(content, Store | OpenStore | Server):
        return _begun_store(content, demo)
    if isinstance(content, Traces):
        return _import_traces(content, demo)
    source = _source(content.captures.path, content.captures.kind, True, demo)
    streams, same_count, gone_count = import_streams.write(source, content)
    return Imported(source, streams=streams, unchanged=same_count, gone=gone_count, problems=len(content.captures.problems))


def _one_of(where: Dsn, format_name: str | None, native_id: str) -> Store:
    format_ = reading.format_of(where, format_name)
    stored = reading.read_one(where, format_, native_id)
    return Store(where, format_, () if stored is None else (stored,))


@unlimited
def import_after_write(path: str, operator: str, native_id: str) -> None:
    """Shows what a write to a conversation left. A store that cannot be read at this moment is imported the next time somebody asks for it."""
    with suppress(SourceProblem):
        format_name = Source.objects.get(oid=Source.oid_of(visible(path))).format
        import_targets([path], operator, format_name, only=native_id)


def _source(path: Place, format_name: str, is_trace: bool, demo: bool) -> Source:
    real = places.real(path)
    if visible(real) != real:
        raise NotShown(path)
    source, is_new = Source.objects.get_or_create(
        oid=Source.oid_of(real), defaults={"path": real, "read_at": timezone.now(), "format": format_name, "is_trace": is_trace}
    )
    if source.removed_by:
        raise BeingRemoved(path)
    if not is_new and (source.format, source.is_trace) != (format_name, is_trace):
        raise AnotherFormat(path, source.format, format_name)
    source.read_at = timezone.now()
    source.is_demo = source.is_demo or demo
    written = places.written_at(path)
    source.written_at = None if written is None else datetime.fromtimestamp(written, UTC)
    return source


def _begun_store(store: Store | OpenStore | Server, demo: bool) -> Imported:
    source = _source(store.path, store.format.name, False, demo)
    origin = store.origin if isinstance(store, Store) else None
    if origin:
        _say_origin(source, origin)
    source.reader = source.reader or store.format.default_reader
    source.projection = source.projection or store.format.default_projection
    source.profile = source.profile or store.format.default_profile
    source.stamp = ""
    if source.is_demo and not demo and _is_another(source, store):
        # Another store is where the demo's was: the pages may not write to that one at once.
        source.is_demo = False
    source.save()
    imported = Imported(source)
    if isinstance(store, Store) and origin:
        imported.records = _import_own_traces(source, store.traces)
    return imported


def _is_another(source: Source, store: Store | OpenStore | Server) -> bool:
    """Whether the store has none of the conversations that the source had."""
    names = set(source.conversations.values_list("native_id", flat=True))
    return bool(names) and names.isdisjoint(map(visible, _native_ids_in(store)))


def _native_ids_in(store: Store | OpenStore | Server) -> Iterable[str]:
    if isinstance(store, Server):
        return native_ids(store.path, store.format)
    if isinstance(store, OpenStore):
        return (listed.native_id for listed in store.listed)
    return (stored.conversation.native_id for stored in store.conversations)


def _say_origin(source: Source, origin: bundle.BundleOrigin) -> None:
    """A bundle is judged as it was where it was sealed: at the same time (whether a turn runs), and by the same reader unless one is chosen here."""
    source.read_at = datetime.fromtimestamp(origin.read_at / 1000, UTC)
    # When the zip was written says nothing of the store.
    source.written_at = None
    reader, source.projection, source.profile = known_judges(origin)
    source.reader = source.reader or reader
    masked = ", with secrets masked: masked texts are not the stored bytes" if origin.masked else ""
    path, tool = (visible(" ".join(text.split()))[:SEALED_KEPT] for text in (origin.path, origin.tool))
    source.sealed = f"sealed from {path} ({origin.format}), which was read at {source.read_at:%Y-%m-%d %H:%M:%S} UTC by {tool}{masked}"


def _import_own_traces(source: Source, own_traces: Traces | None) -> int:
    """The bundle is its own trace source. Another bundle at the same path brings another trace: nothing of the old one stays."""
    source.trace_records.all().delete()
    source.traces.clear()
    if own_traces is None:
        _count_traces(source)
        return 0
    source.traces.add(source)
    _write_traces(source, own_traces)
    return len(own_traces.records)


def _import_traces(content: Traces, demo: bool) -> Imported:
    source = _source(content.path, content.format, True, demo)
    source.problems = [asdict(problem) for problem in content.problems[:PROBLEMS_KEPT]]
    source.save()
    _write_traces(source, content)
    return Imported(source, records=len(content.records), problems=len(content.problems))


def _write_traces(source: Source, content: Traces) -> None:
    purged = set(Tombstone.objects.filter(kind=Tombstone.Kind.CONVERSATION, is_import_allowed=False).values_list("native", flat=True))
    records = [record for record in content.records if not purged or native_hash(record.conversation_id) not in purged]
    bodies = list(content.bodies.values())
    if len(records) < len(content.records):
        used = {record.body for record in records}
        bodies = [body for body in bodies if body.name in used]
    Payload.objects.bulk_create(map(_body, bodies), ignore_conflicts=True, batch_size=200)
    TraceRecord.objects.bulk_create((_trace_record(source, record) for record in records), ignore_conflicts=True, batch_size=BATCH)
    _count_traces(source)


def _count_traces(source: Source) -> None:
    before, source.trace_record_count = source.trace_record_count, source.trace_records.count()
    source.save(update_fields=["trace_record_count"])
    if source.trace_record_count != before:
        news.changes(source.pk)


def _body(body: Body) -> Payload:
    return Payload(digest=body.name, data=body.data, gzipped=body.compressed, size=body.size)


def _trace_record(source: Source, record: traces.TraceRecord) -> TraceRecord:
    fields: dict[str, Any] = {name: getattr(record, name) for name in _FIELDS}
    return TraceRecord(
        source=source,
        record_id=visible(record.id)[:64],
        kind=visible(record.kind)[:20],
        timestamp=record.timestamp,
        order=record.order,
        conversation_id=indexed(record.conversation_id),
        turn_id=visible(record.turn_id),
        body=record.body,
        fields={**fields, "attributes": dict(record.attributes), "links": [dict(link) for link in record.links]},
    )


def _attach(sources: Iterable[Source]) -> set[int]:
    """Ties traces to stores; returns the conversations that now have another trace."""
    sources = list(sources)
    stores = [source for source in sources if not source.is_trace and not is_sealed(source.format)]
    touched: set[int] = set()
    for source in sources:
        if not source.is_trace or source.is_capture:
            continue
        ids = _native_ids(source)
        matching = Conversation.objects.filter(native_id__in=ids) if len(ids) < 30000 else Conversation.objects.all()
        # A bundle is sealed with the trace that was known; what is imported later is no part of it.
        knowing = Source.objects.filter(pk__in=matching.values_list("source_id", flat=True)).exclude(format__endswith=SUFFIX)
        for store in stores or knowing:
            store.traces.add(source)
        touched |= set(matching.filter(source__in=source.stores.all()).values_list("pk", flat=True))
    return touched


def _native_ids(source: Source) -> set[str]:
    """Of the conversations that its trace records name; the longest are known there by their hash only."""
    ids = set(source.trace_records.exclude(conversation_id="").values_list("conversation_id", flat=True))
    long = Conversation.objects.annotate(length=Length("native_id")).filter(length__gt=LONGEST // 4).values_list("native_id", flat=True)
    return ids | {native_id for native_id in long if indexed(native_id) in ids}
