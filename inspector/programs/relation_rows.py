"""Rows of a database server as records, and records as rows: the one form that source, exports and writers share."""

from collections.abc import Iterable, Mapping, Sequence

from inspector.programs.formats import ROW, Cell, Record, Relation
from inspector.text import jsontext

Row = Mapping[str, str | None]
"""A column's text as the server prints it; None = NULL."""


def key_of(relation: Relation, row: Row) -> str:
    """Numbers are padded, so that keys sort as their rows do; a negative one sorts before."""
    return key_from(relation, [row.get(name) for name in relation.key])


def key_from(relation: Relation, values: Iterable[str | None]) -> str:
    return ":".join((relation.name, *map(_padded, values)))


def _padded(value: str | None) -> str:
    try:
        return f"{int(value or ''):010d}"
    except ValueError:
        # An export can hold anything.
        return value or ""


def record_of(relation: Relation, row: Row) -> Record:
    return Record(key_of(relation, row), cell_of(row))


def cell_of(row: Row) -> Cell:
    return Cell(jsontext.encode(jsontext.compact(dict(row))), ROW)


def row_of(cell: Cell) -> dict[str, str | None]:
    """The columns of a record."""
    return jsontext.row_of(cell.data)


def relation_of(relations: Sequence[Relation], key: str) -> Relation | None:
    name = key.partition(":")[0]
    return next((relation for relation in relations if relation.name == name), None)
