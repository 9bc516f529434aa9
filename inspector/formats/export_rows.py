"""Parts of exports as the rows of tables: which schema, which columns, no row twice; with a note on everything that is left out."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inspector.formats.base import NotAnExport, Record, Relation
from inspector.formats.export_sql import unnamed
from inspector.formats.export_values import NUMBER, TEXT, Line, Note, Other, Part, Types, fits, normal
from inspector.formats.relation_rows import Row, record_of

_PUBLIC = "public"
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_NAMED = 8


@dataclass(slots=True)
class Held:
    """The rows of one table, with every column that any of them has."""

    columns: dict[str, None] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Gathered:
    """Tables by schema and name; sentences in the order in which they came."""

    schemas: dict[str, dict[str, Held]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)

    def put(self, parts: Iterable[Part], types: Types) -> None:
        """Raises NotAnExport."""
        assumed: set[str] = set()
        for part in parts:
            match part:
                case Note(text):
                    self.notes.append(text)
                case Other(table):
                    self.others[table] += 1
                case Line():
                    self._line(part, types)
                    if not part.told and part.values is not None:
                        assumed.add(part.table)
        if assumed:
            self.notes.append(
                f"The export does not name the columns of {', '.join(sorted(assumed))}: the order of gbrain's present schema was taken."
            )

    def _line(self, line: Line, types: Types) -> None:
        held = self.schemas.setdefault(line.schema or _PUBLIC, {}).setdefault(line.table, Held())
        held.columns |= dict.fromkeys(line.columns)
        if line.values is None:
            return
        row = {name: value for name, value in zip(line.columns, line.values, strict=True) if name in types}
        if not line.told and not all(fits(types[name], value) for name, value in row.items()):
            raise unnamed(line.table)
        held.rows.append({name: normal(types[name], value) for name, value in row.items()})


def chosen(found: Gathered, main: str) -> dict[str, Held]:
    """The tables of the schema that holds `main`. Raises NotAnExport where none does, or several do and none is `public`."""
    schemas = [name for name, tables in found.schemas.items() if main in tables]
    if not schemas:
        raise NotAnExport(
            f"holds no table {main}; export minion_jobs, subagent_messages, subagent_tool_executions and subagent_rate_leases."
        )
    if len(schemas) > 1 and _PUBLIC not in schemas:
        named = ", ".join(sorted(schemas)[:_NAMED])
        raise NotAnExport(f"holds {main} in several schemas ({named}); export one of them, with pg_dump --schema=NAME.")
    schema = _PUBLIC if _PUBLIC in schemas else schemas[0]
    for other, tables in found.schemas.items():
        if other != schema:
            found.others.update({f"{other}.{table}": 1 for table in tables})
    return found.schemas[schema]


def records(relation: Relation, held: Held, notes: list[str]) -> Iterator[Record]:
    """As a server gives them: the columns that it reads, in the order of their numbers, each row once. Raises NotAnExport."""
    if not held.rows:
        return
    if lacking := [name for name in (*relation.required, *relation.key) if name not in held.columns]:
        raise NotAnExport(f"holds {relation.name} without {', '.join(dict.fromkeys(lacking))}; export all its columns.")
    columns = [name for name in relation.columns if name in held.columns]
    numbers = tuple(dict.fromkeys((relation.conversation, *relation.key)))
    numbered: list[tuple[tuple[int, ...], Row]] = []
    strange = 0
    for row in held.rows:
        place = tuple(int(text) for text in (row.get(name) or "" for name in numbers) if _WHOLE.fullmatch(text))
        if len(place) < len(numbers):
            strange += 1
        else:
            numbered.append((place, {name: row.get(name) for name in columns}))
    numbered.sort(key=lambda found: found[0])
    if strange:
        notes.append(f"{_rows(strange)} of {relation.name} without a number in {' or '.join(numbers)}: left out.")
    yield from _once(relation, numbered, notes)


def _once(relation: Relation, numbered: Sequence[tuple[tuple[int, ...], Row]], notes: list[str]) -> Iterator[Record]:
    before: tuple[tuple[int, ...], Row] | None = None
    equal = other = 0
    for place, row in numbered:
        if before is None or before[0] != place:
            before = place, row
            yield record_of(relation, row)
        elif before[1] == row:
            equal += 1
        else:
            other += 1
    if equal:
        notes.append(f"{_rows(equal)} of {relation.name} in the export twice: read once.")
    if other:
        notes.append(
            f"{_rows(other)} of {relation.name} in the export with a second, other content: the first one was taken. Name one export alone."
        )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def types_of(relations: Iterable[Relation], given: Mapping[str, str]) -> dict[str, str]:
    """A type for every column that is read; numbers are those of the keys, and what `given` says."""
    found: dict[str, str] = {}
    for relation in relations:
        for name in relation.columns:
            found[name] = NUMBER if name in (*relation.key, relation.conversation) else given.get(name, TEXT)
    return found


def left_out(others: Mapping[str, int]) -> Iterator[str]:
    """What to say of tables that are not read."""
    if others:
        names = sorted(others)
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        yield f"Left out, since they are no tables of subagent runs: {', '.join(names[:_NAMED])}{more}."
