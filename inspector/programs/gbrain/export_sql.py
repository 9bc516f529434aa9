"""What pg_dump writes as text: COPY with its rows, or INSERT with or without names of columns. Other statements are stepped over, whatever they hold."""

import re
from collections.abc import Iterator, Mapping

from inspector.programs.formats import NotAnExport
from inspector.programs.gbrain.export_values import ExportPart, ExportRow, Note, OtherTable, decoded

BEGINS, ENDS = b"-- PostgreSQL database dump", b"-- PostgreSQL database dump complete"
_NAME = rb'(?:"(?:[^"]|"")++"|[A-Za-z_\x80-\xff][\w$\x80-\xff]*+)'
_TABLE = rb"(?:(?P<schema>" + _NAME + rb")\s*\.\s*)?(?P<table>" + _NAME + rb")\s*"
_COLUMNS = rb"(?:\((?P<columns>\s*" + _NAME + rb"(?:\s*,\s*" + _NAME + rb")*+\s*)\))?\s*"
_COPY = re.compile(rb"COPY\s+" + _TABLE + _COLUMNS + rb"FROM\s+stdin\s*(?P<options>[^;\n]*+);[ \t]*(?P<end>\r?\n)", re.IGNORECASE)
_INSERT = re.compile(rb"INSERT\s+INTO\s+(?:ONLY\s+)?" + _TABLE + _COLUMNS + rb"(?:OVERRIDING\s+\w+\s+VALUE\s+)?VALUES\s*", re.IGNORECASE)
_CREATE = re.compile(rb"CREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?" + _TABLE + rb"\(", re.IGNORECASE)
_DEFINED = re.compile(
    rb"^\s*(?!(?:CONSTRAINT|PRIMARY|UNIQUE|CHECK|FOREIGN|EXCLUDE|LIKE)\b)(" + _NAME + rb")\s+[A-Za-z\"]", re.IGNORECASE | re.MULTILINE
)
_DATA_FOR = re.compile(rb"-- Data for Name: (?P<table>[^;\n]+); Type: TABLE DATA; Schema: (?P<schema>[^;\n]+);")
_ENCODING = re.compile(rb"SET\s+client_encoding\s*(?:=|TO)\s*'([^'\n]*)'", re.IGNORECASE)
_PLAIN, _ESCAPING = rb"'[^']*+(?:''[^']*+)*+'", rb"(?<!\w)[eE]'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'"
_VALUE = re.compile(
    rb"\s*(?:(?P<word>NULL|DEFAULT|TRUE|FALSE)\b|(?P<number>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<escaping>"
    + _ESCAPING
    + rb")|(?P<plain>"
    + _PLAIN
    + rb'))\s*(?:::\s*[\w". ]++(?:\(\d+(?:,\d+)?\))?(?:\[\])?\s*)*(?P<end>[,)])',
    re.IGNORECASE | re.DOTALL,
)
# Inside any statement: what may contain a semicolon, and the one that ends it.
_PIECE = re.compile(
    _ESCAPING + rb"|" + _PLAIN + rb'|"[^"]*+"|--[^\n]*+|/\*.*?\*/|\$(?:[A-Za-z_]\w*+)?\$|(?P<end>;)|(?P<torn>[\'"]|/\*)', re.DOTALL
)
_GAP = re.compile(rb"(?:\s++|--[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_ESCAPE = re.compile(rb"(?:\\[0-7]{1,3})+|(?:\\x[0-9A-Fa-f]{1,2})+|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\.|''", re.DOTALL)
_COPY_ESCAPE = re.compile(rb"(?:\\[0-7]{1,3})+|(?:\\x[0-9A-Fa-f]{1,2})+|\\.", re.DOTALL)
_CODE = re.compile(rb"\\x?([0-9A-Fa-f]+)")
_SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_UTF8 = ("UTF8", "UTF-8", "UNICODE", "SQL_ASCII", "")


def parts(data: bytes, defaults: Mapping[str, tuple[str, ...]]) -> Iterator[ExportPart]:
    """`defaults` are, for each table, the columns of one that no statement here makes. Raises NotAnExport."""
    _refuse_encoding(data)
    created: dict[tuple[str, str], tuple[str, ...]] = {}
    for comment in _DATA_FOR.finditer(data):
        if _named(comment, "table") in defaults:
            # pg_dump --inserts writes nothing else for a table without rows.
            yield ExportRow(_named(comment, "schema"), _named(comment, "table"), (), None)
    at, whole = 0, True
    while at < len(data):
        gap = _GAP.match(data, at)
        at = gap.end() if gap else at
        if at >= len(data):
            break
        if data[at : at + 1] == b"\\":
            # A command for psql: \restrict, \connect.
            at = _line_end(data, at)
        elif match := _COPY.match(data, at):
            end, ended = _copied(data, match.end())
            if _named(match, "table") not in defaults:
                yield OtherTable(_named(match, "table"))
            elif match["options"].strip():
                yield Note(
                    f"The rows of {_named(match, 'table')} are written with options of COPY that are not read here: use pg_dump without them."
                )
            else:
                yield from _copy_rows(data[match.end() : end], match, defaults, created, ended)
            at = _line_end(data, end)
        elif match := _INSERT.match(data, at):
            if _named(match, "table") in defaults:
                yield from _inserted(data, match, defaults, created)
            else:
                yield OtherTable(_named(match, "table"))
            at, whole = _statement_end(data, match.end())
        else:
            end, whole = _statement_end(data, at)
            if (match := _CREATE.match(data, at)) and _named(match, "table") in defaults:
                columns = tuple(_unquoted(name) for name in _DEFINED.findall(data[match.end() : end]))
                created[_named(match, "schema"), _named(match, "table")] = columns
                yield ExportRow(_named(match, "schema"), _named(match, "table"), columns, None)
            at = end
    framed = data.lstrip().startswith((BEGINS, b"--\n" + BEGINS, b"--\r\n" + BEGINS))
    # Without pg_dump's own last line only a statement that is cut in two shows it.
    if not whole or (framed and ENDS not in data[-2000:]):
        yield Note(
            "The dump ends before its end: pg_dump did not finish it, or it was cut off. Tables and rows that came later are missing."
        )


def _refuse_encoding(data: bytes) -> None:
    match = _ENCODING.search(data)
    name = match[1].decode("ascii", "replace") if match else ""
    if name.upper() not in _UTF8:
        raise NotAnExport(f"is a dump in the encoding {name[:40]!a}; make it again with pg_dump --encoding=UTF8.")


def _named(match: re.Match[bytes], group: str) -> str:
    return _unquoted(match[group] or b"")


def _unquoted(name: bytes) -> str:
    name = name.strip()
    text = decoded(name, "the name of a table or column")
    return text[1:-1].replace('""', '"') if text.startswith('"') else text.lower() if text.isascii() else text


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end + 1


def _columns(
    match: re.Match[bytes], defaults: Mapping[str, tuple[str, ...]], created: Mapping[tuple[str, str], tuple[str, ...]]
) -> tuple[tuple[str, ...], bool]:
    """The columns that a statement fills, and whether anything but our own knowledge of the program says so."""
    if match["columns"] is not None:
        return tuple(_unquoted(name) for name in re.findall(_NAME, match["columns"])), True
    table = _named(match, "schema"), _named(match, "table")
    return (created[table], True) if table in created else (defaults[table[1]], False)


def _copied(data: bytes, start: int) -> tuple[int, bool]:
    r"""Where the rows of a COPY end, and whether its \. is there."""
    if data[start : start + 2] == rb"\.":
        return start, True
    end = data.find(b"\n\\.", start)
    return (len(data), False) if end < 0 else (end + 1, True)


def _copy_rows(
    data: bytes,
    match: re.Match[bytes],
    defaults: Mapping[str, tuple[str, ...]],
    created: Mapping[tuple[str, str], tuple[str, ...]],
    ended: bool,
) -> Iterator[ExportPart]:
    schema, table = _named(match, "schema"), _named(match, "table")
    columns, has_names = _columns(match, defaults, created)
    yield ExportRow(schema, table, columns, None)
    torn, at = 0, 0
    while at < len(data):
        end = data.find(b"\n", at)
        line = data[at : end if end >= 0 else len(data)]
        fields = (line[:-1] if match["end"] == b"\r\n" and line.endswith(b"\r") else line).split(b"\t")
        if end < 0 or len(fields) != len(columns):
            torn += 1
        else:
            yield ExportRow(schema, table, columns, tuple(_copy_field(field, table) for field in fields), has_names)
        at = end + 1 if end >= 0 else len(data)
    if not ended:
        yield Note(f"The rows of {table} are cut off: the COPY has no end. What came after is missing.")
    if torn:
        yield Note(
            f"{torn:,} {'line' if torn == 1 else 'lines'} of {table} have not the {len(columns)} fields that they should, and are left out."
        )


def _copy_field(field: bytes, table: str) -> str | None:
    if field == rb"\N":
        return None
    return decoded(_COPY_ESCAPE.sub(_unescaped, field) if b"\\" in field else field, table)


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    if escape == b"''":
        return b"'"
    if len(escape) > 2 and escape[1:2] in b"uU":
        return chr(min(int(escape[2:], 16), 0x10FFFF)).encode("utf-8", "replace")
    if len(escape) > 2 or escape[1:2] in b"01234567":
        base = 16 if escape[1:2] == b"x" else 8
        return bytes(int(code, base) & 255 for code in _CODE.findall(escape))
    return _SHORT.get(escape[1:], escape[1:])


def _inserted(
    data: bytes, match: re.Match[bytes], defaults: Mapping[str, tuple[str, ...]], created: Mapping[tuple[str, str], tuple[str, ...]]
) -> Iterator[ExportPart]:
    schema, table = _named(match, "schema"), _named(match, "table")
    columns, has_names = _columns(match, defaults, created)
    at, more = match.end(), True
    while more:
        row, at = _row(data, at)
        if row is None:
            where = "are cut off" if at >= len(data) else "hold something that is no plain value"
            yield Note(f"Rows of {table} {where}, and are left out: make the dump again with pg_dump --column-inserts.")
            return
        if len(row) != len(columns):
            raise unnamed(table)
        yield ExportRow(schema, table, columns, row, has_names)
        comma = _GAP.match(data, at)
        at = comma.end() if comma else at
        more = data[at : at + 1] == b","
        at += 1


def unnamed(table: str) -> NotAnExport:
    """Rows whose values cannot be distinguished."""
    problem = f"holds rows of {table} without the names of their columns, and they are not those of the schema that is known here"
    return NotAnExport(f"{problem}; make it again with pg_dump --column-inserts.")


def _row(data: bytes, at: int) -> tuple[tuple[str | None, ...] | None, int]:
    """The values in brackets, and where they end; None for what holds more than plain values, and the end of the data where it is cut off."""
    gap = _GAP.match(data, at)
    at = gap.end() if gap else at
    if data[at : at + 1] != b"(":
        return None, at
    values: list[str | None] = []
    at += 1
    while match := _VALUE.match(data, at):
        values.append(_value(match))
        at = match.end()
        if match["end"] == b")":
            return tuple(values), at
    return None, at if _statement_end(data, at)[1] else len(data)


def _value(match: re.Match[bytes]) -> str | None:
    if match["word"] is not None:
        word = match["word"].decode().lower()
        return {"true": "t", "false": "f"}.get(word)
    if match["number"] is not None:
        return str(match["number"].decode())
    if match["plain"] is not None:
        return decoded(match["plain"][1:-1].replace(b"''", b"'"), "a value")
    return decoded(_ESCAPE.sub(_unescaped, match["escaping"][2:-1]), "a value")


def _statement_end(data: bytes, at: int) -> tuple[int, bool]:
    """Where a statement ends, and whether its semicolon is there."""
    while match := _PIECE.search(data, at):
        if match["end"]:
            return match.end(), True
        if match["torn"]:
            break
        at = match.end()
        if match[0].startswith(b"$"):
            closing = data.find(match[0], at)
            if closing < 0:
                break
            at = closing + len(match[0])
    return len(data), False
