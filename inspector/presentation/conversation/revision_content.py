"""A conversation as it was read, as the plain values of which its rows are made: any process can do it, and nothing here reads or writes a database."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Chunk, Conversation
from inspector.planning.preview import digest
from inspector.presentation.conversation.row_words import arguments
from inspector.presentation.visible import visible
from inspector.programs.formats import Stored
from inspector.traces.log_record import LATEST

TEXT_KEPT = 2000
RECORD_TEXT_KEPT = 200_000
"""Characters of one record, which may be a whole file, that a search looks through."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What lists show of a conversation before it is judged; `last_activity` is in epoch milliseconds."""

    title: str
    model: str
    status: str
    last_activity: int | None
    chunk_count: int


@dataclass(frozen=True, slots=True)
class RevisionContent:
    """`rows` are those of Record in the order of its records: (key, position, storage, payload, key_bytes, seq, msg_idx, chunk_idx, role, kind, text).

    `payloads` are the bytes by their digest. `shared_facts` are those that are in none of the conversation's own records.
    """

    native_id: str
    digest: str
    summary: Summary
    shared_facts: dict[str, str | None]
    rows: list[tuple[Any, ...]]
    payloads: dict[str, bytes]


def revision_content(stored: Stored) -> RevisionContent:
    names = [hashlib.sha256(record.value.data).hexdigest() for record in stored.records]
    return RevisionContent(
        native_id=stored.conversation.native_id,
        digest=digest(stored),
        summary=_summary(stored.conversation),
        shared_facts=shared_facts(stored),
        rows=_rows(stored, names),
        payloads=dict(zip(names, (record.value.data for record in stored.records), strict=True)),
    )


def shared_facts(stored: Stored) -> dict[str, str | None]:
    """Facts that are in none of the conversation's own records."""
    own = {record.key for record in stored.records}
    return {name: fact.value for name, fact in stored.conversation.facts.items() if fact.key and fact.key not in own}


def _summary(content: Conversation) -> Summary:
    last = content.fact("lastActivityAt")
    return Summary(
        title=visible(content.title)[:300],
        model=visible(content.fact("model") or "")[:200],
        status=visible(content.fact("status") or "")[:20],
        last_activity=int(last) if last and last.isdecimal() and len(last) < 16 and int(last) <= LATEST else None,
        chunk_count=len(content.chunks),
    )


def _rows(stored: Stored, names: Sequence[str]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
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
        rows.append((key, position, record.value.type, name, exact, *columns))
    return rows


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
