"""A table as CSV with a header line, quoted as PostgreSQL quotes: an empty field is NULL, an empty pair of quotes is an empty text."""

import re
from collections.abc import Iterator

from inspector.programs.gbrain.export_values import decoded

_HEADER = 1 << 16


def _field(mark: bytes) -> re.Pattern[bytes]:
    return re.compile(rb'(?:"(?P<quoted>[^"]*+(?:""[^"]*+)*+)"|(?P<plain>[^"\r\n' + mark + rb"]*+))(?P<end>" + mark + rb"|\r?\n|\r|\Z)")


# Spreadsheets of half of Europe write semicolons.
_FIELDS = tuple(_field(mark) for mark in (b",", b";", b"\t"))


def header(data: bytes) -> tuple[str, ...]:
    """The names of its columns; () where the first line is none of a table. Raises NotAnExport."""
    return _start(data)[0]


def rows(data: bytes) -> Iterator[tuple[str | None, ...] | None]:
    """The rows after the header; None for one that has not the columns of the header, or that ends inside quotes. Raises NotAnExport."""
    columns, field, at = _start(data)
    for number, values in enumerate(_rows(data, at, field), start=1):
        if values is None or (len(values) != len(columns) and values != [None]):
            yield None
        elif values != [None]:
            yield tuple(None if value is None else decoded(value, f"row {number:,}") for value in values)


def _start(data: bytes) -> tuple[tuple[str, ...], re.Pattern[bytes], int]:
    """The columns, how fields are parted, and where the rows begin."""
    line = re.split(rb"\r?\n|\r", data[:_HEADER], maxsplit=1)[0]
    rows_start = len(line) + (2 if data[len(line) : len(line) + 2] == b"\r\n" else 1)
    names: list[bytes | None] = []
    by = _FIELDS[0]
    for field in _FIELDS:
        for fields in _rows(line, 0, field):
            if fields and len(fields) > len(names):
                names, by = fields, field
    return tuple(decoded(name or b"", "the header line").strip() for name in names), by, rows_start


def _rows(data: bytes, at: int, field: re.Pattern[bytes]) -> Iterator[list[bytes | None] | None]:
    values: list[bytes | None] = []
    while at < len(data) or values:
        match = field.match(data, at)
        if match is None:
            yield None
            return
        quoted = match["quoted"]
        values.append(quoted.replace(b'""', b'"') if quoted is not None else match["plain"] or None)
        at = match.end()
        if match["end"] in (b"\n", b"\r\n", b"\r", b""):
            yield values
            values = []
