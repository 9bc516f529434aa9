"""Stores that we make are real files, read back here with plain sqlite3."""

import gzip
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.demo import creation
from inspector.demo.dispatch_incident import store_rows, trace_records
from inspector.sources import files, sqlite
from inspector.sources.problems import AlreadyThere, Missing, NotAFile
from inspector.traces import dispatch as dispatch_traces
from inspector.traces.body_hash import body_hash
from inspector.traces.record_id import record_id


def ask(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def columns(path: Path, table: str) -> list[str]:
    return [name for _, name, *_ in ask(path, f"PRAGMA table_info({table})")]


def test_a_store_holds_exactly_the_given_rows_as_text(tmp_path: Path) -> None:
    path = tmp_path / "made" / "for it" / "dispatch.db"
    creation.write_dispatch_store(path, store_rows())
    assert ask(path, "SELECT namespace, key, value FROM kv ORDER BY 1, 2") == sorted(store_rows())
    assert ask(path, "SELECT DISTINCT typeof(namespace), typeof(key), typeof(value) FROM kv") == [("text", "text", "text")]
    assert columns(path, "_migrations") == ["namespace", "version", "name", "applied_at"]


def test_a_store_stands_alone_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    creation.write_dispatch_store(path, store_rows())
    assert [file.name for file in tmp_path.iterdir()] == ["dispatch.db"]
    assert ask(path, "PRAGMA journal_mode") == [("wal",)]
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_lone_surrogate_is_stored_as_its_own_bytes(tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    creation.write_dispatch_store(path, [("n", "k", "a\ud800b\0c")])
    assert ask(path, "SELECT CAST(value AS BLOB), typeof(value) FROM kv") == [(b"a\xed\xa0\x80b\0c", "text")]


def test_the_last_of_two_equal_keys_wins_as_with_set(tmp_path: Path) -> None:
    path = tmp_path / "dispatch.db"
    creation.write_dispatch_store(path, [("n", "k", "first"), ("n", "k", "second")])
    assert ask(path, "SELECT value FROM kv") == [("second",)]


def test_a_new_trace_store_keeps_bodies_by_content(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    records = trace_records()
    creation.write_trace_store(path, records)
    assert ask(path, "SELECT id, kind, timestamp, turnId FROM records ORDER BY timestamp, rowid") == [
        (record_id(record), record["kind"], record["timestamp"], record.get("turnId")) for record in records
    ]
    found = {
        key: gzip.decompress(body) if compressed else body
        for key, body, compressed in ask(path, "SELECT hash, body, isCompressed FROM bodies")
    }
    sent = [record["body"].encode() for record in records if "body" in record]
    assert sorted(found) == sorted({body_hash(body) for body in sent})
    assert sorted(found.values()) == sorted(set(sent))
    assert ask(path, "SELECT count(*) FROM bodies WHERE storedSize <> length(body) OR originalSize < 1024 AND isCompressed") == [(0,)]
    assert {name for (name,) in ask(path, "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")} == {
        f"idx_records_{column}" for column in ("turnId", "conversationId", "spanId", "kind", "timestamp", "bodyHash")
    }


@pytest.mark.parametrize(("size", "compressed"), [(1024, 0), (1025, 1)])
def test_bodies_over_1024_bytes_are_gzipped(tmp_path: Path, size: int, compressed: int) -> None:
    record = {"kind": "span-open", "spanId": "s", "name": "prompt", "timestamp": 1, "extensionId": "e", "body": "x" * size}
    creation.write_trace_store(tmp_path / "traces.db", [record, record])
    assert ask(tmp_path / "traces.db", "SELECT isCompressed, originalSize FROM bodies") == [(compressed, size)]
    assert ask(tmp_path / "traces.db", "SELECT count(*) FROM records") == [(1,)]


def test_an_old_trace_store_keeps_bodies_by_record(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    creation.write_trace_store(path, trace_records(), schema="old")
    assert "bodyHash" not in columns(path, "records")
    assert sorted(ask(path, "SELECT recordId, body FROM bodies")) == sorted(
        (record_id(record), record["body"]) for record in trace_records() if "body" in record
    )


def test_a_journal_has_one_record_a_line(tmp_path: Path) -> None:
    path = tmp_path / "app.ndjson"
    creation.write_journal(path, trace_records())
    data = path.read_bytes()
    assert data.endswith(b"}\n") and b'": ' not in data.split(b"\n")[0]
    assert [json.loads(line) for line in data.split(b"\n")[:-1]] == trace_records()


def test_journal_and_both_schemas_read_alike_and_without_problems(tmp_path: Path) -> None:
    problems: list[dispatch_traces.Problem] = []
    creation.write_journal(tmp_path / "app.ndjson", trace_records())
    journal = list(dispatch_traces.read_journal(files.lines(tmp_path / "app.ndjson"), problems.append))
    ids = [(record.id, record.body) for record, _ in journal]
    for schema in ("new", "old"):
        path = tmp_path / f"{schema}.db"
        creation.write_trace_store(path, trace_records(), schema=schema)
        with sqlite.snapshot(path) as store:
            assert [(record.id, record.body) for record, _ in dispatch_traces.read_database(store, problems.append)] == ids
    assert (len(ids), problems) == (55, [])


WRITERS: dict[str, tuple[Callable[[Path, Any], None], Callable[[], list[Any]]]] = {
    "store": (creation.write_dispatch_store, store_rows),
    "traces": (creation.write_trace_store, trace_records),
    "journal": (creation.write_journal, trace_records),
}


@pytest.mark.parametrize("name", WRITERS)
def test_an_existing_file_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / "there"
    path.write_bytes(b"someone's")
    write, content = WRITERS[name]
    with pytest.raises(AlreadyThere, match="already exists and is left as it is"):
        write(path, content())
    assert path.read_bytes() == b"someone's"


@pytest.mark.parametrize("name", WRITERS)
def test_what_fails_in_the_middle_leaves_no_file(tmp_path: Path, name: str) -> None:
    class Broken(Exception):
        pass

    write, content = WRITERS[name]

    def broken() -> Iterator[Any]:
        yield content()[0]
        raise Broken

    with pytest.raises(Broken):
        write(tmp_path / "new", broken())
    assert list(tmp_path.iterdir()) == []


def test_side_files_of_another_database_are_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "dispatch.db-wal").write_bytes(b"someone's")
    with pytest.raises(AlreadyThere, match=r"dispatch\.db-wal"):
        creation.write_dispatch_store(tmp_path / "dispatch.db", store_rows())
    assert [file.name for file in tmp_path.iterdir()] == ["dispatch.db-wal"]


def test_a_parent_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises((AlreadyThere, Missing, NotAFile), match="file"):
        creation.write_journal(tmp_path / "file" / "app.ndjson", [])


def test_a_made_file_is_closed_to_other_users(tmp_path: Path) -> None:
    creation.write_dispatch_store(tmp_path / "made" / "dispatch.db", store_rows())
    assert (tmp_path / "made").stat().st_mode & 0o077 == 0
    assert (tmp_path / "made" / "dispatch.db").stat().st_mode & 0o077 == 0
