"""A session file as a plan is written into it: its lines, its entries, and whose block each chunk is."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Chunk
from inspector.conversation.tree import spoken
from inspector.programs.formats import WriteRefused
from inspector.programs.pi_openclaw.entries import ParsedSession, read_session
from inspector.text import jsontext
from inspector.text.json_lines import BOM
from inspector.text.jsontext import Unreadable

MOVED = "moved:"
"""Before the key of a chunk that the plan puts elsewhere than it is stored."""
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry of the file. `line` counts from 0 with the header; `number` is above 0 for a record that shares its line, which no program reads."""

    key: str
    id: str
    parent: str | None
    type: str
    line: int
    number: int
    entry: Mapping[str, Any]
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class File:
    """One session file: `entries` by key in file order, `origin` is the entry and the index of the block that a chunk's key names."""

    data: bytes
    session: ParsedSession
    lines: tuple[bytes, ...]
    entries: Mapping[str, StoredEntry]
    origin: Mapping[str, tuple[StoredEntry, int]]
    ids: Counter[str]

    @property
    def last(self) -> StoredEntry | None:
        """The last row that a program can parse: its leaf."""
        return next((entry for entry in reversed(tuple(self.entries.values())) if not entry.number), None)

    @property
    def eol(self) -> str:
        return "\r\n" if self.session.crlf * 2 > self.session.lines else "\n"

    def text(self, entry: StoredEntry) -> str:
        """The JSON text of an entry. Raises WriteRefused where its bytes cannot be encoded again."""
        raw = self.lines[entry.line]
        try:
            text = jsontext.decode(raw.removeprefix(BOM) if entry.line == 0 else raw).strip(" \t\r")
        except Unreadable as problem:
            raise WriteRefused(
                f"The line of entry {spoken(entry.key, entry.line)} is {problem.reason}, so it cannot be written again; leave it as it is, or repair it by hand."
            ) from None
        return _piece(text, entry) if entry.number else text


def _piece(text: str, entry: StoredEntry) -> str:
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, at + 1
        if isinstance(value, dict) and value.get("id") == entry.id and value.get("type") == entry.type:
            return text[at:end]
        at = text.find("{", end)
    raise WriteRefused(f"The record {spoken(entry.key, entry.line)} cannot be found again in its line; repair that line by hand.")


def opened(data: bytes) -> File:
    session = read_session(data)
    by_key: dict[str, StoredEntry] = {}
    origin: dict[str, tuple[StoredEntry, int]] = {}
    chunks_of: dict[str, list[Chunk]] = {}
    for chunk in session.chunks:
        if isinstance(chunk.payload.get("entry"), Mapping):
            chunks_of.setdefault(entry_key(chunk), []).append(chunk)
    for key, chunks in chunks_of.items():
        entry = chunks[0].payload["entry"]
        id_, parent, type_, number = (entry.get(name) for name in ("id", "parentId", "type", "fused"))
        stored_entry = StoredEntry(
            key,
            id_ if isinstance(id_, str) else "",
            parent if isinstance(parent, str) else None,
            type_ if isinstance(type_, str) else "",
            chunks[0].msg_idx or 0,
            number if isinstance(number, int) else 0,
            entry,
            tuple(chunks),
        )
        by_key[key] = stored_entry
        origin |= {chunk.key: (stored_entry, index) for index, chunk in enumerate(chunks)}
    ids = Counter(item.id for item in by_key.values() if item.id and not item.number)
    return File(data, session, tuple(data.split(b"\n")), by_key, origin, ids)


def entry_key(chunk: Chunk) -> str:
    return chunk.key.rpartition(".")[0]


def block_of(chunk: Chunk, file: File) -> tuple[StoredEntry, int] | None:
    """The stored block that a chunk is, or was moved from."""
    key = chunk.key
    while key.startswith(MOVED) and key not in file.origin:
        key = key.removeprefix(MOVED)
    return file.origin.get(key)
