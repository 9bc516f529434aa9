"""Takes conversations out of Inspector's own database for good; a tombstone and a line of the audit log stay. No store is touched."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

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
        (purged,) = purge_now([conversation], operator, reason, with_repairs)
    loading.forget()
    return purged


def purge_now(
    conversations: Sequence[Conversation], operator: str, reason: str, with_repairs: bool, with_source: bool = False
) -> list[Purged]:
    """Conversations of one source, within the caller's `one_writer`: a few statements for all of them, and a line of the audit log for each.

    `with_source`: the source goes too, so that they may be imported again, and what is done once for a source is left to the caller: its trace records, the
    index of the search, what was read before.
    """
    secure_delete()
    pks, oids = [row.pk for row in conversations], [row.oid for row in conversations]
    repairs: dict[int, list[Repair]] = {pk: [] for pk in pks}
    for repair in Repair.objects.filter(conversation__in=pks):
        repairs[repair.conversation_id].append(repair)
    for of_one in repairs.values():
        _refuse_used(of_one, with_repairs)
    purged = _delete(conversations, repairs, operator, reason, with_source)
    kept: dict[str, list[Tombstone]] = {oid: [] for oid in oids}
    for tombstone in Tombstone.objects.filter(conversation__in=oids):
        kept[tombstone.conversation].append(tombstone)
    audit.record_all(
        operator,
        audit.PURGE,
        [
            audit.Line(
                source_path=row.source.path,
                conversation=row.oid,
                detail={
                    "reason": reason,
                    "repairs": [repair.oid for repair in repairs[row.pk]],
                    "findings": of_one.findings,
                    "shared": of_one.shared,
                    "tombstones": audit.tombstones_digest(kept[row.oid]),
                    **({"is_import_allowed": True} if with_source else {}),
                },
            )
            for row, of_one in zip(conversations, purged, strict=True)
        ],
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


def _delete(
    conversations: Sequence[Conversation], repairs: Mapping[int, Sequence[Repair]], operator: str, reason: str, with_source: bool
) -> list[Purged]:
    pks, oids, source = [row.pk for row in conversations], [row.oid for row in conversations], conversations[0].source
    findings: dict[int, list[tuple[str, str]]] = {pk: [] for pk in pks}
    for pk, *names in Finding.objects.filter(conversation__in=pks).order_by("pk").values_list("conversation_id", "oid", "identity"):
        findings[pk].append((names[0], names[1]))
    payloads: dict[int, set[str]] = {pk: set() for pk in pks}
    for pk, digest in Record.objects.filter(conversation__in=pks).order_by().values_list("conversation_id", "payload_id").distinct():
        payloads[pk].add(digest)
    of_source = () if with_source else tuple(source.traces.all())
    traced_as = {indexed(row.native_id): row.pk for row in conversations}
    traces = TraceRecord.objects.filter(source__in=of_source, conversation_id__in=list(traced_as))
    for native, body in traces.values_list("conversation_id", "body"):
        if body is not None:
            payloads[traced_as[native]].add(body)
    _bury(conversations, findings, repairs, operator, reason, with_source)
    counting.forget(pks)
    outbox.forget(oids)
    searching.forget_texts(pks, tidies=not with_source)
    if JobResult.objects.exists():
        for row in conversations:
            JobResult.objects.filter(Q(answer__contains=row.oid) | Q(answer__contains=row.native_id)).delete()
    traces.delete()
    for traced in of_source:
        traced.trace_record_count = traced.trace_records.count()
        traced.save(update_fields=["trace_record_count"])
    Repair.objects.filter(conversation__in=pks).delete()
    _leave_groups(source, oids)
    Conversation.objects.filter(pk__in=pks).delete()
    # As if they went one by one: what two of them share is gone with the second.
    last = {digest: pk for pk in pks for digest in payloads[pk]}
    gone = Counter(last[digest] for batch in batches(last) for digest in delete_unused(batch))
    return [
        Purged(row.oid, len(findings[row.pk]), len(repairs[row.pk]), gone[row.pk], len(payloads[row.pk]) - gone[row.pk])
        for row in conversations
    ]


def _bury(
    conversations: Sequence[Conversation],
    findings: Mapping[int, Sequence[tuple[str, str]]],
    repairs: Mapping[int, Sequence[Repair]],
    operator: str,
    reason: str,
    with_source: bool,
) -> None:
    """A tombstone for each link."""
    pks, oids = [row.pk for row in conversations], [row.oid for row in conversations]
    identities = {row.identity: row.pk for row in conversations if row.identity}
    there = set(Conversation.objects.filter(identity__in=list(identities)).exclude(pk__in=pks).values_list("identity", flat=True))
    first_seen = dict(Revision.objects.filter(conversation__in=pks).order_by().values_list("conversation_id").annotate(Min("seen_at")))
    # Those of an earlier purge of it too: one line of the log covers all that is kept of a conversation.
    earlier: dict[str, dict[str, str]] = {oid: {} for oid in oids}
    for oid, kind, conversation in Tombstone.objects.filter(conversation__in=oids).values_list("oid", "kind", "conversation"):
        earlier[conversation][oid] = kind
    now, tombstones = timezone.now(), dict[str, Tombstone]()
    for row in conversations:
        # While another copy is here, the links that all copies share lead to that.
        is_last = row.identity not in there and identities.get(row.identity) == row.pk
        links = dict(earlier[row.oid])
        links |= dict.fromkeys([row.oid, *([row.identity] if is_last else [])], Tombstone.Kind.CONVERSATION)
        shared = [identity for _, identity in findings[row.pk] if identity and is_last]
        links |= dict.fromkeys([*(oid for oid, _ in findings[row.pk]), *shared], Tombstone.Kind.FINDING)
        links |= dict.fromkeys([repair.oid for repair in repairs[row.pk]], Tombstone.Kind.REPAIR)
        about = {
            "conversation": row.oid,
            "source": row.source.oid,
            "native": native_hash(row.native_id),
            "first_seen": first_seen.get(row.pk),
            "last_activity": row.last_activity,
            "purged_at": now,
            "purged_by": visible(operator),
            "reason": reason,
            "is_import_allowed": with_source,
        }
        tombstones |= {oid: Tombstone(oid=oid, kind=kind, **about) for oid, kind in links.items()}
    # The links that all copies share are now those of these.
    others: set[str] = set()
    for batch in batches(tombstones):
        rows = Tombstone.objects.filter(oid__in=batch)
        others.update(rows.values_list("conversation", flat=True))
        rows.delete()
    Tombstone.objects.bulk_create(tombstones.values(), batch_size=_BATCH)
    for other in sorted(others.difference(oids)):
        audit.seal_purge(operator, other)


def _leave_groups(source: Source, oids: Collection[str]) -> None:
    """The plan of a group says what its conversations hold; a group without conversations goes with the words that people wrote on it."""
    for group in RepairGroup.objects.filter(source=source):
        members = [member for member in group.members if member["conversation"] not in oids]
        if len(members) < len(group.members):
            group.members = members
            group.save(update_fields=["members"])
            if not members:
                group.delete()
    # The plans of several conversations, and sentences that name them: what is still wanted is computed again.
    BackgroundTask.objects.filter(conversation=None).exclude(ended_at=None).delete()


def delete_unused(digests: list[str]) -> list[str]:
    """Payloads that nothing has any more; gives the digests of those that are gone."""
    used = {*Record.objects.filter(payload__in=digests).values_list("payload_id", flat=True).distinct()}
    used |= {*StreamPart.objects.filter(payload__in=digests).values_list("payload_id", flat=True).distinct()}
    used |= {body for body in TraceRecord.objects.filter(body__in=digests).values_list("body", flat=True).distinct() if body is not None}
    unused = [digest for digest in digests if digest not in used]
    # Without a look at what refers to them, which was that.
    if unused:
        Payload.objects.filter(pk__in=unused)._raw_delete("default")
    return unused


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
