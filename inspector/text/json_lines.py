"""A file of JSON lines as its lines: split on the byte 0x0A only, each with the records that can be read of it and what is wrong with it.

A line of a crash, a full disk or two writers may be cut off, hold several records, or hold NUL bytes: what is whole on it is still given.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from inspector.text import jsontext
from inspector.text.json_pieces import skip
from inspector.text.jsontext import Unreadable
from inspector.text.light import light_dataclass

TORN, FUSED, NUL, NOT_JSON, NOT_OBJECT = "torn", "fused", "nul", "not-json", "not-object"
BLANK, NOT_UTF8 = "blank", "not-utf8"
BOM = b"\xef\xbb\xbf"
# A hostile line may hold any number of starts; each try can cost the length of the line.
_TRIES = 32


@light_dataclass(frozen=True, slots=True)
class RecordPart:
    """One record of a line, or a fragment of one (`value` None, `damage` and `reason` say why). `number` counts from 1 on a fused line, else 0."""

    value: dict[str, Any] | None
    number: int = 0
    damage: str = ""
    reason: str = ""
    text: str = ""
    """Its own text, where it shares its line with others."""


@light_dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class RecordStart:
    """How a program's record begins, and which object is one: a block inside of a torn record is none."""

    pattern: re.Pattern[str]
    is_record: Callable[[dict[str, Any]], bool]


def lines(data: bytes, start: RecordStart, offset: int = 0, index: int = 0) -> Iterator[SessionLine]:
    """The lines in order, one at a time. Joined by LF (and one more where the last is `ended`) their `raw` are the file from `offset`,
    which is the beginning of line `index`."""
    at = offset
    while at < len(data):
        end = data.find(b"\n", at)
        ended = end >= 0
        stop = end if ended else len(data)
        raw = data[at:stop]
        parts, states = _read(raw.removeprefix(BOM) if at == 0 else raw, start)
        yield SessionLine(index, at, raw, ended, parts, states)
        at, index = stop + 1, index + 1


def _read(raw: bytes, start: RecordStart) -> tuple[tuple[RecordPart, ...], tuple[str, ...]]:
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
    if part.damage in (TORN, NOT_JSON) and (parts := _pieces(text, start)):
        return parts, (*states, FUSED)
    return (part,), (*states, part.damage) if part.damage else states


def _part(text: str, number: int = 0) -> RecordPart:
    """The record that `text` is. The plain decoder comes first: how jsontext counts depths is slow on text that is no JSON."""
    try:
        jsontext.refuse_large(text)
        # Without a look for blanks around it: hardly a line has any.
        value, end = _DECODER.raw_decode(text) if text[:1] == "{" else (None, 0)
        if end != len(text) and (not end or text[end:].strip(" \t\n\r")):
            value = _DECODER.decode(text)
        if text.count("[") + text.count("{") > jsontext.MAX_DEPTH:
            value = jsontext.parse(text)
    except json.JSONDecodeError as error:
        damage = TORN if text.lstrip()[:1] == "{" else NOT_JSON
        return RecordPart(None, number, damage, f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos:,} of {len(text):,}")
    except RecursionError:
        return RecordPart(None, number, "too-deep", f"nested more than {jsontext.MAX_DEPTH} levels deep, which is over what is read here")
    except Unreadable as problem:
        return RecordPart(None, number, problem.damage, problem.reason)
    except ValueError:
        return RecordPart(None, number, "huge-integer", "holds an integer of over 4,300 digits, which is over what is read here")
    if not isinstance(value, dict):
        return RecordPart(None, number, NOT_OBJECT, "JSON, but no object")
    return RecordPart(value, number)


def _pieces(text: str, start: RecordStart) -> tuple[RecordPart, ...]:
    """The records and fragments of a line that has several without LF between them; () where it is one torn record."""
    parts: list[RecordPart] = []
    at = skip(text, 0)
    while at < len(text) and len(parts) < _TRIES:
        end = _record_end(text, at)
        begin = at if end else _next_start(text, at, start)
        if begin is None:
            break
        if begin > at:
            parts.append(_fragment(text, at, begin, len(parts) + 1))
            end = _record_end(text, begin)
        parts.append(replace(_part(text[begin:end], len(parts) + 1), text=text[begin:end]))
        at = skip(text, end)
    if not any(part.value is not None for part in parts):
        return ()
    if at < len(text):
        parts.append(_fragment(text, at, len(text), len(parts) + 1))
    return tuple(parts)


def _fragment(text: str, at: int, end: int, number: int) -> RecordPart:
    return RecordPart(
        None, number, TORN, f"a fragment of {end - at:,} characters, from character {at:,} of the line on, is no whole record", text[at:end]
    )


def _record_end(text: str, at: int) -> int:
    """Where the object at `at` ends; 0 where none does."""
    if text[at] != "{":
        return 0
    try:
        return _DECODER.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return 0


def _next_start(text: str, at: int, start: RecordStart) -> int | None:
    """The next record after a fragment."""
    for tried, match in enumerate(start.pattern.finditer(text, at + 1)):
        if tried == _TRIES:
            break
        try:
            value, _ = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and start.is_record(value):
            return match.start()
    return None


def _no_constant(name: str) -> Any:
    raise Unreadable(TORN, f"not JSON: {name} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
