"""Parts of exports as the rows of tables: which schema, which columns, no row twice; with a note on everything that is left out."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inspector.programs.formats import NotAnExport, OfAnotherDatabase, Record, Relation
from inspector.programs.gbrain.export_sql import unnamed
from inspector.programs.gbrain.export_values import NUMBER, TEXT, ExportPart, ExportRow, Note, OtherTable, Types, fits, normal
from inspector.programs.relation_rows import Row, cell_of, key_from

_PUBLIC = "public"
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_NAMED = 8
_UNNUMBERED = 10**17


@dataclass(slots=True)
class TableRows:
    """The rows of one table, with every column that any of them has."""

    columns: dict[str, None] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class GatheredTables:
    """Tables by schema and name; sentences in the order in which they came."""

    schemas: dict[str, dict[str, TableRows]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)

    def add(self, parts: Iterable[ExportPart], types: Types) -> None:
        """Raises NotAnExport."""
        assumed: set[str] = set()
        for part in parts:
            match part:
                case Note(text):
                    self.notes.append(text)
                case OtherTable(table):
                    self.others[table] += 1
                case ExportRow():
                    self._line(part, types)
                    if not part.has_names and part.values is not None:
                        assumed.add(part.table)
        if assumed:
            self.notes.append(
                f"The export does not name the columns of {', '.join(sorted(assumed))}: the order of gbrain's present schema was taken."
            )

    def _line(self, line: ExportRow, types: Types) -> None:
        table_rows = self.schemas.setdefault(line.schema or _PUBLIC, {}).setdefault(line.table, TableRows())
        table_rows.columns |= dict.fromkeys(line.columns)
        if line.values is None:
            return
        row = {name: value for name, value in zip(line.columns, line.values, strict=True) if name in types}
        if not line.has_names and not all(fits(types[name], value) for name, value in row.items()):
            raise unnamed(line.table)
        table_rows.rows.append({name: normal(types[name], value) for name, value in row.items()})


def chosen(gathered: GatheredTables, main: str) -> dict[str, TableRows]:
    """The tables of the schema that holds `main`. Raises NotAnExport where none does, or several do and none is `public`."""
    schemas = [name for name, tables in gathered.schemas.items() if main in tables]
    if not schemas:
        raise OfAnotherDatabase(
            f"holds no table {main}; export minion_jobs, subagent_messages, subagent_tool_executions and subagent_rate_leases."
        )
    if len(schemas) > 1 and _PUBLIC not in schemas:
        named = ", ".join(sorted(schemas)[:_NAMED])
        raise NotAnExport(f"holds {main} in several schemas ({named}); export one of them, with pg_dump --schema=NAME.")
    schema = _PUBLIC if _PUBLIC in schemas else schemas[0]
    for other_schema, tables in gathered.schemas.items():
        if other_schema != schema:
            gathered.others.update({f"{other_schema}.{table}": 1 for table in tables})
    return gathered.schemas[schema]


def records(relation: Relation, table_rows: TableRows, notes: list[str]) -> Iterator[Record]:
    """As a server gives them: the columns that it reads, in the order of their numbers, each row once. Raises NotAnExport."""
    if not table_rows.rows:
        return
    own = relation.key[-1] if relation.distinguished_by else ""
    required = dict.fromkeys(name for name in (*relation.required, *relation.key) if name != own)
    if lacking := [name for name in required if name not in table_rows.columns]:
        raise NotAnExport(f"holds {relation.name} without {', '.join(lacking)}; export all its columns.")
    columns = [name for name in relation.columns if name in table_rows.columns]
    numbers = tuple(dict.fromkeys((relation.conversation, *relation.key)))
    numbered: list[tuple[RowPlace, Row]] = []
    assigned: dict[tuple[str | None, ...], int] = {}
    strange = unnumbered = 0
    for row in table_rows.rows:
        cells = {name: row.get(name) for name in columns}
        if own and not _WHOLE.fullmatch(row.get(own) or ""):
            cells.pop(own, None)
            identity = tuple(row.get(name) for name in (relation.conversation, *relation.distinguished_by))
            # After every number that a server gives: it is no number of the database.
            row, unnumbered = {**row, own: str(_UNNUMBERED + assigned.setdefault(identity, len(assigned)))}, unnumbered + 1
        values = tuple(row.get(name) or "" for name in numbers)
        if all(map(_WHOLE.fullmatch, values)):
            numbered.append((RowPlace(tuple(map(int, values)), key_from(relation, [row.get(name) for name in relation.key])), cells))
        else:
            strange += 1
    numbered.sort(key=lambda pair: pair[0].numbers)
    if strange:
        notes.append(f"{_rows(strange)} of {relation.name} without a number in {' or '.join(numbers)}: left out.")
    if unnumbered:
        notes.append(
            f"{_rows(unnumbered)} of {relation.name} without a number in {own}: distinguished by {', '.join(relation.distinguished_by)}."
        )
    yield from _distinct(relation, numbered, notes)


class RowPlace(NamedTuple):
    """Where a row comes, and the key of its record."""

    numbers: tuple[int, ...]
    key: str


def _distinct(relation: Relation, numbered: Sequence[tuple[RowPlace, Row]], notes: list[str]) -> Iterator[Record]:
    before: tuple[RowPlace, Row] | None = None
    equal = conflicting = 0
    for place, row in numbered:
        if before is None or before[0] != place:
            before = place, row
            yield Record(place.key, cell_of(row))
        elif before[1] == row:
            equal += 1
        else:
            conflicting += 1
    if equal:
        notes.append(f"{_rows(equal)} of {relation.name} in the export twice: read once.")
    if conflicting:
        notes.append(
            f"{_rows(conflicting)} of {relation.name} in the export with a second, other content: the first one was taken. Name one export alone."
        )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def types_of(relations: Iterable[Relation], other_types: Mapping[str, str]) -> dict[str, str]:
    """A type for every column that is read; numbers are those of the keys, and what `other_types` says."""
    types: dict[str, str] = {}
    for relation in relations:
        for name in relation.columns:
            types[name] = NUMBER if name in (*relation.key, relation.conversation) else other_types.get(name, TEXT)
    return types


def left_out(others: Mapping[str, int]) -> Iterator[str]:
    """What to say of tables that are not read."""
    if others:
        names = sorted(others)
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        yield f"Left out, since they are no tables of subagent runs: {', '.join(names[:_NAMED])}{more}."
