"""Rows of the database as the core's values. A revision never changes, so what was read from one is kept for the next page."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import Any

from django.db.models import Model, QuerySet

from inspector import bundle
from inspector.access.context import current, unlimited
from inspector.conversation import model
from inspector.conversation.model import Conversation as Core
from inspector.conversation.model import Fact
from inspector.models import cached
from inspector.models.cached import MEGABYTE, bounded_cache
from inspector.models.conversation import GOES_ON, Conversation, Payload, Record, Revision
from inspector.models.identity import indexed
from inspector.models.prepared import prepared
from inspector.models.source import Source
from inspector.models.stream import Stream, StreamPart
from inspector.models.trace import TraceRecord
from inspector.presentation.conversation.examined import Surroundings, case_in
from inspector.presentation.stream.report import StreamAnalysis, analysed
from inspector.presentation.tree.branches import with_leaf
from inspector.presentation.tree.own_leaves import unless_own
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Format, Stored
from inspector.programs.formats import Record as StoredRecord
from inspector.programs.registry import program_or_default
from inspector.rules.base import Case
from inspector.sources import captures
from inspector.streams.captures import own
from inspector.streams.model import Exchange
from inspector.text.at_hand import AtHand
from inspector.traces import model as traces
from inspector.traces.bodies import Body, decompress
from inspector.traces.tree import build


def format_of(source: Source) -> Format:
    return format_named(source.format)


def with_source(oid: str) -> Conversation | None:
    """The conversation of an address, with its source; read once for a page."""
    key = oid, current()
    for known, conversation in _ROW_AT_HAND:
        if known == key:
            return conversation
    for row in _with_source(oid):
        conversation = Conversation.from_db("default", _OWN, row[: len(_OWN)])
        conversation.source = Source.from_db("default", _OF_SOURCE, row[len(_OWN) :])
        return _ROW_AT_HAND.put(key, conversation)
    return None


_ROW_AT_HAND: AtHand[Conversation] = AtHand(1)


_OWN, _OF_SOURCE = ([field.attname for field in model._meta.concrete_fields] for model in (Conversation, Source))


@prepared
def _with_source(oid: str) -> QuerySet[Conversation, Any]:
    return Conversation.objects.filter(oid=oid).order_by().values_list(*_OWN, *(f"source__{name}" for name in _OF_SOURCE))


def stored(conversation: Conversation, revision: int | None = None) -> Stored:
    """The records of a revision (the newest unless named), read as their format reads them. Raises Revision.DoesNotExist."""
    return _AT_HAND.put(None, _stored(conversation.pk, conversation.source.format, revision or conversation.revision))


_AT_HAND: AtHand[Stored] = AtHand(1)
"""What is larger than its cache is needed by several steps of one page: the request, the case and the plan."""


def _size_of_stored(stored: Stored) -> int:
    """A record's bytes are there as they are, as text and as what was parsed; a chunk has about 2,000 bytes of its own (measured with tracemalloc)."""
    return 3 * sum(len(record.value.data) for record in stored.records) + 2_000 * len(stored.conversation.chunks)


@bounded_cache(96 * MEGABYTE, _size_of_stored)
def _stored(conversation_id: int, format_name: str, number: int) -> Stored:
    revision = Revision.objects.get(conversation_id=conversation_id, number=number)
    records = read_records(Record, conversation_id, number)
    known_id = Conversation.objects.values_list("native_id", flat=True).get(pk=conversation_id)
    # Without records: only the index of its store names it.
    result = next(format_named(format_name).read(records), None) or Stored(model.Conversation(known_id, format_name, ()), ())
    facts = {**result.conversation.facts, **{name: Fact(name, value) for name, value in revision.shared_facts.items()}}
    # Of session files whose headers have one id, each is known by its file too, which its own records cannot say.
    own_id = result.conversation.native_id
    native_id = known_id if known_id.startswith(f"{own_id} ") and known_id.endswith(".jsonl") else own_id
    return Stored(replace(result.conversation, native_id=native_id, facts=facts), tuple(records))


def read_records(table: type[Model], conversation_id: int, number: int) -> list[StoredRecord]:
    """The records of a revision in the store's order; `table` is Record, as it is today or at a migration."""
    # As plain values, for two model objects a row take longer than the reading; and in no order, for SQLite would copy every payload to sort them.
    rows = table._default_manager.filter(Record.at(number), conversation_id=conversation_id).order_by()
    values = rows.values_list("key", "key_bytes", "position", "pk", "storage", "payload__data").iterator(chunk_size=2000)
    plain_rows = [
        ((name.encode("utf-8", "surrogateescape") if exact is None else bytes(exact), position, pk), storage, bytes(data))
        for name, exact, position, pk, storage, data in values
    ]
    # Rows that stayed keep the position that they had when they came: the order is the store's own, by the bytes of the key.
    plain_rows.sort(key=itemgetter(0))
    records: list[StoredRecord] = []
    at = 0
    while at < len(plain_rows):
        (key, *_), storage, data = plain_rows[at]
        stop = at + 1
        while stop < len(plain_rows) and plain_rows[stop][1].endswith(GOES_ON):
            stop += 1
        if stop > at + 1:
            data = b"".join([row[2] for row in plain_rows[at:stop]])
        records.append(StoredRecord(key.decode("utf-8", "surrogateescape"), Cell(data, storage)))
        at = stop
    return records


def trace(conversation: Conversation, native_id: str) -> traces.Trace | None:
    """What the conversation's trace sources hold on it; None where no trace source belongs to its store."""
    sources = list(conversation.source.traces.order_by("pk").values_list("pk", "read_at"))
    return _trace(tuple(sources), native_id) if sources else None


def observed_trace(conversation: Conversation, stored: Core) -> traces.Trace | None:
    """The same, else the requests that the store recorded itself."""
    return trace(conversation, stored.native_id) or program_or_default(stored.format).own_trace(stored)


def _size_of_trace(trace: traces.Trace) -> int:
    """A span has its open and its close record; bodies are kept elsewhere (`body`)."""
    steps = trace.steps()
    spans = len(trace.lane) + sum(len(turn.other) + 1 for turn in trace.turns)
    spans += sum(2 + len(step.requests) + len(step.tool_calls) for step in steps)
    return 3_000 * (2 * spans + len(trace.logs) + 1)


@bounded_cache(32 * MEGABYTE, _size_of_trace)
def _trace(sources: tuple[tuple[int, object], ...], native_id: str) -> traces.Trace:
    """`sources` carry when they were read, so that a re-import is seen."""
    rows = TraceRecord.objects.filter(source_id__in=[pk for pk, _ in sources], conversation_id=indexed(native_id))
    records = [
        traces.TraceRecord(
            id=row.record_id,
            kind=row.kind,
            timestamp=row.timestamp,
            order=row.order,
            body=row.body,
            **{**row.fields, "links": tuple(row.fields.get("links", ())), "conversation_id": native_id},
        )
        for row in rows.order_by("source_id", "timestamp", "order")
    ]
    return build(native_id, records, body)


def _size_of_body(data: bytes | None) -> int:
    return len(data or b"")


@bounded_cache(32 * MEGABYTE, _size_of_body)
def body(name: str) -> bytes | None:
    """The content of a body, unpacked; None where it is not in the database."""
    payload = Payload.objects.filter(digest=name).first()
    if payload is None:
        return None
    return decompress(Body(payload.digest, bytes(payload.data), payload.gzipped, payload.size))


def case(conversation: Conversation, reader: str, revision: int | None = None, leaf: str = "") -> Case:
    """`leaf`: the entry of a tree that a person chose instead of the reader's own, as an address names it. Raises Revision.DoesNotExist, UnknownReader."""
    return case_around(conversation, unless_own(with_leaf(stored(conversation, revision).conversation, leaf), reader), reader)


def case_around(conversation: Conversation, content: Core, reader: str, ids: Iterable[str] | None = None) -> Case:
    """`content`, with what our database holds around it; `ids` are those of its source, where the caller has them. Raises UnknownReader."""
    return case_in(content, reader, surroundings(conversation, content, ids))


def surroundings(conversation: Conversation, content: Core, ids: Iterable[str] | None = None) -> Surroundings:
    """What our database holds around `content`; `ids` as above."""
    source = conversation.source
    bleeding = bundle.bleeding(content) or format_of(source).bleeding(content.native_id, ids_of(source) if ids is None else ids)
    taken_at = int(source.read_at.timestamp() * 1000)
    return Surroundings(taken_at, trace(conversation, content.native_id), archive(source, content), bleeding)


def ids_of(source: Source) -> list[str]:
    return list(source.conversations.filter(is_gone=False).values_list("native_id", flat=True))


def archive(source: Source, content: Core) -> Core | None:
    """What the conversation was compacted from, where its store holds that."""
    native_id = content.fact("compactedFrom")
    row = present_conversation(source, native_id) if native_id else None
    return stored(row).conversation if row else None


def present_conversation(source: Source, native_id: str) -> Conversation | None:
    """The conversation with this id, where the source still holds it."""
    return source.conversations.filter(oid=Conversation.oid_of(source, native_id), is_gone=False).first()


def exchange(stream: Stream) -> Exchange:
    """The captured exchange; its happenings are read again at every call. Raises SourceProblem for one that is in its file only, in the middle too."""
    return _from_database(stream) if stream.is_kept else _from_file(stream)


def _from_database(stream: Stream) -> Exchange:
    # Listed now: a download is read after its view has ended, when another import may have taken the parts away. Payloads stay.
    parts = list(StreamPart.objects.filter(stream_id=stream.pk).order_by("position").values_list("payload_id", "payload__size"))
    captured = next(own.exchanges(lambda offset=0: _parts(parts, offset), stream.native_id))
    # The problems of the file when it was read are kept with it; our own lines have none.
    return replace(captured, problems=tuple(stream.problems))


def _parts(parts: Sequence[tuple[str, int]], offset: int) -> Iterator[bytes]:
    """`parts` are (digest, bytes unpacked)."""
    at = 0
    for digest, size in parts:
        if at + size > offset:
            payload = Payload.objects.get(pk=digest)
            data = decompress(Body(payload.digest, bytes(payload.data), payload.gzipped, payload.size))
            yield data[max(0, offset - at) :]
        at += size


def _from_file(stream: Stream) -> Exchange:
    capture = captures.read_again(stream.source.path, stream.source.format, (stream.file_size, stream.file_time))
    if stream.position >= len(capture.exchanges):
        raise captures.WentOn(capture.path)
    return capture.exchanges[stream.position]


def refuse_another_file(stream: Stream) -> None:
    """Raises SourceProblem where the stream is in its file only, and that has changed: what was kept of it for pages is then not shown either."""
    if not stream.is_kept:
        captures.refuse_another(stream.source.path, (stream.file_size, stream.file_time))


def analysis(stream: Stream) -> StreamAnalysis:
    """What is wrong with the stream, and the message that it brought. Raises SourceProblem as `exchange`."""
    return _analysis(stream.pk, stream.digest)


@lru_cache(maxsize=4)
@unlimited
def _analysis(stream_id: int, digest: str) -> StreamAnalysis:
    return analysed(exchange(Stream.objects.select_related("source").get(pk=stream_id)))


def forget() -> None:
    """Drops what is cached: in another database the same row ids are other rows."""
    cached.forget()
    _analysis.cache_clear()
