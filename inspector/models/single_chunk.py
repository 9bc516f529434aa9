"""One chunk of a conversation, loaded without the others: its line or row is parsed alone, and used where it says the same as in its place."""

from dataclasses import replace
from typing import Any

from django.db.models import BinaryField, QuerySet
from django.db.models.functions import Substr

from inspector.conversation.model import Chunk
from inspector.models import loading
from inspector.models.conversation import ChunkRow, Conversation, Record, Revision
from inspector.models.prepared import prepared
from inspector.presentation.conversation.revision_content import check_sum
from inspector.programs.formats import FILE, Cell, InShape
from inspector.programs.formats import Record as StoredRecord

_FIRST_LINE = 65_536


def single_chunk(conversation: Conversation, position: int, revision: int | None = None) -> Chunk | None:
    """The chunk at `position` of a revision (the newest unless named), with its key as it is shown; None where there is none. Raises Revision.DoesNotExist."""
    number = revision or conversation.revision
    # The newest is there: it is asked for most, and by one query less.
    if number != conversation.revision and not _revisions(conversation.pk, number):
        raise Revision.DoesNotExist
    for row in _rows(conversation.pk, position, number):
        return (
            _alone(conversation, ChunkRow.from_db("default", _COLUMNS, row), number)
            or loading.stored(conversation, number).conversation.chunks[position]
        )
    return None


_COLUMNS = [field.attname for field in ChunkRow._meta.concrete_fields]


@prepared
def _revisions(conversation: int, number: int) -> QuerySet[Revision, Any]:
    return Revision.objects.filter(conversation=conversation, number=number).order_by().values_list("pk")


@prepared
def _rows(conversation: int, position: int, revision: int) -> QuerySet[ChunkRow, Any]:
    return ChunkRow.objects.filter(ChunkRow.at(revision), conversation=conversation, position=position).values_list(*_COLUMNS)[:1]


def _alone(conversation: Conversation, row: ChunkRow, number: int) -> Chunk | None:
    """None where its bytes alone do not say what they say in their place: a result gets the name of its tool from its call, for example."""
    records = _records(row.start + 1, row.size, conversation.pk, row.payload, number) if row.payload else []
    format_ = loading.format_of(conversation.source)
    if not records or row.seq is None or isinstance(format_, InShape):
        return None
    ((name, name_bytes, storage, size, data),) = records
    raw = bytes(data)
    key = name if name_bytes is None else bytes(name_bytes).decode("utf-8", "surrogateescape")
    if storage.startswith(FILE):
        first, beginning = next(iter(_first_pieces(conversation.pk, name, FILE, number)), ("", b""))
        head, ended, _ = bytes(beginning).partition(b"\n")
        if not ended:
            return None
        # The first line of a session says how the others are read.
        is_first = first == row.payload and row.start <= len(head)
        cell = Cell(raw + ended if is_first else head + ended + raw + ended, FILE)
    elif size == row.size:
        cell = Cell(raw, storage)
    else:
        return None
    result = next(format_.read([StoredRecord(key, cell)]), None)
    for chunk in result.conversation.chunks if result else ():
        if (chunk.raw, chunk.kind, chunk.chunk_idx) == (raw, row.kind, row.chunk_idx) and check_sum(chunk) == row.check_sum:
            return replace(chunk, key=row.key, seq=row.seq, msg_idx=row.msg_idx, at=row.at_time)
    return None


@prepared
def _records(start: int, size: int, conversation: int, payload: str, revision: int) -> QuerySet[Record, Any]:
    """The record with the payload, and `size` of its bytes from `start`, which is 1 for the first."""
    rows = Record.objects.filter(Record.at(revision), conversation=conversation, payload=payload).order_by("pk")
    data = Substr("payload__data", start, size, output_field=BinaryField())
    return rows.values_list("key", "key_bytes", "storage", "payload__size", data)[:1]


@prepared
def _first_pieces(conversation: int, key: str, storage: str, revision: int) -> QuerySet[Record, Any]:
    """The piece with which a file begins: its digest, and its first bytes."""
    rows = Record.objects.filter(Record.at(revision), conversation=conversation, key=key, storage=storage)
    return rows.values_list("payload_id", Substr("payload__data", 1, _FIRST_LINE, output_field=BinaryField()))[:1]
