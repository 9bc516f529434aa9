"""One chunk of a conversation, loaded without the others: its line or row is parsed alone, and used where it says the same as in its place."""

from dataclasses import replace

from django.db.models import BinaryField
from django.db.models.functions import Substr

from inspector.conversation.model import Chunk
from inspector.models import loading
from inspector.models.conversation import ChunkRow, Conversation, Payload, Record, Revision
from inspector.presentation.conversation.revision_content import check_sum
from inspector.programs.formats import FILE, Cell, InShape
from inspector.programs.formats import Record as StoredRecord

_FIRST_LINE = 65_536


def single_chunk(conversation: Conversation, position: int, revision: int | None = None) -> Chunk | None:
    """The chunk at `position` of a revision (the newest unless named), with its key as it is shown; None where there is none. Raises Revision.DoesNotExist."""
    number = revision or conversation.revision
    if not Revision.objects.filter(conversation=conversation, number=number).exists():
        raise Revision.DoesNotExist
    row = ChunkRow.objects.filter(ChunkRow.at(number), conversation=conversation, position=position).first()
    if row is None:
        return None
    return _alone(conversation, row, number) or loading.stored(conversation, number).conversation.chunks[position]


def _alone(conversation: Conversation, row: ChunkRow, number: int) -> Chunk | None:
    """None where its bytes alone do not say what they say in their place: a result gets the name of its tool from its call, for example."""
    records = Record.objects.filter(Record.at(number), conversation=conversation)
    record = records.filter(payload_id=row.payload).values("key", "key_bytes", "storage", "payload__size").first() if row.payload else None
    format_ = loading.format_of(conversation.source)
    if record is None or row.seq is None or isinstance(format_, InShape):
        return None
    raw = _slice(row.payload, row.start, row.size)
    key = record["key"] if record["key_bytes"] is None else bytes(record["key_bytes"]).decode("utf-8", "surrogateescape")
    if record["storage"].startswith(FILE):
        first = records.filter(key=record["key"], storage=FILE).values_list("payload_id", flat=True).first()
        head, ended, _ = _slice(first or "", 0, _FIRST_LINE).partition(b"\n")
        if not ended:
            return None
        # The first line of a session says how the others are read.
        is_first = first == row.payload and row.start <= len(head)
        cell = Cell(raw + ended if is_first else head + ended + raw + ended, FILE)
    elif record["payload__size"] == row.size:
        cell = Cell(raw, record["storage"])
    else:
        return None
    result = next(format_.read([StoredRecord(key, cell)]), None)
    for chunk in result.conversation.chunks if result else ():
        if (chunk.raw, chunk.kind, chunk.chunk_idx) == (raw, row.kind, row.chunk_idx) and check_sum(chunk) == row.check_sum:
            return replace(chunk, key=row.key, seq=row.seq, msg_idx=row.msg_idx, at=row.at_time)
    return None


def _slice(digest: str, start: int, size: int) -> bytes:
    part = Substr("data", start + 1, size, output_field=BinaryField())
    return bytes(Payload.objects.filter(pk=digest).values_list(part, flat=True).get())
