"""All that a page depends on in our database, by a few small queries and without loading a conversation; None where there is no such page."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from django.db.models import Aggregate, Count, Model, Q, QuerySet, Sum

from inspector.actions.watching import as_of
from inspector.middleware import OperatorRequest
from inspector.models import (
    BackgroundTask,
    Conversation,
    Finding,
    Repair,
    RepairComment,
    Revision,
    Source,
    StoredAnalysis,
    StoredPreview,
    Stream,
    loading,
)
from inspector.models.json_text import JsonText
from inspector.models.news import Scope
from inspector.models.prepared import prepared, totals

_HEARD = 300
"""Seconds: a page that is shown again says as of when its data is as it was when it was made, and by script of now."""
OF_AN_IMPORT = ("read_at", "written_at", "stamp", "changes")
"""What every import of a source changes, or one that brings nothing new for a conversation."""


def _columns(model: type[Model], path: str = "", without: Sequence[str] = ()) -> list[str]:
    """All of a row but what may be long: a JSON list, which changes only with other columns."""
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, JsonText) and field.name not in without]
    return [path + field.attname for field in fields]


CONVERSATION = attrgetter(*_columns(Conversation), *_columns(Source, "source.", OF_AN_IMPORT))
ANALYSED = attrgetter(*_columns(Conversation), *_columns(Source, "source."))
STREAM = [*_columns(Stream), *_columns(Source, "source__", OF_AN_IMPORT)]
REPAIR = _columns(Repair)
FINDING = _columns(Finding)


def of_revision(request: OperatorRequest, oid: str, position: int | None = None, old: int | None = None, new: int | None = None) -> object:
    """Of a page that shows stored rows: the conversation, the revision or the two that the address names, and the repairs between them."""
    row = loading.with_source(oid)
    if row is None:
        return None
    # A number over the newest is of no revision, and may be over what a column holds.
    compared = [min(number, row.revision + 1) for number in (old, new) if number is not None]
    return CONVERSATION(row), _revisions(request, oid, [row.revision, *compared]), _repairs(oid) if compared else ()


def of_compared(request: OperatorRequest, oid: str, old: int | None = None, new: int | None = None) -> object:
    """Of a page that shows stored rows of one conversation next to those of another."""
    own, other = of_revision(request, oid, old=old, new=new), of_revision(request, request.GET.get("with", "") or oid, old=old, new=new)
    return None if own is None or other is None else (own, other)


def of_analysis(request: OperatorRequest, oid: str, digest: str = "") -> object:
    """Of a page that shows what readers and rules make of a revision: its source and traces as they were read, and all around it in the source."""
    row = loading.with_source(oid)
    if row is None:
        return None
    return ANALYSED(row), _revisions(request, oid, [row.revision]), _around(row.source_id), _traces(row.source_id), _repairs(oid)


def of_conversation(request: OperatorRequest, oid: str) -> object:
    """Of the page of a conversation: what was computed of it, and what became of the repairs of its source. None where it is searched, since what
    is found depends on how much is indexed."""
    of_analysis_ = None if request.GET.get("q") else of_analysis(request, oid)
    if of_analysis_ is None:
        return None
    read_at = as_of(Scope("conversation", oid))
    heard = read_at and int(read_at.timestamp()) // _HEARD
    return of_analysis_, heard, _kept_analyses(oid), _previews(oid), _repairs_of_source(oid)


def of_prompt(request: OperatorRequest, oid: str) -> object:
    """Of a crash file the page names the repair of its session. Of a large conversation it says what was kept of its page."""
    of_analysis_ = of_analysis(request, oid)
    return None if of_analysis_ is None else (of_analysis_, _kept_analyses(oid), _repairs_of_source(oid))


@totals
def _around(source_pk: int) -> tuple[QuerySet[Conversation], dict[str, Aggregate]]:
    """How many conversations there are around it, and how often they changed."""
    counted = {"all": Count("pk"), "revisions": Sum("revision"), "gone": Count("pk", filter=Q(is_gone=True))}
    return Conversation.objects.filter(source_id=source_pk), counted


@prepared
def _traces(source_pk: int) -> QuerySet[Source, Any]:
    return Source.objects.filter(stores=source_pk).order_by("pk").values_list(*_columns(Source))


@prepared
def _kept_analyses(oid: str) -> QuerySet[StoredAnalysis, Any]:
    return StoredAnalysis.objects.filter(conversation__oid=oid).order_by("pk").values_list("pk", "basis", "written_at")


@prepared
def _repairs_of_source(oid: str) -> QuerySet[Repair, Any]:
    """Forks are conversations of their own: a page names the repair that wrote it."""
    of_source = Repair.objects.filter(conversation__source__conversations__oid=oid)
    return of_source.order_by("pk").values_list("oid", "state", "conversation_id", "forks__oid")


def of_finding(request: OperatorRequest, oid: str) -> object:
    row = Finding.objects.filter(oid=oid).values_list("conversation__oid", *FINDING).first()
    return None if row is None else (row, of_analysis(request, row[0]), _kept_analyses(row[0]))


def of_ended_repair(request: OperatorRequest, oid: str) -> object:
    """None while the repair may still be decided, applied or undone: its page then looks into the store."""
    ended = (Repair.State.REJECTED, Repair.State.UNDONE, Repair.State.OVERWRITTEN)
    row = Repair.objects.filter(oid=oid, state__in=ended, intent="", claimed_at=None).values_list("conversation__oid", *REPAIR).first()
    comments = list(RepairComment.objects.filter(repair__oid=oid).values_list("pk", flat=True))
    return None if row is None else (row, comments, of_analysis(request, row[0]), _previews(row[0]))


def of_stream(request: OperatorRequest, oid: str, side: str = "", number: int | None = None) -> object:
    """None of a capture that is in its file only: whether that is still the same is not in our database."""
    row = Stream.objects.filter(oid=oid, is_kept=True).values_list(*STREAM).first()
    if row is None:
        return None
    digest = row[STREAM.index("request_digest")]
    alike = Stream.objects.filter(request_digest=digest).exclude(request_digest="") if digest else Stream.objects.none()
    return row, list(alike.order_by("pk").values_list("pk", "verdict", "worst", "is_gone", "position", "source__path"))


def _revisions(request: OperatorRequest, oid: str, numbers: list[int]) -> list[tuple[object, ...]]:
    """Those of `numbers`, and the one that the address asks for."""
    rev = request.GET.get("rev", "")
    named = [*numbers, int(rev)] if rev.isdecimal() and len(rev) < 9 else numbers
    return _of_revisions(oid, *named)


@prepared
def _of_revisions(oid: str, *numbers: int) -> QuerySet[Revision, Any]:
    rows = Revision.objects.filter(conversation__oid=oid, number__in=numbers)
    return rows.order_by("number").values_list("pk", "number", "digest", "seen_at")


def _previews(oid: str) -> list[list[tuple[object, ...]]]:
    """Of a large conversation the page says that its preview is being computed, until it is kept."""
    return [_kept_previews(oid), _tasks(oid)]


@prepared
def _kept_previews(oid: str) -> QuerySet[StoredPreview, Any]:
    return StoredPreview.objects.filter(conversation__oid=oid).order_by("pk").values_list("key", "written_at")


@prepared
def _tasks(oid: str) -> QuerySet[BackgroundTask, Any]:
    return BackgroundTask.objects.filter(conversation__oid=oid).order_by("pk").values_list("key", "ended_at")


@prepared
def _repairs(oid: str) -> QuerySet[Repair, Any]:
    return Repair.objects.filter(conversation__oid=oid).order_by("pk").values_list(*REPAIR)
