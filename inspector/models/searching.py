"""Search in the words of chunks, with the same answers on every database: a part of the words is found whatever its case (Unicode's full case folding).

What is searched is kept folded, so that no database's own idea of case matters, in rows of some tens of kilobytes. Words of three characters and more are
looked up in an index of three-character parts: FTS5 on SQLite, pg_trgm on PostgreSQL. It only says in which rows to look; what matches is decided by a
comparison of the text, also where there is no index or where rows are not in it yet. Those are few: `index_texts` puts them in after an import.
"""

import json
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum

from inspector.conversation.model import Kind
from inspector.models import loading
from inspector.models.conversation import ChunkRow, Conversation, Payload, Record, SearchText
from inspector.models.prepared import prepared
from inspector.models.transactions import is_in_memory, one_writer
from inspector.models.visible import one_parameter
from inspector.presentation.masked_json import masked_bytes
from inspector.presentation.visible import folded

END = "\x1f"
"""Between the words of chunks, and in none of them."""
TABLE = "inspector_search_index"
INDEX = "inspector_search_trigrams"
FEW = 1_000
"""Rows that are compared one by one. A word that is in more of them is in most conversations, and each needs only its first."""
LONGEST_INDEXED = 8_000_000
"""Bytes of one text; a longer one is compared at each search."""
_OF_CALLS = (Kind.TOOL_CALL, Kind.TOOL_RESULT)
BATCH = 100
WAITING = 200
"""Rows that may stay out of the index: they are compared in a few milliseconds."""

NO_INDEX = {
    "sqlite": "This SQLite has no full-text index for parts of words (FTS5 with the trigram tokenizer, SQLite 3.34), so a search reads all texts.",
    "postgresql": (
        "The extension pg_trgm is not there and could not be created, so a search reads all texts: have an administrator run "
        "CREATE EXTENSION pg_trgm in this database, and Inspector makes the index at the next search."
    ),
}
_CREATE = {
    "sqlite": (
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {TABLE} USING fts5(text, content='', detail=none, columnsize=0, tokenize='trigram case_sensitive 1')",
    ),
    "postgresql": (
        "CREATE EXTENSION IF NOT EXISTS pg_trgm",
        f"CREATE INDEX IF NOT EXISTS {INDEX} ON inspector_searchtext USING gin (text gin_trgm_ops) WHERE is_indexed",
    ),
}
_MAY_CREATE = {"sqlite": "SELECT 1", "postgresql": "SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'"}
_HAS = {
    "sqlite": f"SELECT 1 FROM sqlite_master WHERE name = '{TABLE}'",  # noqa: S608 (names of our own)
    "postgresql": f"SELECT 1 FROM pg_indexes WHERE indexname = '{INDEX}'",  # noqa: S608
}


def conversations_with(q: str) -> Q:
    """The condition for a conversation that has `q` in its title, its id, or the words of its newest revision. `q` is what a person typed."""
    words = folded(q)
    named = Q(names__contains=words) | Q(oid__startswith=words)
    texts = _few(words)
    return named | Q(pk__in=one_parameter(_many(words) if texts is None else list({conversation for _, conversation in texts})))


def calls_with(call_id: str) -> dict[int, list[int]] | None:
    """Conversation -> the seqs of the calls and results of its newest revision that have this id, whole, in their words; None where the index names too
    many texts to look at, or there is none."""
    words = folded(call_id)
    texts = _few(words)
    if texts is None:
        return None
    whole = re.compile(rf"(?<![\w-]){re.escape(words)}(?![\w-])")
    known = SearchText.objects.filter(pk__in=one_parameter([pk for pk, _ in texts])).order_by("conversation", "position")
    result: dict[int, list[int]] = {}
    for conversation, position, count, text in known.values_list("conversation_id", "position", "count", "text").iterator(chunk_size=20):
        numbers = [number for number, part in enumerate(text.split(END)[:count]) if whole.search(part)]
        if not numbers:
            continue
        before = SearchText.objects.filter(conversation=conversation, until__isnull=True, position__lt=position)
        first = before.aggregate(chunks=Sum("count"))["chunks"] or 0
        rows = ChunkRow.objects.filter(conversation=conversation, until__isnull=True, kind__in=_OF_CALLS)
        places = [first + number for number in numbers[:FEW]]
        there = rows.filter(position__in=one_parameter(places)).order_by("position").values_list("seq", flat=True)
        if seqs := [seq for seq in there if seq is not None]:
            result.setdefault(conversation, []).extend(seqs)
    return result


def counts(q: str, conversations: Sequence[int]) -> dict[int, int]:
    """How many chunks of the newest revision of each conversation have `q` in their words; those that have none are left out."""
    words = folded(q)
    rows = SearchText.objects.filter(conversation_id__in=conversations, until__isnull=True, text__contains=words).order_by()
    result: dict[int, int] = {}
    for conversation, text in rows.values_list("conversation_id", "text").iterator(chunk_size=100):
        result[conversation] = result.get(conversation, 0) + sum(words in part for part in text.split(END))
    return result


def matching_positions(conversation: Conversation, revision: int, q: str) -> list[int]:
    """Places, from 0, of the chunks of a revision that have `q` in their words: the name and id of a call, its arguments, and the text."""
    words = folded(q)
    rows = SearchText.objects.filter(SearchText.at(revision), conversation=conversation)
    first_of: dict[int, int] = {}
    first = 0
    for pk, count in rows.order_by("position").values_list("pk", "count"):
        first_of[pk] = first
        first += count
    positions: list[int] = []
    for pk, count, text in rows.filter(text__contains=words).order_by().values_list("pk", "count", "text").iterator(chunk_size=20):
        # After the last chunk there is an END too, and no chunk.
        positions += [first_of[pk] + number for number, part in enumerate(text.split(END)[:count]) if words in part]
    return sorted(positions)


def positions_in_bytes(conversation: Conversation, revision: int, q: str) -> list[int]:
    """Places, from 0, of the chunks of a revision that have `q` in their stored bytes, whatever the case of ASCII letters.

    Records, and pieces of a file, are read one at a time. The conversation is loaded only where the bytes of chunks are no part of them.
    """
    part = q.encode("utf-8", "surrogatepass").lower()
    records = Record.objects.filter(Record.at(revision), conversation=conversation).order_by()
    values = records.values_list("payload_id", "payload__data").iterator(chunk_size=20)
    payloads = [digest for digest, data in values if part in bytes(data).lower()]
    rows = ChunkRow.objects.filter(ChunkRow.at(revision), conversation=conversation).order_by()
    positions: set[int] = set()
    for start in range(0, len(payloads), FEW):
        slices: dict[str, list[tuple[int, int, int]]] = {}
        for digest, *place in rows.filter(payload__in=payloads[start : start + FEW]).values_list("payload", "position", "start", "size"):
            slices.setdefault(digest, []).append((place[0], place[1], place[2]))
        for digest, places in slices.items():
            data = bytes(Payload.objects.values_list("data", flat=True).get(pk=digest))
            positions.update(position for position, first, size in places if _shows(data[first : first + size], part))
    if without_bytes := set(rows.filter(payload="").values_list("position", flat=True)):
        chunks = loading.stored(conversation, revision).conversation.chunks
        positions.update(position for position in without_bytes if _shows(chunks[position].raw, part))
    return sorted(positions)


def _shows(data: bytes, part: bytes) -> bool:
    """Whether stored bytes have it outside of their masks: a search that matched a secret would give it away, letter by letter."""
    return part in data.lower() and part in masked_bytes(data).lower()


def _many(words: str) -> list[int]:
    """Conversations with `words`, each asked for its first text that has them: a word of most texts is in one of the first."""
    texts = SearchText.objects.filter(conversation=OuterRef("pk"), until__isnull=True, text__contains=words).order_by()
    # Not EXISTS, of which PostgreSQL makes a join that compares all texts.
    first = Conversation.objects.annotate(first=Subquery(texts.values("pk")[:1]))
    return list(first.filter(first__isnull=False).order_by().values_list("pk", flat=True))


def _few(words: str) -> list[tuple[int, int]] | None:
    """(text, conversation) of the texts with `words`; None where they are in so many that each conversation is asked for its first."""
    texts = SearchText.objects.filter(until__isnull=True).order_by()
    match = texts.filter(text__contains=words).values_list("pk", "conversation_id")
    if connection.vendor == "postgresql":
        in_index = list(match.filter(is_indexed=True)[:FEW])
        if len(in_index) == FEW:
            return None
    elif len(words) < 3 or not has_index():
        return None
    else:
        candidates = _in_sqlite_index(words)
        if len(candidates) == FEW:
            return None
        in_index = list(match.filter(pk__in=candidates))
    return list({*in_index, *match.filter(is_indexed=False)})


def _in_sqlite_index(words: str) -> list[int]:
    """Rows that have all three-character parts of `words`."""
    parts = dict.fromkeys(words[at : at + 3] for at in range(len(words) - 2))
    quoted = " AND ".join('"' + part.replace('"', '""') + '"' for part in islice(parts, 60))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH %s LIMIT %s", (quoted, FEW))  # noqa: S608 (names of our own)
        return [row for (row,) in cursor.fetchall()]


def no_index() -> str:
    """Why searches are slow, as a sentence with what to do; "" where there is an index."""
    return "" if has_index() else NO_INDEX[connection.vendor]


def create_index(database: BaseDatabaseWrapper) -> bool:
    """Makes the index where the database can and the user may. Where not, NO_INDEX says what that means."""
    try:
        with transaction.atomic(database.alias), database.cursor() as cursor:
            for sql in _CREATE[database.vendor]:
                cursor.execute(sql)
    except DatabaseError:
        return False
    if database.vendor == "postgresql":
        # Unpacked four times as fast as what PostgreSQL takes by itself; one that was built without it goes on with that.
        with suppress(DatabaseError), transaction.atomic(database.alias), database.cursor() as cursor:
            cursor.execute("ALTER TABLE inspector_searchtext ALTER COLUMN text SET COMPRESSION lz4")
    return True


def has_index() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_HAS[connection.vendor])
        return cursor.fetchone() is not None


def _can_have_index() -> bool:
    """Whether it is there, or was made now: an administrator may have created the extension since. Nothing is tried that the server would log as an error."""
    if has_index():
        return True
    with connection.cursor() as cursor:
        cursor.execute(_MAY_CREATE[connection.vendor])
        return cursor.fetchone() is not None and create_index(connection)


def _waiting() -> QuerySet[SearchText]:
    return SearchText.objects.filter(is_indexed=False, until__isnull=True, size__lte=LONGEST_INDEXED).order_by("pk")


@prepared
def _many_waiting() -> QuerySet[SearchText, Any]:
    return _waiting().values_list("pk")[:WAITING]


def index_texts() -> int:
    """Puts all texts that are not in the index into it, and gives their number. Every batch is a transaction of its own, so that other writers wait briefly."""
    if not _can_have_index():
        return 0
    total = 0
    while done := _index_batch():
        total += done
    return total


def forget_texts(conversations: Sequence[int], tidies: bool = True) -> None:
    """Takes the words of conversations out of the index; their texts are deleted by the caller, who calls `tidy_index` where this does not. Only inside
    `one_writer`."""
    if connection.vendor == "sqlite" and has_index():
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {TABLE} ({TABLE}, rowid, text) SELECT 'delete', id, text FROM inspector_searchtext "  # noqa: S608 (names of our own)
                "WHERE conversation_id IN (SELECT value FROM json_each(%s)) AND is_indexed",
                (json.dumps(list(conversations)),),
            )
        if tidies:
            tidy_index()


def tidy_index() -> None:
    """What is merged away of the index takes its deleted entries along; it takes as long as all of the index is large."""
    if connection.vendor == "sqlite" and has_index():
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {TABLE} ({TABLE}) VALUES ('optimize')")  # noqa: S608 (names of our own)


def replace_texts(texts: Mapping[int, str]) -> None:
    """Other words in rows, by their keys; they are in the index again when `index_texts` put them there. Only inside `one_writer`."""
    if not texts:
        return
    if connection.vendor == "sqlite" and has_index():
        with connection.cursor() as cursor:
            for pk in texts:
                cursor.execute(
                    f"INSERT INTO {TABLE} ({TABLE}, rowid, text) SELECT 'delete', id, text FROM inspector_searchtext "  # noqa: S608 (names of our own)
                    "WHERE id = %s AND is_indexed",
                    (pk,),
                )
            cursor.execute(f"INSERT INTO {TABLE} ({TABLE}) VALUES ('optimize')")  # noqa: S608
    for pk, text in texts.items():
        data = text.encode()
        SearchText.objects.filter(pk=pk).update(text=text, size=len(data), digest=sha256(data).hexdigest(), is_indexed=False)


def _index_batch() -> int:
    with one_writer():
        batch = list(_waiting().values_list("pk", flat=True)[:BATCH])
        if batch and connection.vendor == "sqlite":
            holes = ", ".join(["%s"] * len(batch))
            with connection.cursor() as cursor:
                # Only texts: what is gone is looked up in the table, where it is closed.
                cursor.execute(f"INSERT INTO {TABLE} (rowid, text) SELECT id, text FROM inspector_searchtext WHERE id IN ({holes})", batch)  # noqa: S608
        # The index of PostgreSQL has the rows that say so.
        SearchText.objects.filter(pk__in=batch).update(is_indexed=True)
    return len(batch)


_at_work = threading.Lock()


def index_in_background() -> None:
    """Brings the index up to date while pages are answered, where an import left much out of it. One thread at a time; what fails is tried at the next call."""
    if is_in_memory() or len(_many_waiting()) < WAITING or not _at_work.acquire(blocking=False):
        return

    def work() -> None:
        try:
            with suppress(DatabaseError):
                index_texts()
        finally:
            connection.close()
            _at_work.release()

    threading.Thread(target=work, name="search index", daemon=True).start()
