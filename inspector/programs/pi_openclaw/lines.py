"""A JSONL session file as its lines: split on the byte 0x0A only, each with what can be read of it and what is wrong with it.

Facts were read off pi 0.73.1, 0.87.1 and OpenClaw 2026.7.1, which skip every line that JSON.parse refuses without an error.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.text import jsontext
from inspector.text.json_pieces import skip
from inspector.text.jsontext import Unreadable

TORN, FUSED, NUL, NOT_JSON, NOT_OBJECT = "torn", "fused", "nul", "not-json", "not-object"
NO_ID, UNKNOWN_TYPE, DUPLICATE_ID = "no-id", "unknown-type", "duplicate-id"
BLANK, NOT_UTF8, SECOND_HEADER = "blank", "not-utf8", "second-header"
HEADER = "session"
_OF_TREE = ("message", "compaction", "branch_summary", "custom", "custom_message", "context_edit", "leaf", "reset")
_OF_SETTINGS = ("thinking_level_change", "model_change", "label", "session_info", "usage")
TYPES = frozenset((HEADER, *_OF_TREE, *_OF_SETTINGS))
BOM = b"\xef\xbb\xbf"
_START = re.compile(r'\{\s*"type"\s*:\s*"(?:' + "|".join(sorted(TYPES)) + r')"')
_FIRST_WITH_IDS = 2
_NUMBER = re.compile(r"\s*(?:[+-]?\d{1,300}(?:\.\d{0,300})?\s*)?", re.ASCII)
# A hostile line may hold any number of starts; each try can cost the length of the line.
_TRIES = 32


@dataclass(frozen=True, slots=True)
class RecordPart:
    """One record of a line, or a fragment of one (`value` None, `damage` and `reason` say why). `number` counts from 1 on a fused line, else 0."""

    value: dict[str, Any] | None
    number: int = 0
    damage: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """`index` counts every line of the file from 0, `offset` is in bytes; `raw` is without LF (a CR and a byte order mark stay).

    `states` says what is wrong with it: () = ok. A blank line has no parts. `ended`: an LF follows it.
    """

    index: int
    offset: int
    raw: bytes
    ended: bool
    parts: tuple[RecordPart, ...]
    states: tuple[str, ...] = ()


@dataclass(slots=True)
class Place:
    """Where a scan has come to, and what a line needs to know of those before it."""

    offset: int = 0
    index: int = 0
    first: bool = True
    """No record came yet."""
    has_ids: bool = True
    seen_ids: set[str] = field(default_factory=set)

    def copy(self) -> "Place":
        return replace(self, seen_ids=set(self.seen_ids))


def scan(data: bytes, place: Place | None = None) -> Iterator[SessionLine]:
    """The lines in order, one at a time. Joined by LF (and one more where the last is `ended`) their `raw` are the file.

    A missing id counts as damage from version 2 on; a file without a header is of version 1 where its first record has no id.
    `place` is where to begin, after whole lines; it is moved to the end.
    """
    place = place or Place()
    for index, offset, raw, ended in _split(data, place.offset, place.index):
        parts, states = _read(raw.removeprefix(BOM) if offset == 0 else raw)
        line_states = list(states)
        for part in parts:
            if part.value is None:
                continue
            if place.first:
                place.first = False
                place.has_ids = _has_ids(part.value)
                if part.value.get("type") == HEADER:
                    continue
            line_states += _states(part.value, place.seen_ids, place.has_ids)
        place.offset, place.index = offset + len(raw) + ended, index + 1
        yield SessionLine(index, offset, raw, ended, parts, tuple(dict.fromkeys(line_states)))


def header_of(data: bytes, is_whole: bool) -> Mapping[str, Any] | None:
    """The first record of a file where it is a header, {} where it is none; None where `data`, the start of the file, does not say it yet."""
    for line in scan(data):
        if not line.ended and not is_whole:
            return None
        for part in line.parts:
            if part.value is not None:
                return part.value if part.value.get("type") == HEADER else {}
    return {} if is_whole else None


def _split(data: bytes, at: int, index: int) -> Iterator[tuple[int, int, bytes, bool]]:
    while at < len(data):
        end = data.find(b"\n", at)
        ended = end >= 0
        stop = end if ended else len(data)
        yield index, at, data[at:stop], ended
        at, index = stop + 1, index + 1


def _has_ids(first: dict[str, Any]) -> bool:
    if first.get("type") != HEADER:
        return isinstance(first.get("id"), str)
    return keeps_ids(first)


def version_of(header: Mapping[str, Any]) -> float:
    """As pi compares it: 1 for a header that names no version, a text by the number that JavaScript makes of it, and NaN for what is none."""
    value = header.get("version")
    if value is None:
        return 1
    if isinstance(value, str):
        return float(value.strip() or 0) if _NUMBER.fullmatch(value) else math.nan
    return value if isinstance(value, int | float) else math.nan


def keeps_ids(header: Mapping[str, Any]) -> bool:
    """Whether the ids of the entries count. Pi gives new ones below version 2; `"0.2.0"` is below nothing, so that it leaves such a file as it is."""
    return not version_of(header) < _FIRST_WITH_IDS


def _states(value: dict[str, Any], seen_ids: set[str], has_ids: bool) -> Iterator[str]:
    kind, id_ = value.get("type"), value.get("id")
    if kind == HEADER:
        yield SECOND_HEADER
        return
    if not isinstance(kind, str) or kind not in TYPES:
        yield UNKNOWN_TYPE
    if not has_ids:
        return
    if not isinstance(id_, str) or not id_:
        yield NO_ID
    elif id_ in seen_ids:
        yield DUPLICATE_ID
    else:
        seen_ids.add(id_)


def _read(raw: bytes) -> tuple[tuple[RecordPart, ...], tuple[str, ...]]:
    if not raw.strip():
        return (), (BLANK,)
    if b"\0" in raw:
        count = raw.count(b"\0")
        return (RecordPart(None, 0, NUL, f"{count:,} of its {len(raw):,} bytes are NUL, as a loss of power leaves them"),), (NUL,)
    states: tuple[str, ...] = ()
    try:
        text = jsontext.decode(raw)
    except Unreadable:
        # The programs read such bytes as U+FFFD, and so the line stays an entry for them.
        text, states = raw.decode("utf-8", "replace"), (NOT_UTF8,)
    part = _part(text)
    if part.damage in (TORN, NOT_JSON) and (parts := _pieces(text)):
        return parts, (*states, FUSED)
    return (part,), (*states, part.damage) if part.damage else states


def _part(text: str, number: int = 0) -> RecordPart:
    """The record that `text` is. The plain decoder comes first: how jsontext counts depths is slow on text that is no JSON."""
    try:
        value = _DECODER.decode(text)
        if text.count("[") + text.count("{") > jsontext.MAX_DEPTH:
            value = jsontext.parse(text)
    except json.JSONDecodeError as error:
        damage = TORN if text.lstrip()[:1] == "{" else NOT_JSON
        return RecordPart(None, number, damage, f"not JSON: {error.msg} at character {error.pos:,} of {len(text):,}")
    except RecursionError:
        return RecordPart(None, number, "too-deep", f"nested more than {jsontext.MAX_DEPTH} levels deep, which is over what is read here")
    except Unreadable as problem:
        return RecordPart(None, number, problem.damage, problem.reason)
    except ValueError:
        return RecordPart(None, number, "huge-integer", "holds an integer of over 4,300 digits, which is over what is read here")
    if not isinstance(value, dict):
        return RecordPart(None, number, NOT_OBJECT, "JSON, but no object")
    return RecordPart(value, number)


def _pieces(text: str) -> tuple[RecordPart, ...]:
    """The records and fragments of a line that has several without LF between them; () where it is one torn record."""
    parts: list[RecordPart] = []
    at = skip(text, 0)
    while at < len(text) and len(parts) < _TRIES:
        end = _record_end(text, at)
        start = at if end else _next_start(text, at)
        if start is None:
            break
        if start > at:
            parts.append(_fragment(text, at, start, len(parts) + 1))
            end = _record_end(text, start)
        parts.append(_part(text[start:end], len(parts) + 1))
        at = skip(text, end)
    if not any(part.value is not None for part in parts):
        return ()
    if at < len(text):
        parts.append(_fragment(text, at, len(text), len(parts) + 1))
    return tuple(parts)


def _fragment(text: str, at: int, end: int, number: int) -> RecordPart:
    return RecordPart(
        None, number, TORN, f"a fragment of {end - at:,} characters, from character {at:,} of the line on, is no whole record"
    )


def _record_end(text: str, at: int) -> int:
    """Where the object at `at` ends; 0 where none does."""
    if text[at] != "{":
        return 0
    try:
        return _DECODER.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return 0


def _next_start(text: str, at: int) -> int | None:
    """The next record after a fragment. A block inside a torn message is none: a record is of a known type and has a place or a time."""
    for tried, match in enumerate(_START.finditer(text, at + 1)):
        if tried == _TRIES:
            break
        try:
            value, _ = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and ("parentId" in value or isinstance(value.get("timestamp"), str)):
            return match.start()
    return None


def _no_constant(name: str) -> Any:
    raise Unreadable(TORN, f"not JSON: {name} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
