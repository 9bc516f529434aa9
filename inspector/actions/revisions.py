"""Revisions of conversations as rows: what is as it was stays, the rest is closed, and what came is opened."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Any

from django.db.models import Model
from django.utils import timezone

import inspector
from inspector.models import ChunkRow, Conversation, Payload, Record, Revision, SearchText
from inspector.models.bulk import insert, update_from
from inspector.models.conversation import GOES_ON
from inspector.presentation.conversation.revision_content import COLUMNS, END, RecordContent, RevisionContent, payload_places
from inspector.presentation.masking import masked
from inspector.presentation.visible import folded
from inspector.programs.formats import FILE
from inspector.sources.files import FileContent
from inspector.sources.problems import Changing
from inspector.text.pieces import Kept, Piece, pieces

BATCH = 2000
_BYTES_AT_ONCE = 16_000_000
"""New rows are written when they are so many, so that a long file is not kept twice."""
_ROW_BYTES = 1_000
"""About what the row of a chunk takes."""
_VALIDITY = ("conversation", "since", "until")
_RECORD_FIELDS = ("key", "position", "storage", "payload", "key_bytes", *_VALIDITY)
_CHUNK_FIELDS = (*COLUMNS, "payload", "start", "size", *_VALIDITY)
_TEXT_FIELDS = ("position", "count", "size", "digest", "is_indexed", "text", *_VALIDITY)
_SUMMARY = (
    "title",
    "names",
    "model",
    "status",
    "last_activity",
    "chunk_count",
    "identity",
    "revision",
    "is_gone",
    "verdict",
    "damage",
    "next_request",
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The models to write to: those of today, or of a migration."""

    record: type[Model] = Record
    chunk_row: type[Model] = ChunkRow
    search_text: type[Model] = SearchText
    payload: type[Model] = Payload


def write_revisions(batch: Sequence[tuple[Conversation, RevisionContent]]) -> None:
    """The next revision of each conversation, a new one or one of the database, with its summary. Rows that are as they were stay; the others are closed."""
    for conversation, content in batch:
        known_by = conversation.identity
        for name, value in asdict(content.summary).items():
            setattr(conversation, name, value)
        conversation.identity = known_by or content.summary.identity
        conversation.names = names_of(conversation.title, conversation.native_id)
        if not conversation.revision:
            # The words of earlier revisions may be those of another version.
            conversation.masked_by = inspector.__version__
        conversation.revision += 1
        conversation.is_gone = False
        conversation.verdict = conversation.damage = ""
        conversation.next_request = []
    Conversation.objects.bulk_create([conversation for conversation, _ in batch if conversation.pk is None], batch_size=500)
    old = [conversation for conversation, _ in batch if conversation.revision > 1]
    update_from(old, Conversation, _SUMMARY)
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
    rows = NewRows(Tables())
    for conversation, content in batch:
        rows.add(conversation.pk, conversation.revision, content)
    rows.write()


def names_of(title: str, native_id: str) -> str:
    """By what a conversation is searched for; the characters between them are in neither."""
    return folded(masked(title)) + END.decode() + folded(masked(native_id))


@dataclass(slots=True)
class NewRows:
    """What revisions add to the tables, collected so that few statements write it."""

    tables: Tables
    _payloads: dict[str, bytes] = field(default_factory=dict)
    _records: list[tuple[Any, ...]] = field(default_factory=list)
    _chunks: list[tuple[Any, ...]] = field(default_factory=list)
    _texts: list[tuple[Any, ...]] = field(default_factory=list)
    _bytes: int = 0

    def add(self, conversation: int, revision: int, content: RevisionContent) -> None:
        """The rows of one revision, which is later than all that the database has of its conversation."""
        parts = self._add_records(conversation, revision, content.records)
        self.add_chunks(conversation, revision, content, parts)

    def add_chunks(self, conversation: int, revision: int, content: RevisionContent, parts: list[list[Piece]]) -> None:
        """`parts` are the pieces of each record as they are kept."""
        own = (conversation, revision, None)
        open_rows = {} if revision == 1 else self._open_chunks(conversation)
        places = payload_places(content.chunks, parts)
        for columns, payload in places:
            row = columns + payload
            if open_rows.pop(row, None) is None:
                self._chunks.append(row + own)
                self._count(_ROW_BYTES)
        _close(self.tables.chunk_row, open_rows.values(), revision)
        kept = [] if revision == 1 else self._open_texts(conversation)
        used = set()
        for piece, data in _with_rows(content.words, kept) if kept else content.words:
            used.add(piece.row)
            if piece.row is None:
                self._texts.append((piece.position, data.count(END), piece.size, piece.digest, False, data.decode(), *own))
                self._count(piece.size)
        _close(self.tables.search_text, {row.pk for row in kept} - used, revision)

    def _add_records(self, conversation: int, revision: int, records: Sequence[RecordContent]) -> list[list[Piece]]:
        open_rows = [] if revision == 1 else self._open_records(conversation)
        files, others = _files(open_rows), _by_identity(open_rows)
        used: set[int | None] = set()
        last: dict[tuple[str, bytes | None], int] = {}
        parts: list[list[Piece]] = []
        for record in records:
            identity = (record.key, record.key_bytes)
            if record.storage == FILE:
                parts.append(_after(last[identity], record.pieces) if identity in last else _with_storages(record, files.pop(identity, {})))
                last[identity] = parts[-1][-1].position
            else:
                same = others.get((*identity, record.storage, record.pieces[0].digest))
                row = same.pop() if same else None
                parts.append(record.pieces if row is None else [replace(piece, row=row) for piece in record.pieces])
            for number, piece in enumerate(parts[-1]):
                if piece.row is None:
                    storage = record.storage + (GOES_ON if number else "")
                    self._records.append(
                        (record.key, piece.position, storage, piece.digest, record.key_bytes, conversation, revision, None)
                    )
                    self._payloads[piece.digest] = _bytes_of(record, piece)
                    self._count(piece.size)
                used.add(piece.row)
        _close(self.tables.record, {row.pk for row in open_rows} - used, revision)
        return parts

    def _count(self, size: int) -> None:
        """`size`: bytes that were collected."""
        self._bytes += size
        if self._bytes >= _BYTES_AT_ONCE:
            self.write()

    def write(self) -> None:
        payloads = ((name, data, False, len(data)) for name, data in self._payloads.items())
        insert(self.tables.payload, ("digest", "data", "gzipped", "size"), payloads, ignore_known=True)
        insert(self.tables.record, _RECORD_FIELDS, self._records)
        insert(self.tables.chunk_row, _CHUNK_FIELDS, self._chunks)
        insert(self.tables.search_text, _TEXT_FIELDS, self._texts)
        self._payloads, self._records, self._chunks, self._texts, self._bytes = {}, [], [], [], 0

    def _open_records(self, conversation: int) -> list["_OpenRow"]:
        rows = self.tables.record._default_manager.filter(conversation_id=conversation, until__isnull=True).order_by("position", "pk")
        return [
            _OpenRow(pk, key, None if exact is None else bytes(exact), storage, position, payload, size)
            for pk, key, exact, storage, position, payload, size in rows.values_list(
                "pk", "key", "key_bytes", "storage", "position", "payload_id", "payload__size"
            )
        ]

    def _open_chunks(self, conversation: int) -> dict[tuple[Any, ...], int]:
        rows = self.tables.chunk_row._default_manager.filter(conversation_id=conversation, until__isnull=True).order_by()
        return {row[:-1]: row[-1] for row in rows.values_list(*COLUMNS, "payload", "start", "size", "pk")}

    def _open_texts(self, conversation: int) -> list[Kept]:
        rows = self.tables.search_text._default_manager.filter(conversation_id=conversation, until__isnull=True)
        return [Kept(*row) for row in rows.order_by("position").values_list("pk", "position", "digest", "size")]


@dataclass(frozen=True, slots=True)
class _OpenRow:
    pk: int
    key: str
    key_bytes: bytes | None
    storage: str
    position: int
    digest: str
    size: int


def _files(rows: Sequence[_OpenRow]) -> dict[tuple[str, bytes | None], dict[int, _OpenRow]]:
    """The pieces of each file in order, by their row. Where two records have one key, nobody can say which of them went on: none."""
    files: dict[tuple[str, bytes | None], dict[int, _OpenRow]] = {}
    doubled: set[tuple[str, bytes | None]] = set()
    for row in rows:
        key = (row.key, row.key_bytes)
        if row.storage == FILE and key in files:
            doubled.add(key)
        if row.storage in (FILE, FILE + GOES_ON):
            files.setdefault(key, {})[row.pk] = row
    return {key: parts for key, parts in files.items() if key not in doubled}


def _by_identity(rows: Sequence[_OpenRow]) -> dict[tuple[Any, ...], list[int]]:
    """Rows that are no files by what distinguishes them. Not by position: one new row would move all those after it."""
    others: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        others.setdefault((row.key, row.key_bytes, row.storage, row.digest), []).append(row.pk)
    return others


def _bytes_of(record: RecordContent, piece: Piece) -> bytes:
    """Raises Changing where its file is not any more what it was read of."""
    data = record.data[piece.start : piece.start + piece.size]
    if isinstance(record.data, FileContent) and sha256(data).hexdigest() != piece.digest:
        raise Changing(record.data.path)
    return data


def _with_storages(record: RecordContent, old: dict[int, _OpenRow]) -> list[Piece]:
    """The pieces of a file, with the rows that are kept. The row that begins a file says so, and no other does. Raises Changing."""
    if not old:
        return record.pieces
    parts = pieces(record.data, [Kept(row.pk, row.position, row.digest, row.size) for row in old.values()])
    # The pieces are of the bytes that the file has now, and the chunks of those that a worker read: all of them are compared, after that.
    for piece in record.pieces if isinstance(record.data, FileContent) else ():
        _bytes_of(record, piece)
    return [
        piece if piece.row is None or (old[piece.row].storage == FILE) == (number == 0) else replace(piece, row=None)
        for number, piece in enumerate(parts)
    ]


def _with_rows(words: Iterable[tuple[Piece, bytes]], kept: Sequence[Kept]) -> Iterator[tuple[Piece, bytes]]:
    data = b"".join(part for _, part in words)
    for piece in pieces(data, kept, END) if data else ():
        yield piece, data[piece.start : piece.start + piece.size]


def _after(last: int, parts: Sequence[Piece]) -> list[Piece]:
    """The pieces of a second record of one key follow those of the first."""
    return [replace(piece, position=last + piece.position) for piece in parts]


def _close(table: type[Model], rows: Iterable[int], revision: int) -> None:
    closed = list(rows)
    for start in range(0, len(closed), BATCH):
        table._default_manager.filter(pk__in=closed[start : start + BATCH]).update(until=revision - 1)
