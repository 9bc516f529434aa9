"""The journal: the same records as in the database, and lines that are damaged, torn or joined."""

import json
from pathlib import Path

import pytest

from inspector.programs.formats import Shape
from inspector.traces.dispatch import sniff_journal
from inspector.traces.record_id import record_id
from tests.traces.stores import EXAMPLES, read_database, read_journal, write_database, write_journal

RECORDS = list(EXAMPLES.values())


def line(record: dict[str, object]) -> bytes:
    return json.dumps(record).encode()


def test_a_journal_gives_the_ids_and_bodies_of_the_database_made_of_it(tmp_path: Path) -> None:
    journal = read_journal(write_journal(tmp_path / "app.ndjson", RECORDS))
    database = read_database(write_database(tmp_path / "traces.db", RECORDS))
    assert [record.id for record in journal.records] == list(EXAMPLES)
    assert {record.id: record.body for record in journal.records} == {record.id: record.body for record in database.records}
    assert journal.bodies == database.bodies and len(journal.bodies) == 1
    assert journal.problems == []


def test_order_counts_on_from_the_rotated_file(tmp_path: Path) -> None:
    rotated = write_journal(tmp_path / "app.ndjson.1", RECORDS[:2])
    current = write_journal(tmp_path / "app.ndjson", RECORDS[2:])
    orders = [record.order for record in read_journal(rotated).records]
    orders += [record.order for record in read_journal(current, rotated.stat().st_size).records]
    assert orders == sorted(set(orders)) and orders[0] == 0


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"not json", "no record"), (b"[1]", "no object with a kind"), (b'{"level":"info"}', "no object with a kind"),
        (b'{"kind":"log","timestamp":NaN}', "NaN is not JSON"), (b"[" * 100_000, "nested too deeply"), (b"\x00\xff", "no record"),
    ],
)  # fmt: skip
def test_a_bad_line_is_reported_with_its_offset_and_the_others_are_read(tmp_path: Path, bad: bytes, reason: str) -> None:
    path = tmp_path / "app.ndjson"
    first = line(RECORDS[0]) + b"\n"
    path.write_bytes(first + b"\n" + bad + b"\n" + line(RECORDS[1]) + b"\r\n")
    reading = read_journal(path)
    assert [record.id for record in reading.records] == list(EXAMPLES)[:2]
    assert [problem.where for problem in reading.problems] == [f"line at byte {len(first) + 1}"] and reason in reading.reasons


def test_a_torn_last_line_is_said_to_be_torn(tmp_path: Path) -> None:
    reading = read_journal(write_journal(tmp_path / "app.ndjson", RECORDS[:1], torn=line(RECORDS[1])[:50]))
    assert len(reading.records) == 1
    assert "torn or is still being written" in reading.reasons


def test_a_record_written_behind_a_torn_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "app.ndjson"
    path.write_bytes(line(RECORDS[0])[:60] + line(RECORDS[3]).replace(b": ", b":") + b"\n" + line(RECORDS[1]) + b"\n")
    reading = read_journal(path)
    assert [record.id for record in reading.records] == ["3bd39c9dd27756b3", "73237b97dae32fa6"]
    assert "torn record" in reading.reasons


def test_bytes_that_are_not_utf8_are_kept_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "app.ndjson"
    path.write_bytes(line(RECORDS[2]).replace(b"the full", b"the \xff") + b"\n")
    reading = read_journal(path)
    assert list(reading.bodies.values()) == [b"the \xff prompt text"]
    assert reading.records[0].id == record_id({**RECORDS[2], "body": "the \ufffd prompt text"}) and "not UTF-8" in reading.reasons


def test_values_of_other_types_are_kept_and_reported(tmp_path: Path) -> None:
    odd = {**RECORDS[2], "body": {"messages": []}, "turnId": 7, "timestamp": True, "durationMs": 1.6, "kind": "span-open"}
    reading = read_journal(write_journal(tmp_path / "app.ndjson", [odd]))
    (record,) = reading.records
    assert (record.turn_id, record.timestamp, record.duration_ms) == ("7", 0, 2)
    assert list(reading.bodies.values()) == [b'{"messages":[]}']
    assert [word for word in ("body is not text", "turnId is not text", "timestamp") if word not in reading.reasons] == [] and len(
        reading.problems
    ) == 3


def test_lone_surrogates_in_a_body_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "app.ndjson"
    path.write_bytes(line({**RECORDS[2], "body": "\ud800"}) + b"\n")
    assert list(read_journal(path).bodies.values()) == [b"\xed\xa0\x80"]


def test_sniff_knows_a_journal_by_its_first_or_second_line() -> None:
    first, second = line(RECORDS[0]), line(RECORDS[1])
    assert sniff_journal(Shape(first + b"\n" + second + b"\n")) > 0.9
    assert sniff_journal(Shape(first[40:] + b"\n" + second + b"\n")) > 0.8
    assert sniff_journal(Shape(b'{"kind":"span-open","body":"' + b"x" * 4000)) > 0.5
    for other in (b"", b'{"type":"session"}\n{"type":"user"}\n', b"\xff\xfe", b'{"kind":"other"}\n', b"[1]\n[2]\n"):
        assert sniff_journal(Shape(other)) == 0
    assert sniff_journal(Shape(first, {"records": ()})) == 0
