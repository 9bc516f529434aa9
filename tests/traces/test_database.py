"""The trace database: both schemas, a migration that stopped half-way, and rows that are damaged."""

import gzip
import hashlib
import tracemalloc
from pathlib import Path

import pytest

from inspector.programs.formats import Shape
from inspector.sources import sqlite
from inspector.traces import bodies
from inspector.traces import dispatch as dispatch_traces
from inspector.traces.dispatch import sniff
from inspector.traces.log_record import UNREADABLE
from tests.traces.stores import EXAMPLES, OLD_BODIES, read_database, write_database

LONG = "a prompt, " * 300
CLOSE, PROMPT, LOG = "73237b97dae32fa6", "99e3f0d1ffe69fc0", "3bd39c9dd27756b3"


def prompt(number: int, body: str) -> dict[str, object]:
    return {**EXAMPLES[PROMPT], "spanId": f"s{number}", "timestamp": 1700000001000 + number, "body": body}


@pytest.mark.parametrize("old", [False, True], ids=["new schema", "old schema"])
def test_records_come_in_time_order_with_their_attributes_links_and_bodies(tmp_path: Path, old: bool) -> None:
    linked = {**prompt(1, LONG), "links": [{"spanId": "span-2", "reason": "retry"}], "attributes": {"messageCount": 3, "warm": None}}
    reading = read_database(write_database(tmp_path / "traces.db", [linked, *EXAMPLES.values()], old=old))
    assert [record.id for record in reading.records[:4]] == [LOG, "99ed5f2025b538e8", PROMPT, CLOSE]
    assert [record.order for record in reading.records] == [0, 1, 2, 3, 4]
    log, _, short, close, last = reading.records
    assert (log.message, log.level, dict(log.attributes), log.span_id) == ("hello", "info", {"key": "value"}, "span-1")
    assert (close.duration_ms, close.status, close.parent_span_id, close.turn_id) == (400, "ok", "span-1", "turn-1")
    assert (dict(last.attributes), last.links) == ({"messageCount": 3, "warm": None}, ({"spanId": "span-2", "reason": "retry"},))
    assert short.body == hashlib.sha256(b"the full prompt text").hexdigest()
    assert last.body and reading.bodies == {short.body: b"the full prompt text", last.body: LONG.encode()}
    assert reading.problems == []


def test_a_body_over_1024_bytes_stays_compressed_and_tells_its_unpacked_size(tmp_path: Path) -> None:
    reading = read_database(write_database(tmp_path / "traces.db", [prompt(1, "x" * 2048)]))
    (body,) = reading.stored
    assert body.compressed and len(body.data) < 100 and body.size == 2048
    assert bodies.decompress(body) == b"x" * 2048


@pytest.mark.parametrize("old", [False, True], ids=["new schema", "old schema"])
def test_equal_bodies_are_handed_out_once_and_named_by_every_record(tmp_path: Path, old: bool) -> None:
    reading = read_database(write_database(tmp_path / "traces.db", [prompt(1, LONG), prompt(2, LONG)], old=old))
    assert len(reading.stored) == 1
    assert [record.body for record in reading.records] == [reading.stored[0].name] * 2


def test_bodies_left_behind_by_an_interrupted_migration_are_found(tmp_path: Path) -> None:
    path = write_database(
        tmp_path / "traces.db",
        [prompt(1, "moved already"), {**prompt(2, ""), "body": None}],
        after=[
            f"CREATE TABLE bodies_old {OLD_BODIES}",
            "INSERT INTO bodies_old SELECT id, 'not moved yet' FROM records WHERE spanId = 's2'",
            "INSERT INTO bodies_old SELECT id, 'stale' FROM records WHERE spanId = 's1'",
        ],
    )
    reading = read_database(path)
    assert [reading.bodies[record.body or ""] for record in reading.records] == [b"moved already", b"not moved yet"]
    assert reading.problems == []


def test_a_missing_table_of_bodies_is_said_once_and_the_records_are_read(tmp_path: Path) -> None:
    reading = read_database(write_database(tmp_path / "traces.db", EXAMPLES.values(), after=["DROP TABLE bodies"]))
    assert len(reading.records) == 4
    assert [problem.where for problem in reading.problems] == ["bodies"] and "unknown, not absent" in reading.reasons


def test_another_database_is_refused_with_a_sentence(tmp_path: Path) -> None:
    reading = read_database(write_database(tmp_path / "traces.db", after=["ALTER TABLE records RENAME TO other"]))
    assert reading.records == [] and "choose the trace database itself" in reading.reasons


DAMAGE = {
    "UPDATE records SET attributes = '{oops'": "attributes are not JSON",
    "UPDATE records SET attributes = '[1]'": "attributes are not an object",
    "UPDATE records SET attributes = '{\"a\":NaN}'": "attributes are not JSON",
    "UPDATE records SET attributes = 7": "attributes are not JSON|attributes are not an object",
    "UPDATE records SET attributes = CAST(X'ff7b' AS TEXT)": "attributes are not JSON",
    "UPDATE records SET links = '[3]'": "links are not a list of objects",
    "UPDATE records SET timestamp = 'yesterday'": "timestamp is not a time",
    "UPDATE records SET timestamp = 9223372036854775807": "timestamp is not a time",
    "UPDATE records SET timestamp = -5": "timestamp is not a time",
    "UPDATE records SET durationMs = 'long'": "durationMs is not a number",
    "UPDATE records SET kind = 'span'": "kind is 'span'",
    "UPDATE records SET name = X'00ff'": "name is not text",
    "UPDATE records SET id = NULL": "has no id",
    "UPDATE records SET bodyHash = 'gone'": "no longer in the table",
    "UPDATE records SET bodyHash = CAST(X'ff' AS TEXT)": "no longer in the table",
    "UPDATE records SET bodyHash = X'ff'": "no longer in the table",
    "UPDATE bodies SET body = X'1f8b08', isCompressed = 1": "cannot be unpacked|ends before",
    "UPDATE bodies SET body = substr(body, 1, 40)": "ends before its end mark",
    "UPDATE bodies SET body = CAST(body || X'00' AS BLOB)": "further bytes",
    "UPDATE bodies SET isCompressed = 0": "originalSize",
    "UPDATE bodies SET originalSize = 4": "originalSize says 4",
    "UPDATE bodies SET storedSize = 'x'": "storedSize says x",
    "UPDATE bodies SET body = 12": "ends before|cannot be unpacked|neither text nor a BLOB",
    "INSERT INTO bodies VALUES ('stray', 'x', 0, 1, 1)": "Bodies that no record names, so that no trace shows them: 1.",
}


@pytest.mark.parametrize("statement", DAMAGE)
def test_a_damaged_row_is_kept_and_reported(tmp_path: Path, statement: str) -> None:
    reading = read_database(write_database(tmp_path / "traces.db", [prompt(1, LONG)], after=[statement]))
    assert [record.span_id for record in reading.records] == ["s1"]
    assert any(part in reading.reasons for part in DAMAGE[statement].split("|")), reading.reasons
    for problem in reading.problems:
        assert problem.where and problem.reason[0].isupper() and problem.reason.endswith(".")


def test_unreadable_attributes_keep_their_text(tmp_path: Path) -> None:
    reading = read_database(write_database(tmp_path / "traces.db", [prompt(1, "x")], after=["UPDATE records SET attributes = '{oops'"]))
    assert dict(reading.records[0].attributes) == {UNREADABLE: "{oops"}


def test_a_body_that_cannot_be_unpacked_keeps_its_stored_bytes(tmp_path: Path) -> None:
    broken = gzip.compress(LONG.encode())[:40]
    path = write_database(tmp_path / "traces.db", [prompt(1, LONG)], after=[f"UPDATE bodies SET body = X'{broken.hex()}'"])
    reading = read_database(path)
    assert reading.bodies == {reading.records[0].body: broken}


def test_a_damaged_body_that_two_records_share_is_reported_once(tmp_path: Path) -> None:
    path = write_database(tmp_path / "traces.db", [prompt(1, LONG), prompt(2, LONG)], after=["UPDATE bodies SET originalSize = 4"])
    reading = read_database(path)
    assert len(reading.records) == 2 and len(reading.problems) == 1


@pytest.mark.parametrize("beyond", [0, 5])
def test_bytes_behind_the_end_of_a_gzip_body_are_damage(monkeypatch: pytest.MonkeyPatch, beyond: int) -> None:
    packed = gzip.compress(b"x")
    monkeypatch.setattr(bodies, "_PIECE", len(packed) + beyond)
    assert bodies.gzipped(packed).size == 1
    with pytest.raises(ValueError, match="further bytes"):
        bodies.gzipped(packed + bytes(9))


def test_a_gzip_bomb_is_reported_and_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY", 8 * 2**20)
    bomb = gzip.compress(bytes(64 * 2**20))
    path = write_database(tmp_path / "traces.db", [prompt(1, LONG)], after=[f"UPDATE bodies SET body = X'{bomb.hex()}'"])
    tracemalloc.start()
    reading = read_database(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "unpacks to more than 8388608 bytes" in reading.reasons and reading.stored[0].data == bomb
    assert peak < 8 * 2**20


def test_many_bodies_are_not_held_at_once(tmp_path: Path) -> None:
    large = "UPDATE bodies SET body = randomblob(262144), isCompressed = 0, originalSize = 262144, storedSize = 262144"
    path = write_database(tmp_path / "traces.db", [prompt(number, str(number)) for number in range(40)], after=[large])
    seen = 0
    with sqlite.snapshot(path) as store:
        tracemalloc.start()
        for _, body in dispatch_traces.read_database(store, lambda problem: None):
            seen += body is not None
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert seen == 40 and peak < 4 * 2**20


def test_reading_leaves_an_old_store_in_its_old_schema(tmp_path: Path) -> None:
    path = write_database(tmp_path / "traces.db", EXAMPLES.values(), old=True)
    before = path.read_bytes()
    read_database(path)
    assert path.read_bytes() == before


def test_sniff_knows_the_store_by_its_tables(tmp_path: Path) -> None:
    assert sniff(sqlite.identify(write_database(tmp_path / "new.db"))) == 1.0
    assert sniff(sqlite.identify(write_database(tmp_path / "old.db", old=True))) == 1.0
    assert 0 < sniff(sqlite.identify(write_database(tmp_path / "bare.db", after=["DROP TABLE bodies"]))) < 1
    assert sniff(Shape(tables={"records": ("id", "value"), "bodies": ("x",)})) == 0
    assert sniff(Shape(b"{}")) == 0
