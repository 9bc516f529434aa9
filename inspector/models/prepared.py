"""Queries that Django composes once: the same few are asked before and on every page, and to compose one takes ten times as long as to run it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import wraps
from itertools import count
from typing import Any, ParamSpec

from django.db import connection
from django.db.models import Aggregate, QuerySet, Value

from inspector.access.context import current

P = ParamSpec("P")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Statement:
    """`places`: of each value that it is asked with, among the parameters."""

    sql: str
    parameters: tuple[Any, ...]
    places: tuple[tuple[int, int], ...]
    converters: dict[int, tuple[Sequence[Callable[..., Any]], Any]]

    def rows(self, values: Sequence[Any]) -> list[Row]:
        parameters = list(self.parameters)
        for place, number in self.places:
            parameters[place] = _adapted(values[number])
        with connection.cursor() as cursor:
            cursor.execute(self.sql, parameters)
            rows = cursor.fetchall()
        return [self._converted(row) for row in rows] if self.converters else rows

    def _converted(self, row: Row) -> Row:
        values = list(row)
        for place, (converters, expression) in self.converters.items():
            for convert in converters:
                values[place] = convert(values[place], expression, connection)
        return tuple(values)


def prepared(build: Callable[P, QuerySet[Any, Any]]) -> Callable[P, list[Row]]:
    """The rows of the `values_list` that `build` makes.

    Its positional arguments (text, number, date or datetime) are what columns are compared with, and nothing else may be done with them: the query that it
    makes first is kept. What its shape depends on are named arguments. Where a limit applies to who asks, it is a part of the query, which is
    composed each time then.
    """
    statements: dict[Row, _Statement] = {}

    @wraps(build)
    def rows(*values: P.args, **shape: P.kwargs) -> list[Row]:
        # A number of more than 64 bits is in no column, and Django knows that.
        if _is_limited() or any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values):
            return list(build(*values, **shape))
        kind = (connection.vendor, *map(type, values), *shape.items())
        if kind not in statements:
            statements[kind] = _composed(build(*map(_mark, values, count()), **shape), values)
        return statements[kind].rows(values)

    return rows


def totals(build: Callable[P, tuple[QuerySet[Any], dict[str, Aggregate]]]) -> Callable[P, dict[str, Any]]:
    """As `prepared`, for `QuerySet.aggregate`: `build` returns what is counted, and the aggregates by their names."""

    @prepared
    def one_row(*values: P.args, **shape: P.kwargs) -> QuerySet[Any, Any]:
        rows, of = build(*values, **shape)
        one: QuerySet[Any, Any] = rows.order_by().values(one=Value(1)).annotate(**of).values_list(*of)
        return one

    names: list[str] = []

    @wraps(build)
    def by_name(*values: P.args, **shape: P.kwargs) -> dict[str, Any]:
        if _is_limited():
            rows, of = build(*values, **shape)
            return rows.aggregate(**of)
        names[:] = names or build(*values, **shape)[1]
        return dict(zip(names, one_row(*values, **shape)[0], strict=True))

    return by_name


def _is_limited() -> bool:
    access = current()
    return access is not None and access.sources is not None


def _composed(rows: QuerySet[Any, Any], values: Sequence[Any]) -> _Statement:
    """Raises ValueError where a value does not become a parameter as it is: a pattern, or a number that the query was cut by."""
    marks = [_adapted(_mark(value, number)) for number, value in enumerate(values)]
    compiler = rows.query.get_compiler(connection=connection)
    sql, parameters = compiler.as_sql()
    places = tuple((place, marks.index(given)) for place, given in enumerate(parameters) if given in marks)
    if {number for _, number in places} != set(range(len(marks))):
        raise ValueError(f"Not each of its values is a parameter of the query: {sql}")
    converters = compiler.get_converters([expression for expression, _, _ in compiler.select[: compiler.col_count]])
    return _Statement(sql, tuple(parameters), places, converters)


def _mark(value: Any, number: int) -> Any:
    """What stands for a value while the query is composed: nothing else of a query is like it."""
    if isinstance(value, datetime):
        return datetime(1, 1, 1, 0, 0, number, tzinfo=UTC)
    if isinstance(value, date):
        return date(1, 1, 1 + number)
    # As large a number as fits into every column.
    return 2_147_400_000 + number if isinstance(value, int) else f"\x1avalue {number}"


def _adapted(value: Any) -> Any:
    """As Django gives it to the database."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return connection.ops.adapt_datefield_value(value) if isinstance(value, date) else value
