"""Inspector's own captures: JSON lines with both sides, the time of every read and how each side ended. Specified in docs/reference/captures.md.

A capture of any size: it is read through once to learn what it holds, and again whenever its happenings are asked for.
"""

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from inspector.streams.captures.base import CaptureLine, NoCapture, Opened, json_object, lines, text_member
from inspector.streams.captures.secrets import without_secrets
from inspector.streams.captures.unpacking import Unpacker
from inspector.streams.model import LACKS, End, Exchange, How, Read, Side

VERSION = 1
KIND = "stream-capture"

LATEST = 1e15
"""Milliseconds beyond which a number is no time."""

_SIDES = {side.value: side for side in Side}
_ENDS = {how.value: how for how in How}
_CARRIES = {Side.BACKEND: "in", Side.CLIENT: "out"}
"""The direction that is the answer: in from the backend, out to the client. What goes the other way is the request, of which the header speaks."""

_SIDE_OF = {(b"backend", b"in"): Side.BACKEND, (b"client", b"out"): Side.CLIENT}
_PLAIN = re.compile(
    rb'\{"t":([0-9]{1,14}(?:\.[0-9]{1,9})?),"side":"(backend|client)","dir":"((?<=backend","dir":")in|(?<=client","dir":")out)","b64":"([^"\\]*)"\}'
)
"""A read as the recorder writes it, which nearly all lines are. What does not match is read as JSON, to the same end."""

_DAMAGE = {
    "long": "{} too long to be read, and skipped.",
    "json": "{} no JSON object, and skipped.",
    "base64": "{} no base64, and skipped.",
    "side": "{} of no known side (`backend`, `client`), and skipped.",
    "time": "{} without a time in milliseconds; the bytes are shown all the same.",
    "end": "{} an end of an unknown word; it is shown as unknown.",
    "unknown": "{} of an unknown shape, and skipped.",
}


@dataclass(frozen=True, slots=True)
class _Header:
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _About:
    """A line that says the HTTP status and type of a side."""

    side: Side
    status: int | None
    type: str
    encoding: str


@dataclass(slots=True)
class _Section:
    """One capture of a file, as the first reading shows it."""

    start: int
    header: Mapping[str, Any]
    sides: list[Side] = field(default_factory=list)
    ended: set[Side] = field(default_factory=set)
    damage: Counter[str] = field(default_factory=Counter)
    unpackers: dict[Side, Unpacker] = field(default_factory=dict)
    statuses: dict[Side, int] = field(default_factory=dict)
    types: dict[Side, str] = field(default_factory=dict)
    first_damaged: int | None = None
    torn: bool = False


def sniff(head: bytes, _name: str) -> bool:
    first = head.lstrip()[:4096].partition(b"\n")[0]
    return first.startswith(b"{") and (
        (b'"' + KIND.encode() + b'"') in first or (b'"side"' in first and any(word in first for word in (b'"b64"', b'"end"', b'"status"')))
    )


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    """Several captures in one file, each with its header line, are several exchanges."""
    sections = _sections(opened)
    for number, section in enumerate(sections):
        yield _exchange(opened, section, name if len(sections) == 1 else f"{name}#{number}")


def _sections(opened: Opened) -> list[_Section]:
    sections: list[_Section] = []
    for number, line in enumerate(lines(opened()), 1):
        happening, damage = _read(line)
        if isinstance(happening, _Header):
            sections.append(_Section(line.offset, happening.value))
            continue
        if not sections:
            if happening is None:
                continue
            sections.append(_Section(0, {}))
        _note(sections[-1], happening, damage, number, line.complete)
    if not sections:
        raise NoCapture("No line of it is one of a stream capture (docs/reference/captures.md).")
    return sections


def _note(section: _Section, happening: Any, damage: str, number: int, complete: bool) -> None:
    if damage and not complete:
        section.torn = True
    elif damage:
        section.damage[damage] += 1
        section.first_damaged = section.first_damaged or number
    if happening is None:
        return
    side = happening.side
    if side not in section.sides:
        section.sides.append(side)
    if isinstance(happening, End):
        section.ended.add(side)
    elif isinstance(happening, _About):
        if happening.status is not None:
            section.statuses[side] = happening.status
        if happening.type:
            section.types[side] = happening.type
        if happening.encoding:
            section.unpackers[side] = Unpacker(happening.encoding)
    elif side in section.unpackers:
        for _ in section.unpackers[side].feed(happening.data):
            pass


def _exchange(opened: Opened, section: _Section, name: str) -> Exchange:
    header = section.header
    named_sides = header.get("sides")
    sides = (
        [_SIDES[side] for side in named_sides if isinstance(side, str) and side in _SIDES] if isinstance(named_sides, list) else list(Side)
    )
    protocol, request, lacks = header.get("dialect"), header.get("request"), header.get("lacks")
    protocols = protocol if isinstance(protocol, dict) else dict.fromkeys(_SIDES, protocol)
    return Exchange(
        native_id=text_member(header, "id") or name or "capture",
        happenings=partial(_happenings, opened, section.start, frozenset(section.sides) - section.ended),
        sides=tuple(sorted(section.sides, key=list(Side).index)),
        request=without_secrets(request) if isinstance(request, dict) else None,
        title=text_member(header, "title") or name,
        protocols={_SIDES[side]: word for side, word in protocols.items() if side in _SIDES and isinstance(word, str)},
        content_types=section.types,
        statuses=section.statuses,
        keeps_reads=not (isinstance(lacks, list) and "read-boundaries" in lacks),
        problems=tuple(_problems(section, sides)),
        lacks=frozenset(word for word in lacks if isinstance(word, str) and word in LACKS) if isinstance(lacks, list) else frozenset(),
    )


def _problems(section: _Section, sides: list[Side]) -> Iterator[str]:
    version = section.header.get("v")
    if not section.header:
        yield "The header line is missing: what was asked and in which protocol is not known."
    elif version != VERSION or isinstance(version, bool):
        yield f"The capture is of version {str(version)[:20]}, and only version {VERSION} is known here: it is read as far as it is like it."
    for code, count in section.damage.items():
        yield _DAMAGE[code].format("One line is" if count == 1 else f"{count:,} lines are")
    if section.first_damaged is not None:
        yield f"The first such line is line {section.first_damaged:,}."
    if section.torn:
        yield "The last line is torn: the capture was cut off while it was written."
    for side in sides:
        if side not in section.sides:
            yield f"Nothing was kept of the {side.value} side: only what one side can show is reported."
        elif side not in section.ended:
            yield f"The capture does not say how the {side.value} side ended."
    for side, unpacker in section.unpackers.items():
        yield from (f"{side.value}: {problem}" for problem in unpacker.problems())


def _happenings(opened: Opened, start: int, without_end: frozenset[Side]) -> Iterator[Read | End]:
    unpackers: dict[Side, Unpacker] = {}
    headers = 0
    for line in lines(opened(start), start):
        happening, _ = _read(line)
        if isinstance(happening, _Header):
            headers += 1
            if headers > 1 or line.offset > start:
                break
        elif isinstance(happening, _About):
            if happening.encoding:
                unpackers[happening.side] = Unpacker(happening.encoding)
        elif isinstance(happening, Read) and happening.side in unpackers:
            for piece in unpackers[happening.side].feed(happening.data):
                yield Read(happening.side, piece, happening.at)
        elif happening is not None:
            yield happening
    for side in Side:
        if side in without_end:
            yield End(side, How.CUT)


def _read(line: CaptureLine) -> tuple[_Header | _About | Read | End | None, str]:
    """What a line says, and a word of `_DAMAGE`; both where something is wrong with it and the rest can be used."""
    if line.data is None:
        return None, "long"
    if plain := _PLAIN.fullmatch(line.data):
        carried = _SIDE_OF[plain[2], plain[3]]
        try:
            return Read(carried, binascii.a2b_base64(plain[4], strict_mode=True), float(plain[1])), ""
        except ValueError:
            return None, "base64"
    value = json_object(line.data)
    if value is None:
        return None, "json"
    if "side" not in value:
        return (_Header(value), "") if "kind" in value or "v" in value else (None, "unknown")
    side = _SIDES.get(text_member(value, "side"))
    if side is None:
        return None, "side"
    at = value.get("t")
    when = float(at) if isinstance(at, int | float) and not isinstance(at, bool) and abs(at) < LATEST else None
    damage = "time" if at is not None and when is None else ""
    if "b64" in value:
        if value.get("dir", _CARRIES[side]) != _CARRIES[side]:
            return None, ""
        try:
            return Read(side, binascii.a2b_base64(value["b64"], strict_mode=True), when), damage
        except (ValueError, TypeError):
            return None, "base64"
    if "end" in value:
        how = _ENDS.get(text_member(value, "end"))
        return End(side, how or How.UNKNOWN, when), damage or ("" if how else "end")
    if "status" in value or "type" in value:
        status = value.get("status")
        is_status = isinstance(status, int) and not isinstance(status, bool) and 100 <= status <= 999
        return _About(side, status if is_status else None, text_member(value, "type"), text_member(value, "encoding")), damage
    return None, "unknown"


def written(exchange: Exchange) -> Iterator[bytes]:
    """The exchange as lines of this format; read again they give the same happenings."""
    yield _encoded(
        {"v": VERSION, "kind": KIND, "id": exchange.native_id, "title": exchange.title, "sides": [side.value for side in exchange.sides]}
        | {
            "dialect": {side.value: protocol for side, protocol in exchange.protocols.items()},
            "lacks": sorted(exchange.lacks),
            "request": exchange.request,
        }
    )
    for side in exchange.sides:
        if side in exchange.statuses or side in exchange.content_types:
            yield _encoded({"side": side.value, "status": exchange.statuses.get(side), "type": exchange.content_types.get(side, "")})
    for happening in exchange.happenings():
        line: dict[str, Any] = {"side": happening.side.value} if happening.at is None else {"t": happening.at, "side": happening.side.value}
        if isinstance(happening, Read):
            yield _encoded(line | {"dir": _CARRIES[happening.side], "b64": base64.b64encode(happening.data).decode()})
        else:
            yield _encoded(line | {"end": happening.how.value})


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"
