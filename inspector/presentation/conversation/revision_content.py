"""A conversation as it was read, as the plain values of which its rows are made: any process can do it, and nothing here reads or writes a database."""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from inspector import bundle
from inspector.conversation.model import Chunk, Conversation, Span, kept_raw
from inspector.planning.preview import digest
from inspector.presentation.conversation.row_words import arguments
from inspector.presentation.masking import masked
from inspector.presentation.visible import beginning, folded, visible
from inspector.programs.formats import FILE, Stored
from inspector.text.light import light_dataclass
from inspector.text.pieces import Content, Piece, collected, pieces
from inspector.traces.log_record import LATEST

END = b"\x1f"
"""Ends the words of a chunk: `folded` leaves no such character in words, and none in what is searched for."""
_END = END.decode()
_AT_ONCE = 500
"""Chunks that are given at once."""
_SEARCHES = 64
"""So many chunks of a record may have bytes that are not where the chunk before them says; then the record is not searched for others."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What lists show of a conversation before it is judged; `last_activity` is in epoch milliseconds; `identity` is what links that leave the machine name it by."""

    title: str
    model: str
    status: str
    last_activity: int | None
    chunk_count: int
    identity: str


@light_dataclass(frozen=True, slots=True)
class RecordContent:
    """One record: its key as text, and as bytes where it does not survive as that; `pieces` are those of a value that was not kept before."""

    key: str
    key_bytes: bytes | None
    storage: str
    data: Content
    pieces: list[Piece]


ChunkPlace = tuple[tuple[Any, ...], int, int, int]
"""What ChunkRow has of a chunk (in the order of COLUMNS), and where its raw bytes are: (columns, record, start, size), the record -1 for none. A worker sends one for each chunk."""
COLUMNS = ("position", "seq", "msg_idx", "chunk_idx", "role", "kind", "key", "at_time", "check_sum")


@dataclass(frozen=True, slots=True)
class RevisionContent:
    """`words` are the searchable words of all chunks, folded, in UTF-8, with END after each: their pieces where none were kept before, each with its bytes.

    Those of a long conversation are read when they are asked for, and so are `chunks`.
    `shared_facts` are those that are in none of the conversation's own records.
    """

    native_id: str
    digest: str
    summary: Summary
    shared_facts: dict[str, str | None]
    records: list[RecordContent]
    chunks: Iterable[ChunkPlace] = ()
    words: Iterable[tuple[Piece, bytes]] = ()


def revision_content(stored: Stored) -> RevisionContent:
    places: list[ChunkPlace] = []
    words = list(collected(_spoken(stored, places), END))
    return replace(revision_head(stored), chunks=places, words=words)


def revision_head(stored: Stored) -> RevisionContent:
    """Without chunks and words."""
    return RevisionContent(
        native_id=stored.conversation.native_id,
        digest=digest(stored),
        summary=_summary(stored.conversation),
        shared_facts=shared_facts(stored),
        records=_records(stored),
    )


def revision_parts(stored: Stored) -> Iterator[tuple[str, Any]]:
    """Chunks and words of a long conversation, a few at a time: ("chunks" or "words", some of them)."""
    places: list[ChunkPlace] = []
    for piece in collected(_spoken(stored, places), END):
        if len(places) >= _AT_ONCE:
            yield "chunks", places[:]
            places.clear()
        yield "words", [piece]
    yield "chunks", places


def _spoken(stored: Stored, places: list[ChunkPlace]) -> Iterator[bytes]:
    """The words of one chunk after the other, whose places are added to `places`."""
    for place, words in _chunks(stored):
        places.append(place)
        # Masked: a search that matched a secret would give it away, letter by letter, to who may not see it.
        yield (folded(masked(words)) + _END).encode()


def words_of(chunks: Iterable[Chunk]) -> Iterator[str]:
    """The searchable words of each chunk as SearchText has them, without END."""
    return (folded(masked(searchable(chunk))) for chunk in chunks)


def shared_facts(stored: Stored) -> dict[str, str | None]:
    """Facts that are in none of the conversation's own records."""
    own = {record.key for record in stored.records}
    return {name: fact.value for name, fact in stored.conversation.facts.items() if fact.key and fact.key not in own}


def _summary(content: Conversation) -> Summary:
    last = content.fact("lastActivityAt")
    return Summary(
        title=beginning(visible(content.title), 300),
        model=beginning(visible(content.fact("model") or ""), 200),
        status=visible(content.fact("status") or "")[:20],
        last_activity=int(last) if last and last.isdecimal() and len(last) < 16 and int(last) <= LATEST else None,
        chunk_count=len(content.chunks),
        identity=identity_of(content),
    )


def identity_of(content: Conversation) -> str:
    """The same for every copy of a store, on every machine: over the program, the native id and what the first chunk says, in 12 hex digits.

    Not over its numbers, which a repair may change.
    """
    if sealed := bundle.identity(content):
        return sealed
    first = content.chunks[0] if content.chunks else None
    beginning = (first.role, first.kind.value, first.text) if first else ()
    parts = (content.format, content.native_id, *beginning)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _records(stored: Stored) -> list[RecordContent]:
    records: list[RecordContent] = []
    for position, record in enumerate(stored.records):
        key, data = visible(record.key), record.value.data
        exact = None if key == record.key else record.key.encode("utf-8", "surrogateescape")
        is_file = record.value.type == FILE
        parts = pieces(data, ()) if is_file else [Piece(position, hashlib.sha256(data).hexdigest(), 0, len(data))]
        records.append(RecordContent(key, exact, record.value.type, data, parts))
    return records


def _chunks(stored: Stored) -> Iterator[tuple[ChunkPlace, str]]:
    """Each chunk with its searchable words."""
    numbers = {record.key: number for number, record in enumerate(stored.records)}
    search: dict[int, _Search] = {}
    # A chunk is named by its record: it has the record's key, or that and the number of a block. Of one record only, by anything.
    alone = 0 if len(stored.records) == 1 else -1
    roles: dict[str, str] = {}
    for position, chunk in enumerate(stored.conversation.chunks):
        words = searchable(chunk)
        if chunk.role not in roles:
            roles[chunk.role] = visible(chunk.role)[:20]
        number = numbers.get(chunk.key, -1)
        if number < 0:
            number = numbers.get(chunk.key.rpartition("#")[0], alone)
        if number >= 0 and number not in search:
            search[number] = _Search(stored.records[number].value.data)
        start, size = search[number].place(kept_raw(chunk)) if number >= 0 else (-1, 0)
        columns = (
            *(position, _column(chunk.seq), _column(chunk.msg_idx), _column(chunk.chunk_idx)),
            *(roles[chunk.role], chunk.kind.value, visible(chunk.key), _column(chunk.at), _sum(chunk, words)),
        )
        yield (columns, number, start, size) if start >= 0 else (columns, -1, 0, 0), words


class _Search:
    """Finds the bytes of chunks in their record, line after line."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._kept: bytes | Span = b""
        self._start = self._stop = self._missed = 0

    def place(self, kept: bytes | Span) -> tuple[int, int]:
        """Where in the record the bytes are, and their number; -1 for no such place. Blocks of one line have the same bytes, and not only equal ones."""
        if kept is self._data:
            return 0 if kept else -1, len(kept)
        if isinstance(kept, Span):
            if kept.data is self._data and kept.stop > kept.start:
                return kept.start, kept.stop - kept.start
            raw = kept.data[kept.start : kept.stop]
        else:
            raw = kept
        return self._start_of(raw, kept), len(raw)

    def _start_of(self, raw: bytes, kept: bytes | Span) -> int:
        if kept is self._kept or not raw or self._missed >= _SEARCHES:
            return self._start if raw and kept is self._kept else -1
        start = self._data.find(raw, self._stop)
        if start < 0:
            self._missed += 1
            return self._data.find(raw, 0, self._stop)
        self._kept, self._start, self._stop = kept, start, start + len(raw)
        return start


def check_sum(chunk: Chunk) -> int:
    """Of what a page says of the chunk alone; numbers and place are not in it, which depend on what is before it."""
    return _sum(chunk, searchable(chunk))


def _sum(chunk: Chunk, words: str) -> int:
    about = "\x1f".join((chunk.kind, chunk.role, chunk.damage, chunk.reason, str(chunk.is_error), words))
    return crc32(about.encode("utf-8", "surrogatepass"))


def payload_places(places: Iterable[ChunkPlace], records: list[list[Piece]]) -> Iterator[tuple[tuple[Any, ...], tuple[str, int, int]]]:
    """The columns of each chunk, and (digest, start, size): the piece with its raw bytes and where they are in it, ("", 0, 0) for none. `records` are the pieces of each record."""
    starts = [[piece.start for piece in parts] for parts in records]
    for columns, record, start, size in places:
        piece = records[record][bisect_right(starts[record], start) - 1] if record >= 0 else None
        offset = start - piece.start if piece else 0
        yield columns, (piece.digest, offset, size) if piece and offset + size <= piece.size else ("", 0, 0)


def searchable(chunk: Chunk) -> str:
    """What a search looks through: the words, and what names a call."""
    return " ".join(filter(None, (chunk.tool_name, chunk.call_id, arguments(chunk), chunk.text)))


def _column(number: int | None) -> int | None:
    """None where the number is beyond what a column holds; the exact one is in the record."""
    return number if number is not None and abs(number) < 2**63 else None
