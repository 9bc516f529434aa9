"""Many rows of one table at once. An import writes two rows a chunk; building a model object for each took most of its time."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import Model

_KEYS_PER_QUERY = 10_000


def insert(model: type[Model], fields: Sequence[str], rows: Iterable[Sequence[Any]], ignore_known: bool = False) -> None:
    """Inserts `rows` (values in the order of `fields`, as the database takes them). `ignore_known` skips rows whose key, the first field, is there.

    Only inside `one_writer`. Writers for other sources may insert the same keys meanwhile: whoever comes second waits for the first and skips them.
    """
    quote = connection.ops.quote_name
    meta = model._meta
    columns = {field.name: str(field.column) for field in meta.concrete_fields}
    names = ", ".join(quote(columns[name]) for name in fields)
    table = quote(meta.db_table)
    if connection.vendor == "postgresql":
        if not ignore_known:
            with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        rows = _unknown(model, fields[0], rows)
    holes = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {table} ({names}) VALUES ({holes})"  # noqa: S608 (names of our own models)
    if ignore_known:
        sql += " ON CONFLICT DO NOTHING"
    with connection.cursor() as cursor:
        values = list(rows)
        if ignore_known:
            # In the order of their keys neighbors in the index are written together, and of two writers one waits for the other, not each for each.
            values.sort(key=lambda row: str(row[0]))
        cursor.executemany(sql, values)


def put(model: type[Model], key: str, fields: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """As `insert`; a row whose `key`, a unique one of `fields`, is there gets the values of the others. Only inside `one_writer`."""
    quote = connection.ops.quote_name
    meta = model._meta
    columns = {field.name: quote(str(field.column)) for field in meta.concrete_fields}
    names = ", ".join(columns[name] for name in fields)
    holes = ", ".join(["%s"] * len(fields))
    values = ", ".join(f"{columns[name]} = EXCLUDED.{columns[name]}" for name in fields if name != key)
    sql = f"INSERT INTO {quote(meta.db_table)} ({names}) VALUES ({holes}) ON CONFLICT ({columns[key]}) DO UPDATE SET {values}"  # noqa: S608 (names of our own models)
    with connection.cursor() as cursor:
        cursor.executemany(sql, list(rows))


def update(model: type[Model], fields: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Sets `fields`; each of `rows` has their values, as the database takes them, and then the primary key. The ORM's way makes an expression of each value."""
    quote = connection.ops.quote_name
    meta = model._meta
    columns = {field.name: str(field.column) for field in meta.concrete_fields}
    assert meta.pk is not None
    values = ", ".join(f"{quote(columns[name])} = %s" for name in fields)
    sql = f"UPDATE {quote(meta.db_table)} SET {values} WHERE {quote(str(meta.pk.column))} = %s"  # noqa: S608 (names of our own models)
    with connection.cursor() as cursor:
        cursor.executemany(sql, list(rows))


def update_from(objects: Iterable[Model], model: type[Model], fields: Sequence[str]) -> None:
    """As `update`, with the values of model objects."""
    by_name = {field.name: field for field in model._meta.concrete_fields}
    of_model = [by_name[name] for name in fields]
    update(model, fields, ([*(field.get_prep_value(getattr(row, field.attname)) for field in of_model), row.pk] for row in objects))


def _unknown(model: type[Model], key: str, rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Most of an import that is repeated; without them little is sent."""
    by_key = {row[0]: row for row in rows}
    names = iter(list(by_key))
    while keys := list(islice(names, _KEYS_PER_QUERY)):
        for known_key in model._default_manager.filter(**{f"{key}__in": keys}).values_list(key, flat=True):
            del by_key[known_key]
    return list(by_key.values())
