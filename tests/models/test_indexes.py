"""What SQLite looks rows up by: no index twice, and none missing where a page asks for one row of many."""

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inspector.models.single_chunk import _first_pieces, _records, _rows

pytestmark = [pytest.mark.django_db, pytest.mark.skipif("connection.vendor != 'sqlite'", reason="asks SQLite")]


def indexes(table: str) -> dict[str, list[str]]:
    """Name -> columns, without those that have a condition: nothing but that is found by them."""
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA index_list({table})")
        names = [name for _, name, _, _, is_partial in cursor.fetchall() if not is_partial]
        columns = {}
        for name in names:
            cursor.execute(f"PRAGMA index_info({name})")
            columns[name] = [column for _, _, column in cursor.fetchall()]
    return columns


def test_no_index_is_the_beginning_of_another() -> None:
    """It would cost every import, and what it finds the other finds as well."""
    known = {model._meta.db_table: indexes(model._meta.db_table) for model in apps.get_app_config("inspector").get_models()}
    assert known["inspector_record"] == {
        "record_by_position": ["conversation_id", "position"],
        "record_by_payload": ["payload_id", "conversation_id"],
    }
    twice = [
        (table, name, other)
        for table, columns_of in known.items()
        for name, columns in columns_of.items()
        for other, more in columns_of.items()
        if len(columns) < len(more) and more[: len(columns)] == columns
    ]
    assert twice == []


def test_a_link_to_a_chunk_looks_its_rows_up() -> None:
    """A conversation of 1,000,000 entries has 20,000 records, and each such page read and sorted them all."""
    with CaptureQueriesContext(connection) as asked:
        _rows(1, 300, 1)
        _records(1, 10, 1, "digest", 1)
        _first_pieces(1, "long.jsonl", "file", 1)
    plans = []
    with connection.cursor() as cursor:
        for query in asked.captured_queries:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plans.append([step for *_, step in cursor.fetchall()])
    assert len(plans) == 3
    assert not [step for steps in plans for step in steps if "SCAN" in step or "TEMP B-TREE" in step], plans
