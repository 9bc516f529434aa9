"""Revisions of conversations as rows: what is as it was stays, the rest is closed, and what came is opened."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from django.utils import timezone

from inspector.conversation.model import Chunk
from inspector.models import Conversation, Payload, Record, Revision
from inspector.models.bulk import insert
from inspector.planning.preview import digest
from inspector.presentation.conversation.row_words import arguments
from inspector.presentation.visible import visible
from inspector.programs.formats import Stored

TEXT_KEPT = 2000
RECORD_TEXT_KEPT = 200_000
"""Characters of one record, which may be a whole file, that a search looks through."""
BATCH = 2000
_RECORD_FIELDS = (
    *("conversation", "key", "position", "storage", "payload", "key_bytes", "since", "until"),
    *("seq", "msg_idx", "chunk_idx", "role", "kind", "text"),
)


def write_revisions(fresh: list[tuple[Conversation, Stored]]) -> None:
    """New revisions: rows that are as they were stay; the others are closed, and new ones opened."""
    Conversation.objects.bulk_create([conversation for conversation, _ in fresh if conversation.pk is None], batch_size=500)
    old = [conversation for conversation, _ in fresh if conversation.revision > 1]
    Conversation.objects.bulk_update(
        old, ["title", "model", "status", "last_activity", "chunk_count", "revision", "is_gone", "verdict"], batch_size=200
    )
    now = timezone.now()
    Revision.objects.bulk_create(
        [
            Revision(
                conversation=conversation,
                number=conversation.revision,
                digest=digest(stored),
                seen_at=now,
                shared_facts=shared_facts(stored),
            )
            for conversation, stored in fresh
        ],
        batch_size=500,
    )
    rows: list[tuple[Any, ...]] = []
    payloads: dict[str, bytes] = {}
    for conversation, stored in fresh:
        names = [hashlib.sha256(record.value.data).hexdigest() for record in stored.records]
        payloads.update(zip(names, (record.value.data for record in stored.records), strict=True))
        open_rows = {} if conversation.revision == 1 else _open_rows(conversation)
        for row in _rows(conversation, stored, names):
            same = open_rows.get(_identity(row[1], *row[3:6]))
            if same:
                same.pop()
            else:
                rows.append(row)
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


def _rows(conversation: Conversation, stored: Stored, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Rows of Record, in the order of _RECORD_FIELDS."""
    chunks = _by_record(stored)
    for position, (record, name) in enumerate(zip(stored.records, names, strict=True)):
        key = visible(record.key)
        exact = None if key == record.key else record.key.encode("utf-8", "surrogateescape")
        own_chunks = chunks.get(record.key)
        columns: tuple[Any, ...] = (None, None, None, "", "", "")
        if own_chunks:
            chunk, text = own_chunks[0], "\n".join(visible(searchable(block)[:TEXT_KEPT]) for block in own_chunks)[:RECORD_TEXT_KEPT]
            numbers = map(_column, (chunk.seq, chunk.msg_idx, chunk.chunk_idx))
            columns = (*numbers, visible(chunk.role)[:20], chunk.kind.value, text)
        yield (conversation.pk, key, position, record.value.type, name, exact, conversation.revision, None, *columns)


def _by_record(stored: Stored) -> dict[str, list[Chunk]]:
    """The chunks of each record: one in Dispatch's stores, the blocks of a message or of a whole file elsewhere."""
    records = {record.key for record in stored.records}
    alone = next(iter(records)) if len(records) == 1 else ""
    chunks_of: dict[str, list[Chunk]] = {}
    for chunk in stored.conversation.chunks:
        key = chunk.key if chunk.key in records else chunk.key.rpartition("#")[0]
        chunks_of.setdefault(key if key in records else alone, []).append(chunk)
    return chunks_of


def searchable(chunk: Chunk) -> str:
    """What a search looks through: the words, and what names a call."""
    return " ".join(part for part in (chunk.tool_name, chunk.call_id, arguments(chunk), chunk.text) if part)


def _column(number: int | None) -> int | None:
    """None where the number is beyond what a column holds; the exact one is in the record."""
    return number if number is not None and abs(number) < 2**63 else None


def shared_facts(stored: Stored) -> dict[str, str | None]:
    """Facts that are in none of the conversation's own records."""
    own = {record.key for record in stored.records}
    return {name: fact.value for name, fact in stored.conversation.facts.items() if fact.key and fact.key not in own}
