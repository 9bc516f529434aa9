"""Revisions of conversations as rows: what is as it was stays, the rest is closed, and what came is opened."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.utils import timezone

from inspector.models import Conversation, Payload, Record, Revision
from inspector.models.bulk import insert
from inspector.presentation.conversation.revision_content import RevisionContent

BATCH = 2000
_RECORD_FIELDS = (
    *("key", "position", "storage", "payload", "key_bytes", "seq", "msg_idx", "chunk_idx", "role", "kind", "text"),
    *("conversation", "since", "until"),
)
_SUMMARY = ("title", "model", "status", "last_activity", "chunk_count", "revision", "is_gone", "verdict")


def write_revisions(batch: Sequence[tuple[Conversation, RevisionContent]]) -> None:
    """The next revision of each conversation, a new one or one of the database, with its summary. Rows that are as they were stay; the others are closed."""
    for conversation, content in batch:
        for name, value in asdict(content.summary).items():
            setattr(conversation, name, value)
        conversation.revision += 1
        conversation.is_gone = False
        conversation.verdict = ""
    Conversation.objects.bulk_create([conversation for conversation, _ in batch if conversation.pk is None], batch_size=500)
    Conversation.objects.bulk_update([conversation for conversation, _ in batch if conversation.revision > 1], _SUMMARY, batch_size=200)
    now = timezone.now()
    Revision.objects.bulk_create(
        [
            Revision(
                conversation=conversation,
                number=conversation.revision,
                digest=content.digest,
                seen_at=now,
                shared_facts=content.shared_facts,
            )
            for conversation, content in batch
        ],
        batch_size=500,
    )
    rows: list[tuple[Any, ...]] = []
    payloads: dict[str, bytes] = {}
    for conversation, content in batch:
        payloads |= content.payloads
        own = (conversation.pk, conversation.revision, None)
        open_rows = {} if conversation.revision == 1 else _open_rows(conversation)
        for row in content.rows:
            key, _, storage, payload, key_bytes = row[:5]
            same = open_rows.get(_identity(key, storage, payload, key_bytes)) if open_rows else None
            if same:
                same.pop()
            else:
                rows.append(row + own)
        closed = [pk for row_ids in open_rows.values() for pk in row_ids]
        for start in range(0, len(closed), BATCH):
            Record.objects.filter(pk__in=closed[start : start + BATCH]).update(until=conversation.revision - 1)
    insert(
        Payload,
        ("digest", "data", "gzipped", "size"),
        ((name, data, False, len(data)) for name, data in payloads.items()),
        ignore_known=True,
    )
    insert(Record, _RECORD_FIELDS, rows)


def _open_rows(conversation: Conversation) -> dict[tuple[Any, ...], list[int]]:
    """Open rows of the conversation by what distinguishes them. Not by position: one new row would move all those after it."""
    rows = conversation.records.filter(until__isnull=True)
    open_rows: dict[tuple[Any, ...], list[int]] = {}
    for key, storage, payload, key_bytes, pk in rows.values_list("key", "storage", "payload_id", "key_bytes", "pk"):
        open_rows.setdefault(_identity(key, storage, payload, key_bytes), []).append(pk)
    return open_rows


def _identity(key: str, storage: str, payload: str, key_bytes: bytes | memoryview | None) -> tuple[Any, ...]:
    return key, storage, payload, None if key_bytes is None else bytes(key_bytes)
