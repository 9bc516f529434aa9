"""Loads stores and traces into the models. A source is read to its end before the first row is written, so nothing is half-imported."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import Length
from django.utils import timezone

import inspector
from inspector import bundle
from inspector.actions import audit, import_streams
from inspector.actions.examining import examine
from inspector.actions.import_streams import PreparedCaptures
from inspector.actions.own_database import refuse_own_database
from inspector.actions.revisions import BATCH, write_revisions
from inspector.actions.seal_bundle import known_judges
from inspector.models import Conversation, Payload, Revision, Source, TraceRecord, loading
from inspector.models.identity import LONGEST, indexed
from inspector.models.transactions import one_writer
from inspector.planning.preview import digest
from inspector.presentation.conversation.revision_content import RevisionContent, revision_content, shared_facts
from inspector.presentation.visible import visible
from inspector.programs.formats import Stored
from inspector.programs.registry import programs
from inspector.sources import places, reading, unchanged
from inspector.sources.captures import Captures
from inspector.sources.dsn import Dsn, Place
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem
from inspector.sources.reading import Store, Traces, read
from inspector.traces import model as traces
from inspector.traces.bodies import Body

PROBLEMS_KEPT = 50
FROM_KEPT = 200
SEALED_KEPT = 500
_FIELDS = ("extension_id", "name", "message", "level", "span_id", "parent_span_id", "duration_ms", "status", "turn_id")


@dataclass
class Imported:
    """What one target brought; `unchanged` counts conversations or streams that are as they were."""

    source: Source
    conversations: int = 0
    chunks: int = 0
    unchanged: int = 0
    gone: int = 0
    records: int = 0
    streams: int = 0
    problems: int = 0
    fresh: dict[str, Stored] = field(default_factory=dict)
    rejudged: dict[str, Stored] = field(default_factory=dict)


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
class NoTraces(SourceProblem):
    """A store where traces were named."""

    format: str
    template = "{place} holds conversations ({format}), no traces: name it as a target of its own, without --traces."


def import_targets(
    paths: Sequence[str],
    operator: str,
    format_name: str | None = None,
    demo: bool = False,
    came_from: str | None = None,
    as_traces: Sequence[str] = (),
    only: str = "",
) -> list[Imported]:
    """Imports every path, or none of them. Captures are tied to nothing. Traces belong to the stores of the same call, and else to every store that knows one of their ids.

    `came_from` says where the files were copied from; None keeps the previous text. `as_traces` are those of `paths` that must be
    traces. `only`: of a database server this conversation alone, so that one of many thousands is repaired without the others being read.
    Raises SourceProblem, UnknownFormat.
    """
    for path in paths:
        refuse_own_database(place(path))
    packages = ("inspector", *(program.package for program in programs()))
    stamps = {path: unchanged.stamp(where, format_name, packages) for path in paths if isinstance(where := place(path), Path)}
    contents = [
        # A format that is named is that of the stores: traces are what they are.
        read(place(path), None) if path in as_traces else _content(place(path), format_name, only, stamps.get(path, ""))
        for path in paths
    ]
    for path, content in zip(paths, contents, strict=True):
        if path in as_traces and isinstance(content, Store):
            raise NoTraces(place(path), content.format.name)
    ready = [import_streams.prepared(content) if isinstance(content, Captures) else content for content in contents]
    with one_writer():
        done = [_imported(content, demo, only) for content in ready]
        for path, imported in zip(paths, done, strict=True):
            if imported.source.stamp != (stamp := "" if imported.source.is_trace else stamps.get(path, "")):
                imported.source.stamp = stamp
                imported.source.save(update_fields=["stamp"])
        if came_from is not None:
            origin = visible(" ".join(came_from.split()))[:FROM_KEPT]
            for imported in done:
                imported.source.came_from = origin
                imported.source.save(update_fields=["came_from"])
        touched = _attach([imported.source for imported in done])
        contents_of = {oid: stored for imported in done for oid, stored in {**imported.rejudged, **imported.fresh}.items()}
        for imported in done:
            if not imported.source.is_trace:
                touched |= set(
                    imported.source.conversations.filter(is_gone=False)
                    .filter(Q(verdict="") | ~Q(judged_by=inspector.__version__))
                    .values_list("pk", flat=True)
                )
        ids: dict[int, list[str]] = {}
        for conversation in Conversation.objects.filter(pk__in=touched).select_related("source").iterator(chunk_size=500):
            if conversation.source_id not in ids:
                ids[conversation.source_id] = loading.ids_of(conversation.source)
            examine(conversation, contents_of.get(conversation.oid), ids[conversation.source_id])
        for imported in done:
            # Captures name their streams as well; the lines of other imports stay as they were.
            counts: dict[str, Any] = {"conversations": imported.conversations, "records": imported.records}
            counts |= {"streams": imported.streams} if imported.source.is_capture else {}
            audit.record(operator, "import", source_path=imported.source.path, **counts)
    return done


@dataclass(frozen=True)
class Unchanged:
    """A source whose files are those of its last import."""

    source: Source
    path: Place


def _content(where: Place, format_name: str | None, only: str, stamp: str) -> Store | Traces | Captures | Unchanged:
    """What a place holds, read only where its files, the code and the format that is named are not those of its last import."""
    if only and isinstance(where, Dsn):
        return _one_of(where, format_name, only)
    source = Source.objects.filter(oid=Source.oid_of(visible(places.real(where))), stamp=stamp).first() if stamp else None
    if (
        source is None
        or source.format == bundle.NAME
        or source.conversations.filter(is_gone=False).exclude(judged_by=inspector.__version__).exists()
    ):
        return read(where, format_name)
    return Unchanged(source, where)


def _imported(content: Store | Traces | PreparedCaptures | Unchanged, demo: bool, only: str) -> Imported:
    if isinstance(content, Unchanged):
        source = _source(content.path, content.source.format, False, demo)
        source.save()
        present = source.conversations.filter(is_gone=False).aggregate(count=Count("pk"), chunks=Sum("chunk_count"))
        return Imported(source, present["count"], present["chunks"] or 0, present["count"], problems=len(source.problems))
    if isinstance(content, Store):
        return _import_store(content, demo, only)
    if isinstance(content, Traces):
        return _import_traces(content, demo)
    source = _source(content.captures.path, content.captures.kind, True, demo)
    streams, same_count, gone_count = import_streams.write(source, content)
    return Imported(source, streams=streams, unchanged=same_count, gone=gone_count, problems=len(content.captures.problems))


def _one_of(where: Dsn, format_name: str | None, native_id: str) -> Store:
    format_ = reading.format_of(where, format_name)
    stored = reading.read_one(where, format_, native_id)
    return Store(where, format_, () if stored is None else (stored,))


def import_after_write(path: str, operator: str, native_id: str) -> None:
    """Shows what a write to a conversation left. A store that cannot be read at this moment is imported the next time somebody asks for it."""
    with suppress(SourceProblem):
        format_name = Source.objects.get(oid=Source.oid_of(visible(path))).format
        import_targets([path], operator, format_name, only=native_id)


def _source(path: Place, format_name: str, is_trace: bool, demo: bool) -> Source:
    real = visible(places.real(path))
    source, is_new = Source.objects.get_or_create(
        oid=Source.oid_of(real), defaults={"path": real, "read_at": timezone.now(), "format": format_name, "is_trace": is_trace}
    )
    if not is_new and (source.format, source.is_trace) != (format_name, is_trace):
        raise AnotherFormat(path, source.format, format_name)
    source.read_at = timezone.now()
    source.is_demo = source.is_demo or demo
    written = places.written_at(path)
    source.written_at = None if written is None else datetime.fromtimestamp(written, UTC)
    return source


def _import_store(store: Store, demo: bool, only: str = "") -> Imported:
    source = _source(store.path, store.format.name, False, demo)
    if store.origin:
        _say_origin(source, store.origin)
    source.reader = source.reader or store.format.default_reader
    source.projection = source.projection or store.format.default_projection
    source.profile = source.profile or store.format.default_profile
    source.problems = [asdict(problem) for problem in store.problems[:PROBLEMS_KEPT]]
    source.save()
    imported = Imported(source, problems=len(store.problems))
    rows = source.conversations.filter(native_id=only) if only and isinstance(store.path, Dsn) else source.conversations.all()
    remaining = {conversation.oid: conversation for conversation in rows}
    names = {conversation.native_id for conversation in remaining.values()}
    if source.is_demo and not demo and names and names.isdisjoint(visible(stored.conversation.native_id) for stored in store.conversations):
        # Another store is where the demo's was: the pages may not write to that one at once.
        source.is_demo = False
        source.save(update_fields=["is_demo"])
    last = {revision.conversation_id: revision for revision in Revision.objects.filter(conversation__in=rows).order_by("number")}
    fresh: list[tuple[Conversation, RevisionContent]] = []
    for stored in store.conversations:
        content = stored.conversation
        imported.conversations += 1
        imported.chunks += len(content.chunks)
        oid = Conversation.oid_of(source, content.native_id)
        conversation = remaining.pop(oid, None) or Conversation(oid=oid, source=source, native_id=_name(content.native_id, oid, names))
        revision = last.get(conversation.pk) if conversation.pk else None
        is_same = revision and revision.digest == digest(stored) and revision.shared_facts == shared_facts(stored)
        if is_same and not conversation.is_gone:
            imported.unchanged += 1
            if conversation.judged_by != inspector.__version__:
                imported.rejudged[oid] = stored
            continue
        fresh.append((conversation, revision_content(stored)))
        imported.fresh[oid] = stored
    write_revisions(fresh)
    imported.gone = Conversation.objects.filter(pk__in=[conversation.pk for conversation in remaining.values()], is_gone=False).update(
        is_gone=True
    )
    if store.origin:
        imported.records = _import_own_traces(source, store.traces)
    return imported


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
        return 0
    source.traces.add(source)
    _write_traces(source, own_traces)
    return len(own_traces.records)


def _name(native_id: str, oid: str, used_names: set[str]) -> str:
    """The id as text; with ours after it where another id, that differs in hidden characters only, is shown the same."""
    shown = visible(native_id)
    name = f"{shown} ({oid})" if shown in used_names else shown
    used_names.add(name)
    return name


def _import_traces(content: Traces, demo: bool) -> Imported:
    source = _source(content.path, content.format, True, demo)
    source.problems = [asdict(problem) for problem in content.problems[:PROBLEMS_KEPT]]
    source.save()
    _write_traces(source, content)
    return Imported(source, records=len(content.records), problems=len(content.problems))


def _write_traces(source: Source, content: Traces) -> None:
    Payload.objects.bulk_create(map(_body, content.bodies.values()), ignore_conflicts=True, batch_size=200)
    TraceRecord.objects.bulk_create((_trace_record(source, record) for record in content.records), ignore_conflicts=True, batch_size=BATCH)


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
    stores = [source for source in sources if not source.is_trace and source.format != bundle.NAME]
    touched: set[int] = set()
    for source in sources:
        if not source.is_trace or source.is_capture:
            continue
        ids = _native_ids(source)
        matching = Conversation.objects.filter(native_id__in=ids) if len(ids) < 30000 else Conversation.objects.all()
        # A bundle is sealed with the trace that was known; what is imported later is no part of it.
        knowing = Source.objects.filter(pk__in=matching.values_list("source_id", flat=True)).exclude(format=bundle.NAME)
        for store in stores or knowing:
            store.traces.add(source)
        touched |= set(matching.filter(source__in=source.stores.all()).values_list("pk", flat=True))
    return touched


def _native_ids(source: Source) -> set[str]:
    """Of the conversations that its trace records name; the longest are known there by their hash only."""
    ids = set(source.trace_records.exclude(conversation_id="").values_list("conversation_id", flat=True))
    long = Conversation.objects.annotate(length=Length("native_id")).filter(length__gt=LONGEST // 4).values_list("native_id", flat=True)
    return ids | {native_id for native_id in long if indexed(native_id) in ids}
