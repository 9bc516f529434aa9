"""Bytes that a strategy gives to the lines of records, where not their content but the line itself is repaired."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from inspector.conversation.edits import Edit, Replace
from inspector.conversation.model import Chunk
from inspector.programs.codex.entries import entry_of, line_of
from inspector.programs.codex.twins import place_of
from inspector.text import jsontext

_DECODER = json.JSONDecoder()


def with_bytes(
    chunks: Sequence[Chunk], raw: bytes, changed: Mapping[str, Any] | None = None, removed: Sequence[str] = ()
) -> Iterator[Edit]:
    """The chunks of one record with other bytes, and with members of their entry changed or removed."""
    for chunk in chunks:
        new = replace(chunk, raw=raw)
        if entry := entry_of(chunk):
            kept = {name: value for name, value in entry.items() if name not in removed}
            new = replace(new, payload={**chunk.payload, "entry": {**kept, **(changed or {})}})
        yield Replace(chunk, new)


def lines(chunks: Sequence[Chunk]) -> Iterator[list[list[Chunk]]]:
    """The records of each line."""
    for _, of_line in groupby(chunks, key=lambda chunk: line_of(chunk.key)):
        yield [list(record) for _, record in groupby(of_line, key=lambda chunk: place_of(chunk.key).partition(".")[0])]


def pieces(raw: bytes, is_record: Sequence[bool]) -> list[bytes]:
    """The text of each record and fragment of a line that holds several, in their order; [] where they are not found again."""
    text = raw.decode("utf-8", "replace").strip()
    parts: list[str] = []
    at = 0
    for number, whole in enumerate(is_record):
        while at < len(text) and text[at].isspace():
            at += 1
        if not whole:
            following = number + 1 < len(is_record)
            end = _next_record(text, at) if following else len(text)
            if end <= at:
                return []
            parts.append(text[at:end].rstrip())
            at = end
            continue
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        parts.append(text[at:end])
        at = end
    return [jsontext.encode(part) for part in parts] if not text[at:].strip() else []


def _next_record(text: str, at: int) -> int:
    """Where the next whole record begins after a fragment; 0 where none does."""
    tried = 0
    begin = text.find('{"timestamp"', at + 1)
    while begin > 0 and tried < 32:
        try:
            value, _ = _DECODER.raw_decode(text, begin)
            if isinstance(value, dict) and "payload" in value:
                return begin
        except (ValueError, RecursionError):
            pass
        tried += 1
        begin = text.find('{"timestamp"', begin + 1)
    return 0
