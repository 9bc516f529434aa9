"""A session file as a plan is written into it: its lines, its entries, and whose block each chunk is."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.conversation import jsontext
from inspector.conversation.jsontext import Unreadable
from inspector.conversation.model import Chunk
from inspector.conversation.tree import spoken
from inspector.programs.formats import WriteRefused
from inspector.programs.pi_openclaw.entries import Session, read_session
from inspector.programs.pi_openclaw.lines import BOM

MOVED = "moved:"
"""Before the key of a chunk that stands elsewhere than stored."""
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Stood:
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
    """One session file: `stood` by entry key in file order, `origin` says of a chunk's key whose block it is and the how manieth."""

    data: bytes
    session: Session
    lines: tuple[bytes, ...]
    stood: Mapping[str, Stood]
    origin: Mapping[str, tuple[Stood, int]]
    ids: Counter[str]

    @property
    def last(self) -> Stood | None:
        """The last row that a program can parse: its leaf."""
        return next((each for each in reversed(tuple(self.stood.values())) if not each.number), None)

    @property
    def eol(self) -> str:
        return "\r\n" if self.session.crlf * 2 > self.session.lines else "\n"

    def text(self, stood: Stood) -> str:
        """The JSON text of an entry. Raises WriteRefused where its bytes cannot be spelled again."""
        raw = self.lines[stood.line]
        try:
            text = jsontext.decode(raw.removeprefix(BOM) if stood.line == 0 else raw).strip(" \t\r")
        except Unreadable as problem:
            raise WriteRefused(
                f"The line of entry {spoken(stood.key, stood.line)} is {problem.reason}, so it cannot be written again; leave it as it is, or repair it by hand."
            ) from None
        return _piece(text, stood) if stood.number else text


def _piece(text: str, stood: Stood) -> str:
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, at + 1
        if isinstance(value, dict) and value.get("id") == stood.id and value.get("type") == stood.type:
            return text[at:end]
        at = text.find("{", end)
    raise WriteRefused(f"The record {spoken(stood.key, stood.line)} cannot be found again in its line; repair that line by hand.")


def opened(data: bytes) -> File:
    session = read_session(data)
    stood: dict[str, Stood] = {}
    origin: dict[str, tuple[Stood, int]] = {}
    held: dict[str, list[Chunk]] = {}
    for chunk in session.chunks:
        if isinstance(chunk.payload.get("entry"), Mapping):
            held.setdefault(entry_key(chunk), []).append(chunk)
    for key, chunks in held.items():
        entry = chunks[0].payload["entry"]
        id_, parent, type_, number = (entry.get(name) for name in ("id", "parentId", "type", "fused"))
        found = Stood(
            key,
            id_ if isinstance(id_, str) else "",
            parent if isinstance(parent, str) else None,
            type_ if isinstance(type_, str) else "",
            chunks[0].msg_idx or 0,
            number if isinstance(number, int) else 0,
            entry,
            tuple(chunks),
        )
        stood[key] = found
        origin |= {chunk.key: (found, index) for index, chunk in enumerate(chunks)}
    ids = Counter(each.id for each in stood.values() if each.id and not each.number)
    return File(data, session, tuple(data.split(b"\n")), stood, origin, ids)


def entry_key(chunk: Chunk) -> str:
    return chunk.key.rpartition(".")[0]


def block_of(chunk: Chunk, file: File) -> tuple[Stood, int] | None:
    """The stored block that a chunk is, or was moved from."""
    key = chunk.key
    while key.startswith(MOVED) and key not in file.origin:
        key = key.removeprefix(MOVED)
    return file.origin.get(key)
