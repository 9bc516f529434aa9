"""Rows as JSON: one object a line, one array of them (json_agg), or one object with an array for each table. Nothing here recurses over what it reads."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

from inspector.programs.gbrain.export_values import TEXT, Types, canonical, decoded, of_json

# A string, one that is cut off too; or what parts things.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{},:]', re.DOTALL)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_ODD = re.compile(rb"(?<!\\)\\(?:\\\\)*+(?!\\)")
_TRIED = 1000
_COPY = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_SPACE = b" \t\r\n"
_ARRAY, _OBJECT = b"[", b"{"


class JsonRow(NamedTuple):
    """`table` is the name that the row itself gives, or "". Values are None for what is no row, or was cut off."""

    table: str
    values: dict[str, str | None] | None


def tables_of(data: bytes, table_names: Iterable[str]) -> dict[str, bytes]:
    """The arrays of an object that holds one for each table, by the table's name; nothing where it is none."""
    if data.lstrip(_SPACE)[:1] != _OBJECT:
        return {}
    first = next(_values(data), b"")
    names = set(table_names)
    return {name: raw for name, raw in _members(first) if name in names and raw[:1] == _ARRAY}


def rows(data: bytes, types: Types, whole: Iterable[str]) -> Iterator[JsonRow]:
    """`whole` names columns of four bytes, which every program writes as a JSON number unless it writes everything as text. Raises NotAnExport."""
    numbers = frozenset(whole)
    stripped = data.strip(_SPACE)
    first, _, tail = stripped.partition(b"\n")
    if stripped[:1] == _ARRAY:
        raw_rows = _elements(stripped)
    elif first.rstrip().endswith(b"}") or not tail:
        raw_rows = (line for line in stripped.split(b"\n") if line.strip())
    else:
        raw_rows = _values(stripped)
    for raw in raw_rows:
        yield _json_row(raw, types, numbers)


def is_doubled(data: bytes) -> bool | None:
    """Whether COPY's text format wrote it, which doubles every backslash, those of JSON too; None where it reads as JSON either way."""
    stripped = data.strip(_SPACE)
    if b"\\" not in stripped:
        return False
    if stripped[:1] == _ARRAY:
        first = list(islice(_elements(stripped), 2))
        # The line break that json_agg puts after a comma, where no JSON has a backslash.
        if any(raw.startswith(rb"\n") for raw in first):
            return True
    if _ODD.search(stripped):
        return False
    some = first if stripped[:1] == _ARRAY else [line for line in stripped.split(b"\n") if b"\\" in line][:_TRIED]
    if all(_parses(raw) for raw in some):
        return None
    return any(_parses(undoubled(raw)) for raw in (some if stripped[:1] != _ARRAY else [stripped]) if not _parses(raw))


def undoubled(data: bytes) -> bytes:
    return _ESCAPED.sub(lambda match: _COPY.get(match[1], match[1]), data)


def _parses(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError) as problem:
        return not isinstance(problem, json.JSONDecodeError | UnicodeDecodeError)
    return True


def _json_row(raw: bytes, types: Types, numbers: frozenset[str]) -> JsonRow:
    text = decoded(raw, "a row of JSON")
    try:
        row = _parsed(text)
        if not isinstance(row, dict):
            return JsonRow("", None)
        table = row.pop("table", "")
        row = row["row"] if isinstance(row.get("row"), dict) else row
        return JsonRow(table if isinstance(table, str) else "", _texts(row, types, numbers, of_json))
    except json.JSONDecodeError:
        return JsonRow("", None)
    except (ValueError, ArithmeticError, RecursionError):
        return _by_pieces(raw, types, numbers)


def _by_pieces(raw: bytes, types: Types, numbers: frozenset[str]) -> JsonRow:
    """A row with a value that is too deep, too large or nothing that jsonb keeps: each member by itself, and such a value as it is."""
    members = dict(_members(raw))
    table = _scalar(members.pop("table", b'""'))
    if members.get("row", b"")[:1] == _OBJECT:
        members = dict(_members(members["row"]))
    pieces = {name: _scalar(value) for name, value in members.items()}

    def printed(kind: str, value: Any, as_text: bool) -> str | None:
        if isinstance(value, bytes):
            return canonical(decoded(value, "a row of JSON"))
        return of_json(kind, value, as_text)

    return JsonRow(table if isinstance(table, str) else "", _texts(pieces, types, numbers, printed))


def _texts(
    row: dict[str, Any], types: Types, numbers: frozenset[str], printed: Callable[[str, Any, bool], str | None]
) -> dict[str, str | None]:
    as_text = any(isinstance(row.get(name), str) for name in numbers)
    return {name: printed(types.get(name, TEXT), value, as_text) for name, value in row.items() if name in types}


def _scalar(raw: bytes) -> Any:
    """A string, number or word; the bytes of anything else."""
    try:
        value = _parsed(raw.decode("utf-8"))
    except (ValueError, ArithmeticError, RecursionError):
        return raw
    return raw if isinstance(value, dict | list) else value


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no JSON number", name, 0)


def _elements(data: bytes) -> Iterator[bytes]:
    """The elements of the array with which `data` begins; the last one of an array that is cut off is what is left of it."""
    start = 1
    for token, at in _top(data, 1):
        if token in (b",", b"]") and (raw := data[start:at].strip(_SPACE)):
            yield raw
        if token == b"]":
            return
        start = at + 1
    if raw := data[start:].strip(_SPACE):
        yield raw
    else:
        yield b"["


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    name, start = "", 1
    for token, at in _top(data, 1):
        raw = data[start:at].strip(_SPACE)
        if token == b":":
            key = _scalar(raw)
            name = key if isinstance(key, str) else ""
        elif raw:
            yield name, raw
        if token == b"}":
            return
        start = at + 1


def _values(data: bytes) -> Iterator[bytes]:
    """Values that follow one another, however they are broken into lines."""
    start = 0
    for token, at in _top(data, 0):
        if token in (b"}", b"]"):
            yield data[start : at + 1].strip(_SPACE)
            start = at + 1
    if raw := data[start:].strip(_SPACE):
        yield raw


def _top(data: bytes, level: int) -> Iterator[tuple[bytes, int]]:
    """What parts things at this level: a comma and a colon in it, and the bracket that ends it (at 0: that ends a value)."""
    depth = 0
    for match in _TOKEN.finditer(data):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
            if depth == max(level - 1, 0):
                yield token, match.start()
        elif depth == level and token in (b",", b":"):
            yield token, match.start()
