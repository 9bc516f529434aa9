"""Values of an export as the server itself prints them (UTC, ISO dates, jsonb encoded canonically), so that an export and the database it came from read alike."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from inspector.programs.formats import NotAnExport
from inspector.text import jsonb

JSONB, JSONB_NOT_NULL, TIME, NUMBER, UUID, TEXT = "jsonb", "jsonb not null", "timestamptz", "number", "uuid", "text"
Types = Mapping[str, str]
"""A column's type, one of those above, by its name."""
_DIGITS = 19
_JSON_STARTS = (*'{["-0123456789tfn',)
_TIME = re.compile(r"(\d{4,6})(-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?\s?(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?|)( BC)?", re.ASCII)
_PRINTED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{0,5}[1-9])?\+00", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,19}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class ExportRow(NamedTuple):
    """A row of a table, or with None for its values only the word that the table is there. `schema` is "" where the export names none.

    `has_names`: the export names the columns; otherwise they are those of the program's present schema.
    """

    schema: str
    table: str
    columns: tuple[str, ...]
    values: tuple[str | None, ...] | None
    has_names: bool = True


class Note(NamedTuple):
    """A sentence on what could not be read, or was left out."""

    text: str


class OtherTable(NamedTuple):
    """A table that is none of those that are read."""

    table: str


ExportPart = ExportRow | Note | OtherTable


def decoded(data: bytes, what: str) -> str:
    """Raises NotAnExport."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"holds bytes that are not UTF-8 (0x{data[error.start]:02x} in {what})"
        raise NotAnExport(f"{problem}; export it again in UTF-8: pg_dump --encoding=UTF8, or PGCLIENTENCODING=UTF8 for psql.") from None


def normal(kind: str, text: str | None) -> str | None:
    """`text` as the server prints a value of this type; what is none of it stays as it is."""
    if text is None or kind == TEXT:
        return text
    if kind in (JSONB, JSONB_NOT_NULL):
        return canonical(text)
    if kind == TIME:
        return _time(text)
    if kind == UUID:
        return text.lower() if _UUID.fullmatch(text) else text
    return str(int(text)) if _NUMBER.fullmatch(text) else text


def fits(kind: str, text: str | None) -> bool:
    """Whether it can be a value of this type."""
    if text is None or kind in (TEXT, UUID) or (kind == TIME and text.endswith("infinity")):
        return True
    pattern = {NUMBER: _NUMBER, TIME: _TIME}.get(kind)
    return pattern.fullmatch(text) is not None if pattern else text[:1] in _JSON_STARTS


def canonical(text: str) -> str:
    """As jsonb prints it. What is no JSON, is nested too deep, or what jsonb cannot keep, stays as it is: reading it says what is wrong with it."""
    try:
        return jsonb.printed(jsonb.parse(text))
    except (ValueError, ArithmeticError, RecursionError):
        return text


def _time(text: str) -> str:
    match = None if _PRINTED.fullmatch(text) else _TIME.fullmatch(text)
    if match is None:
        # Printed under UTC already; or `infinity`, or what somebody wrote there.
        return text
    year, day, clock, fraction, zone, before_christ = match.groups()
    stored_year = 1 - int(year) if before_christ else int(year)
    # The calendar repeats itself every 400 years, and Python knows only those to 9999.
    cycles = (stored_year - 2000) // 400
    try:
        moment = datetime.fromisoformat(f"{stored_year - 400 * cycles:04d}{day}T{clock}") - _offset(zone)
    except (ValueError, OverflowError):
        return text
    utc_year = moment.year + 400 * cycles
    digits = (fraction or "").rstrip("0")
    printed = f"{utc_year if utc_year > 0 else 1 - utc_year:04d}-{moment:%m-%d %H:%M:%S}{f'.{digits}' if digits else ''}+00"
    return printed if utc_year > 0 else f"{printed} BC"


def _offset(zone: str) -> timedelta:
    """A time without a zone is taken as UTC: what servers are set to, and what a driver means that leaves the zone out."""
    if zone in ("", "Z"):
        return timedelta()
    digits = f"{zone[1:].replace(':', ''):0<6}"
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:]))
    return -offset if zone[0] == "-" else offset


def of_json(kind: str, value: Any, as_text: bool) -> str | None:
    """A JSON value of a row as the text of its column. `as_text`: the export writes every value as a string, those of jsonb too. Raises ValueError."""
    if value is None:
        # The two look alike in JSON: a jsonb that is null, and none.
        return "null" if kind == JSONB_NOT_NULL else None
    if isinstance(value, str) and (as_text or kind not in (JSONB, JSONB_NOT_NULL)):
        return normal(kind, value)
    if kind == NUMBER and isinstance(value, Decimal) and value == value.to_integral_value() and value.adjusted() < _DIGITS:
        return str(int(value))
    return jsonb.printed(value)
