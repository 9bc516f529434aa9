"""A session file as a plan is written into it: its lines, its entries, and whose block each chunk is."""

import json
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import is_
from typing import Any, overload

from inspector.conversation.edits import MOVED
from inspector.conversation.model import Chunk
from inspector.conversation.tree import spoken
from inspector.programs.formats import WriteRefused
from inspector.programs.pi_openclaw.entries import ParsedSession, read_session
from inspector.text import jsontext
from inspector.text.json_lines import BOM
from inspector.text.jsontext import Unreadable
from inspector.text.light import MAPPING, light_dataclass

_DECODER = json.JSONDecoder()


@light_dataclass(frozen=True, slots=True)
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


class FileLines(Sequence[bytes]):
    """The bytes between the line ends, cut out when they are asked for: a repair compares two files of any size line by line."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = array("q", [0])
        while end := data.find(b"\n", self._starts[-1]) + 1:
            self._starts.append(end)

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        numbers = range(len(self._starts))[place]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        is_last = numbers + 1 == len(self._starts)
        return self._data[self._starts[numbers] : len(self._data) if is_last else self._starts[numbers + 1] - 1]


@dataclass(frozen=True, slots=True)
class File:
    """One session file: `entries` by key in file order, `origin` is the entry and the index of the block that a chunk's key names."""

    data: bytes
    session: ParsedSession
    lines: "FileLines"
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


def opened(data: bytes, before: File | None = None) -> File:
    """`before` is a file that these bytes may go on from: what they share with it is taken from there."""
    session = read_session(data)
    known = before if before is not None and _goes_on(data, session, before) else _NOTHING
    entries, origin, ids = dict(known.entries), dict(known.origin), known.ids.copy()
    chunks_of: dict[str, list[Chunk]] = {}
    for chunk in islice(session.chunks, len(known.session.chunks), None):
        if isinstance(chunk.payload.get("entry"), MAPPING):
            chunks_of.setdefault(entry_key(chunk), []).append(chunk)
    for key, chunks in chunks_of.items():
        entry = chunks[0].payload["entry"]
        id_, parent, type_, number = entry.get("id"), entry.get("parentId"), entry.get("type"), entry.get("fused")
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
        entries[key] = stored_entry
        for index, chunk in enumerate(chunks):
            origin[chunk.key] = stored_entry, index
        if stored_entry.id and not stored_entry.number:
            ids[stored_entry.id] += 1
    return File(data, session, FileLines(data), entries, origin, ids)


_NOTHING = File(b"", ParsedSession(), FileLines(b""), {}, {}, Counter())


def _goes_on(data: bytes, session: ParsedSession, before: File) -> bool:
    """Whether the file begins with `before`, whose chunks are the very ones that were read of this one."""
    chunks = before.session.chunks
    is_longer = len(chunks) <= len(session.chunks) and before.data.endswith(b"\n") and data.startswith(before.data)
    return is_longer and all(map(is_, chunks, session.chunks))


def entry_key(chunk: Chunk) -> str:
    return chunk.key.rpartition(".")[0]


def block_of(chunk: Chunk, file: File) -> tuple[StoredEntry, int] | None:
    """The stored block that a chunk is, or was moved from."""
    key = chunk.key
    while key.startswith(MOVED) and key not in file.origin:
        key = key.removeprefix(MOVED)
    return file.origin.get(key)
