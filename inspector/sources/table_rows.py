"""Rows of SQL tables as records: a key made of columns, and a JSON object of the columns that the format names, and of no others."""

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from inspector.programs.formats import USER_VERSION, Cell, Record, RowTable
from inspector.sources.problems import LargeValue
from inspector.sources.sqlite import Snapshot
from inspector.sources.statements import encoded, quoted
from inspector.text import jsontext


def records(
    store: Snapshot, selections: Sequence[RowTable], where: Mapping[str, tuple[str, object]] = MappingProxyType({})
) -> Iterator[Record]:
    """All rows, or those of a table that its condition (of our own, with the value for its `?`) selects. Key `table:id` or `table:id:seq` (ten digits), `#2` after the second row of one key. Raises NoTable.

    A blob is an object with the member `blob` (hex). Columns that a store does not have are left out.
    """
    for rows in selections:
        if rows.name == USER_VERSION:
            yield Record(USER_VERSION, Cell(jsontext.encode(jsontext.compact({"user_version": store.user_version()}))))
            continue
        if rows.optional and not {rows.key, rows.order} - {""} <= set(store.tables.get(rows.name, ())):
            continue
        columns = [name for name in rows.columns if name in store.tables.get(rows.name, ()) or name in (rows.key, rows.order)]
        order = f"{quoted(rows.key)}, {quoted(rows.order)}" if rows.order else quoted(rows.key)
        counts: dict[str, int] = {}
        condition, *params = where.get(rows.name, ("",))
        for values in store.rows(rows.name, columns, condition, params, order):
            row = {name: _value(value) for name, value in zip(columns, values, strict=True)}
            key = f"{rows.name}:{_key_part(row[rows.key])}" + (f":{_key_part(row[rows.order])}" if rows.order else "")
            counts[key] = counts.get(key, 0) + 1
            yield Record(key if counts[key] == 1 else f"{key}#{counts[key]}", Cell(jsontext.encode(jsontext.compact(row))))


def within_limit(store: Snapshot, selections: Sequence[RowTable]) -> tuple[list[Record], tuple[str, ...]]:
    """The records without those of a conversation that has a value over the limit, and the ids of such. Raises LargeValue where the value is of no conversation."""
    rows: list[Record] = []
    over: dict[str, None] = {}
    for selection in selections:
        column = quoted(selection.conversation)
        if not selection.conversation:
            rows += records(store, (selection,))
            continue
        for (native_id,) in list(store.rows(selection.name, (selection.conversation,), f"1 GROUP BY {column} COLLATE BINARY")):
            own, value = (
                (f"{column} COLLATE BINARY = CAST(? AS TEXT)", encoded(native_id))
                if isinstance(native_id, str)
                else (f"{column} IS ?", native_id)
            )
            try:
                rows += list(records(store, (selection,), {selection.name: (own, value)}))
            except LargeValue:
                if not isinstance(native_id, str):
                    raise
                over[native_id] = None
    return rows, tuple(over)


def _value(value: object) -> object:
    if isinstance(value, bytes):
        return {"blob": value.hex()}
    # JSON has no infinity.
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _key_part(value: object) -> str:
    if isinstance(value, int):
        return f"{value:010d}"
    return value if isinstance(value, str) else jsontext.compact(value)
