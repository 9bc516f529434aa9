"""Many rows of one table at once. An import writes two rows a chunk; building a model object for each took most of its time."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Model


def insert(model: type[Model], fields: Sequence[str], rows: Iterable[Sequence[Any]], ignore_known: bool = False) -> None:
    """Inserts `rows` (values in the order of `fields`, as the database takes them). `ignore_known` skips rows whose key is there."""
    quote = connection.ops.quote_name
    meta = model._meta
    columns = {field.name: str(field.column) for field in meta.concrete_fields}
    names = ", ".join(quote(columns[name]) for name in fields)
    holes = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {quote(meta.db_table)} ({names}) VALUES ({holes})"  # noqa: S608 (names of our own models)
    if ignore_known:
        sql += " ON CONFLICT DO NOTHING"
    with connection.cursor() as cursor:
        cursor.executemany(sql, list(rows))
