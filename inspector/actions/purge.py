"""Takes conversations out of Inspector's own database for good; a tombstone and a line of the audit log stay. No store is touched."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Max, Min, Q, QuerySet
from django.utils import timezone

from inspector.access.permits import acts
from inspector.actions import audit
from inspector.actions.comparison import UNDOABLE
from inspector.actions.problems import Refused
from inspector.actions.settling import settle_one
from inspector.models import (
    BackgroundTask,
    Conversation,
    Finding,
    JobResult,
    Payload,
    Record,
    Repair,
    RepairGroup,
    Revision,
    Source,
    StreamPart,
    Tombstone,
    TraceRecord,
    counting,
    loading,
    outbox,
    searching,
)
from inspector.models.identity import indexed, native_hash
from inspector.models.transactions import is_in_memory, one_writer
from inspector.presentation.masking import masked
from inspector.presentation.visible import visible
from inspector.sources import scan_cache

_BATCH = 500
REASON = 500
"""Characters of a reason that are kept."""


@dataclass(frozen=True, slots=True)
class Purged:
    """`shared`: payloads that other conversations, traces or streams have too; they stay."""

    conversation: str
    findings: int
    repairs: int
    payloads: int
    shared: int


def older_than(days: int) -> QuerySet[Conversation]:
    """Conversations without activity for so many days; where none is known, by when their last revision was imported. Not those of the demo."""
    moment = timezone.now() - timedelta(days=days)
    rows = Conversation.objects.filter(source__is_demo=False).annotate(seen=Max("revisions__seen_at"))
    active = Q(last_activity__lt=int(moment.timestamp() * 1000)) | Q(last_activity=None) & (Q(seen__lt=moment) | Q(seen=None))
    return rows.filter(active).select_related("source").order_by("pk")


@acts("purge")
def purge(conversation: Conversation, operator: str, reason: str, with_repairs: bool = False) -> Purged:
    """Raises Refused; then nothing is gone. `overwrite` follows, once for all that were purged."""
    reason = as_reason(reason)
    if not reason:
        raise Refused("Say after --reason why the conversation is purged: whoever follows a link to it reads that.")
    for repair in Repair.objects.filter(conversation=conversation).exclude(intent="").select_related("conversation__source"):
        if interrupted := settle_one(repair):
            raise Refused(interrupted.sentence)
    with one_writer():
        purged = purge_now(conversation, operator, reason, with_repairs)
    loading.forget()
    return purged


def purge_now(conversation: Conversation, operator: str, reason: str, with_repairs: bool, with_source: bool = False) -> Purged:
    """Within the caller's `one_writer`. `with_source`: its source goes too, so that it may be imported again, and what is done once for a source is left to the
    caller: its trace records, the index of the search, what was read before."""
    secure_delete()
    repairs = list(Repair.objects.filter(conversation=conversation))
    _refuse_used(repairs, with_repairs)
    purged = _delete(conversation, repairs, operator, reason, with_source)
    allowed: dict[str, Any] = {"is_import_allowed": True} if with_source else {}
    audit.record(
        operator,
        audit.PURGE,
        source_path=conversation.source.path,
        conversation=conversation.oid,
        reason=reason,
        repairs=[repair.oid for repair in repairs],
        findings=purged.findings,
        shared=purged.shared,
        tombstones=audit.tombstones_digest(Tombstone.objects.filter(conversation=conversation.oid)),
        **allowed,
    )
    return purged


def as_reason(text: str) -> str:
    """Masked before it is cut, and for good: who purges a conversation for a secret in it may write that secret."""
    return masked(visible(" ".join(text.split())))[:REASON].rstrip(".")


def _refuse_used(repairs: list[Repair], with_repairs: bool) -> None:
    at_work = [repair.oid for repair in repairs if repair.intent or repair.claimed_at]
    if at_work:
        raise Refused(f"Repair {at_work[0]} of this conversation is being written, or was interrupted: settle it, then purge again.")
    applied = [repair.oid for repair in repairs if repair.state in UNDOABLE]
    if applied and not with_repairs:
        raise Refused(
            f"Repair {applied[0]} of this conversation is in its store, and its undo would be lost: undo it first, or add --with-repairs."
        )


def _delete(conversation: Conversation, repairs: list[Repair], operator: str, reason: str, with_source: bool) -> Purged:
    pk, source = conversation.pk, conversation.source
    findings = list(Finding.objects.filter(conversation=pk).values_list("oid", flat=True))
    # While another copy is here, the links that all copies share lead to that.
    is_last = bool(conversation.identity) and not Conversation.objects.filter(identity=conversation.identity).exclude(pk=pk).exists()
    shared = list(Finding.objects.filter(conversation=pk).exclude(identity="").values_list("identity", flat=True)) if is_last else []
    of_source = () if with_source else source.traces.all()
    traces = TraceRecord.objects.filter(source__in=of_source, conversation_id=indexed(conversation.native_id))
    payloads = set(Record.objects.filter(conversation=pk).values_list("payload_id", flat=True))
    payloads |= {body for body in traces.values_list("body", flat=True) if body is not None}
    first_seen = Revision.objects.filter(conversation=pk).aggregate(first=Min("seen_at"))["first"]
    about = {
        "conversation": conversation.oid,
        "source": source.oid,
        "native": native_hash(conversation.native_id),
        "first_seen": first_seen,
        "last_activity": conversation.last_activity,
        "purged_at": timezone.now(),
        "purged_by": visible(operator),
        "reason": reason,
        "is_import_allowed": with_source,
    }
    kinds = [(Tombstone.Kind.CONVERSATION, [conversation.oid, *([conversation.identity] if is_last else [])])]
    kinds.append((Tombstone.Kind.FINDING, [*findings, *shared]))
    kinds.append((Tombstone.Kind.REPAIR, [repair.oid for repair in repairs]))
    # Those of an earlier purge of it too: one line of the log covers all that is kept of a conversation.
    earlier = Tombstone.objects.filter(conversation=conversation.oid)
    kind_of = dict(earlier.values_list("oid", "kind")) | {oid: kind for kind, oids in kinds for oid in oids}
    earlier.delete()
    # The links that all copies share are now those of this one.
    others: set[str] = set()
    for batch in batches(kind_of):
        rows = Tombstone.objects.filter(oid__in=batch)
        others.update(rows.values_list("conversation", flat=True))
        rows.delete()
    Tombstone.objects.bulk_create([Tombstone(oid=oid, kind=kind, **about) for oid, kind in kind_of.items()], batch_size=_BATCH)
    for other in sorted(others):
        audit.seal_purge(operator, other)
    counting.forget(pk)
    outbox.forget(conversation.oid)
    searching.forget_texts(pk, tidies=not with_source)
    JobResult.objects.filter(Q(answer__contains=conversation.oid) | Q(answer__contains=conversation.native_id)).delete()
    traces.delete()
    for traced in of_source:
        traced.trace_record_count = traced.trace_records.count()
        traced.save(update_fields=["trace_record_count"])
    for repair in repairs:
        repair.delete()
    _leave_groups(conversation)
    conversation.delete()
    gone = sum(delete_unused(batch) for batch in batches(payloads))
    return Purged(conversation.oid, len(findings), len(repairs), gone, len(payloads) - gone)


def _leave_groups(conversation: Conversation) -> None:
    """The plan of a group says what its conversations hold; a group without conversations goes with the words that people wrote on it."""
    for group in RepairGroup.objects.filter(members__contains=conversation.oid):
        group.members = [member for member in group.members if member["conversation"] != conversation.oid]
        group.save(update_fields=["members"])
        if not group.members:
            group.delete()
    # The plans of several conversations, and sentences that name them: what is still wanted is computed again.
    BackgroundTask.objects.filter(conversation=None).exclude(ended_at=None).delete()


def delete_unused(digests: list[str]) -> int:
    used = {*Record.objects.filter(payload__in=digests).values_list("payload_id", flat=True).distinct()}
    used |= {*StreamPart.objects.filter(payload__in=digests).values_list("payload_id", flat=True).distinct()}
    used |= {body for body in TraceRecord.objects.filter(body__in=digests).values_list("body", flat=True).distinct() if body is not None}
    unused = [digest for digest in digests if digest not in used]
    # Without a look at what refers to them, which was that.
    return Payload.objects.filter(pk__in=unused)._raw_delete("default") if unused else 0


def batches(digests: Iterable[str]) -> Iterator[list[str]]:
    names = iter(sorted(digests))
    while batch := list(islice(names, _BATCH)):
        yield batch


def allow_import(oid: str, operator: str) -> Tombstone:
    """The next import of its store brings the conversation back. Raises Refused."""
    with one_writer():
        tombstone = Tombstone.objects.filter(oid__startswith=oid, kind=Tombstone.Kind.CONVERSATION).first() if oid else None
        if tombstone is None:
            raise Refused(f"No conversation {visible(oid)} was purged: name the id that its links have.")
        # Also that of the link that all copies share.
        same = Tombstone.objects.filter(conversation=tombstone.conversation, kind=Tombstone.Kind.CONVERSATION)
        same.update(is_import_allowed=True)
        # Its files are as they were, and would not be read again.
        Source.objects.filter(oid=tombstone.source).update(stamp="")
        audit.record(operator, audit.ALLOW, conversation=tombstone.conversation)
    return tombstone


def secure_delete() -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")


def overwrite() -> str:
    """Writes the database new without what was deleted, also what was deleted before. Returns "" or the sentence that says what may still be there."""
    scan_cache.remove(settings.VAR_DIR / scan_cache.NAME)
    if connection.in_atomic_block or is_in_memory():
        return ""
    try:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                tables = (connection.ops.quote_name(model._meta.db_table) for model in apps.get_app_config("inspector").get_models())
                cursor.execute(f"VACUUM (FULL) {', '.join(tables)}")
                return ""
            cursor.execute("VACUUM")
            is_busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except DatabaseError as error:
        return f"What was deleted may still be in the free pages of the database ({' '.join(str(error).split())}): free some disk space, stop other processes of Inspector, and purge again."
    return (
        "Another process of Inspector has the database open, so what was deleted may still be in its -wal file: stop that process, then run any command."
        if is_busy
        else ""
    )
