"""Takes a source out of Inspector with everything that was derived from it. The store itself is never touched; a file that was uploaded here goes too.

A few hundred conversations at a time, each as a purge does it, so that memory does not grow with the source and counts are right at every moment. Until the end the
source says who removes it: nothing is imported into it, and a removal that was interrupted goes on where it was.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.utils import timezone

from inspector.access.context import unlimited
from inspector.access.permits import acts
from inspector.actions import audit
from inspector.actions.add_source import uploads_folder
from inspector.actions.comparison import UNDOABLE
from inspector.actions.import_source import examine_all
from inspector.actions.problems import Refused
from inspector.actions.purge import as_reason, batches, delete_unused, purge_now, secure_delete
from inspector.actions.settling import settle_one
from inspector.models import (
    BackgroundTask,
    Conversation,
    Finding,
    Problem,
    Repair,
    Source,
    Stream,
    StreamFinding,
    StreamPart,
    Tombstone,
    TraceRecord,
    loading,
    outbox,
    searching,
)
from inspector.models.transactions import one_writer
from inspector.presentation.visible import visible
from inspector.sources import uploads

AT_ONCE = 500
"""Conversations of one transaction; fewer where they are long."""
CHUNKS_AT_ONCE = 20_000
ROWS_AT_ONCE = 500
BEGIN = "begin removal"
NO_REASON = "nobody said why"


@dataclass(frozen=True, slots=True)
class Removed:
    """What goes with a source, or went."""

    source: str
    conversations: int
    findings: int
    repairs: int
    undoable: int
    """Of the repairs: those that are in the store, whose undo is lost."""
    streams: int
    trace_records: int
    traces: tuple[str, ...]
    """Names of its traces that belong to no other store, which go with it."""
    is_upload: bool
    """Its file was uploaded, and is deleted."""


def own_traces(source: Source) -> list[Source]:
    """Those that belong to no other store."""
    others = Source.objects.exclude(pk=source.pk)
    return [trace for trace in source.traces.exclude(pk=source.pk) if not others.filter(traces=trace.pk).exists()]


@unlimited
def what_goes(source: Source) -> Removed:
    repairs = Repair.objects.filter(conversation__source=source)
    traces = own_traces(source)
    return Removed(
        source=source.oid,
        conversations=source.conversations.count(),
        findings=Finding.objects.filter(conversation__source=source).count() + StreamFinding.objects.filter(stream__source=source).count(),
        repairs=repairs.count(),
        undoable=repairs.filter(state__in=UNDOABLE).count(),
        streams=source.streams.count(),
        trace_records=sum(entry.trace_record_count for entry in (source, *traces)),
        traces=tuple(trace.name for trace in traces),
        is_upload=uploads.is_below(uploads_folder(), source.path),
    )


@acts("remove")
def begin_removal(source: Source, operator: str, reason: str, with_repairs: bool = False) -> Removed:
    """From here on it is being removed; `finish_removal` does it. Raises Refused: then nothing is gone."""
    repairs = Repair.objects.filter(conversation__source=source).select_related("conversation__source")
    for repair in repairs.exclude(intent=""):
        if interrupted := settle_one(repair):
            raise Refused(interrupted.sentence)
    with one_writer():
        known = Source.objects.filter(pk=source.pk).first()
        if known is None:
            raise Refused("This source was removed already.")
        if at_work := repairs.filter(~Q(intent="") | Q(claimed_at__isnull=False)).first():
            raise Refused(
                f"Repair {at_work.oid} of this source is being written, or was interrupted: settle it, then remove the source again."
            )
        goes = what_goes(source)
        if goes.undoable and not with_repairs:
            raise Refused(
                f"{goes.undoable:,} repair{'s' if goes.undoable > 1 else ''} of this source are in its store, and their undo would be lost: "
                "undo them first, or say that this is meant."
            )
        if not known.removed_by:
            known.removed_by, known.removal = visible(operator), as_reason(reason)
            for entry in (known, *own_traces(known)):
                Source.objects.filter(pk=entry.pk).update(removed_by=known.removed_by, removal=known.removal)
            audit.record(operator, BEGIN, source_path=known.path, reason=known.removal, **_numbers(goes))
    source.removed_by, source.removal = known.removed_by, known.removal
    return goes


@unlimited
def finish_removal(source: Source) -> None:
    """What `begin_removal` began, from where it is; done again, it does what is left. Raises Refused where a repair is at work: then it goes on later."""
    if not Source.objects.filter(pk=source.pk).exists():
        return
    goes, judged_with = what_goes(source), _judged_with(source)
    reason = "its source was removed" + (f": {source.removal}" if source.removal else "")
    with one_writer():
        # At once: each conversation alone would count those of all the others again.
        problems = Problem.objects.filter(source=source)
        _bury(source, Tombstone.Kind.PROBLEM, problems.values_list("oid", flat=True))
        problems.delete()
    while _purge_some(source, reason):
        pass
    for trace in own_traces(source):
        _finish_one(trace, what_goes(trace))
    _finish_one(source, goes)
    loading.forget()
    examine_all(judged_with)


def _finish_one(source: Source, goes: Removed) -> None:
    """A source without conversations, to its end."""
    for model in (Stream, TraceRecord):
        while _delete_some(source, model):
            pass
    with one_writer():
        # Another process may have been faster.
        if Source.objects.filter(pk=source.pk).exists():
            secure_delete()
            searching.tidy_index()
            _bury(source, Tombstone.Kind.SOURCE, [source.oid])
            audit.record(
                source.removed_by,
                audit.REMOVE,
                source_path=source.path,
                conversation=source.oid,
                reason=source.removal,
                tombstones=audit.tombstones_digest(Tombstone.objects.filter(conversation=source.oid)),
                **_numbers(goes),
            )
            # What a task computed may quote it.
            BackgroundTask.objects.filter(conversation=None).exclude(ended_at=None).delete()
            outbox.of_source(source.oid).delete()
            Source(pk=source.pk).delete()
    uploads.remove(uploads_folder(), source.path)


def being_removed() -> QuerySet[Source]:
    return Source.objects.exclude(removed_by="")


def _numbers(goes: Removed) -> dict[str, Any]:
    names = ("conversations", "findings", "repairs", "undoable", "streams", "trace_records")
    return {name: number for name in names if (number := getattr(goes, name))}


def _judged_with(source: Source) -> set[int]:
    """Conversations of other sources that were judged with what this one observed."""
    if not source.is_trace or source.is_capture:
        return set()
    ids = source.trace_records.exclude(conversation_id="").values("conversation_id")
    stores = source.stores.exclude(pk=source.pk)
    return set(Conversation.objects.filter(source__in=stores, native_id__in=ids).values_list("pk", flat=True))


def _purge_some(source: Source, reason: str) -> bool:
    """The next few conversations, in one transaction; whether there were any."""
    with one_writer():
        rows = list(source.conversations.select_related("source").order_by("pk")[:AT_ONCE])
        chunks = list(accumulate(row.chunk_count for row in rows))
        # The first, however long it is.
        few = rows[: 1 + sum(number <= CHUNKS_AT_ONCE for number in chunks)]
        if few:
            purge_now(few, source.removed_by, reason, with_repairs=True, with_source=True)
    loading.forget()
    return bool(few)


def _delete_some(source: Source, model: type[Model]) -> bool:
    """The next few rows with the content that nothing else has; whether there were any. Those of streams go with the problems of their source."""
    with one_writer():
        secure_delete()
        rows = model._base_manager.filter(source=source).order_by("pk")
        pks = list(rows.values_list("pk", flat=True)[:ROWS_AT_ONCE])
        chosen = model._base_manager.filter(pk__in=pks)
        if model is Stream:
            payloads: Iterable[str] = set(StreamPart.objects.filter(stream__in=pks).values_list("payload_id", flat=True))
            _bury(source, Tombstone.Kind.STREAM, chosen.values_list("oid", flat=True))
            Problem.objects.filter(source=source).delete()
        else:
            payloads = {body for body in chosen.values_list("body", flat=True) if body is not None}
        chosen.delete()
        for batch in batches(payloads):
            delete_unused(batch)
    return bool(pks)


def _bury(source: Source, kind: Tombstone.Kind, oids: Iterable[str]) -> None:
    """A tombstone for each link."""
    about = {"conversation": source.oid, "source": source.oid, "purged_at": timezone.now(), "purged_by": source.removed_by}
    for batch in batches(oids):
        Tombstone.objects.filter(oid__in=batch).delete()
        Tombstone.objects.bulk_create([Tombstone(oid=oid, kind=kind, reason=source.removal or NO_REASON, **about) for oid in batch])
