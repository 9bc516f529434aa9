"""The guarded write does everything or nothing, on exactly the bytes that were previewed."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from inspector.programs.formats import Cell, Change, Element, Table
from inspector.sources.problems import Busy, Failed, Linked, Moved, NoTable, NotADatabase, NotAList, NotKept, SourceProblem
from inspector.sources.sqlite import commit, snapshot
from tests.sources.stores import KV, crashed, everything, fill, insert, make, other_process, prints

ROWS: dict[str | bytes, str | bytes] = {
    "conv:a_b:chunk:0000000001": '{"é":1}',
    "conv:a_b:chunk:0000000002": b"nul\0 \xff",
    "conv:a_b:seq": "2",
    "conv:aXb:seq": "9",
    "conv-index": '["a_b", "aXb"]\n',
}
PREFIX = "conv:a_b:"
CHANGES = (
    Change("conv:a_b:chunk:0000000001", Cell('{"é":1}'.encode()), Cell(b'{"\xff\0":2}')),
    Change("conv:a_b:chunk:0000000002", Cell(b"nul\0 \xff"), None),
    Change("conv:a_b:chunk:000000000\udcff", None, Cell(b"\xed\xa0\xbd")),
    Change("conv:a_b:seq", Cell(b"2"), Cell(b"\x00\x01", "blob")),
    Change("conv-index", None, Cell("c/é".encode()), Element.STRING),
)


@pytest.fixture(params=["WAL", "DELETE"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    made = make(tmp_path / "d.db", ROWS, request.param)
    with closing(sqlite3.connect(made)) as connection:
        fill(connection, {"conv:a_b:seq": "of another extension"}, "other")
    return made


def guard(path: Path) -> dict[str, dict[str, Cell]]:
    with snapshot(path) as store:
        return {PREFIX: {record.key: record.value for record in store.records(KV, PREFIX)}}


def run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def refused(path: Path, problem: type[SourceProblem], sentence: str, **asked: object) -> None:
    """`commit` refuses with this sentence and leaves every byte of every file."""
    arguments: dict[str, object] = {"guard": {}, "watch": {}, "changes": CHANGES} | asked
    before = prints(path)
    with pytest.raises(problem, match=sentence):
        commit(path, KV, **arguments)  # type: ignore[arg-type]
    assert prints(path) == before


def test_all_changes_are_written_with_their_exact_bytes_and_nothing_else_is(path: Path) -> None:
    watch = {"conv-index": Cell(b'["a_b", "aXb"]\n'), "conv:new:seq": None}
    milliseconds = commit(path, KV, guard(path), watch, CHANGES)
    assert 0 < milliseconds < 1000
    assert everything(path) == [
        ("conversation-store", b"conv-index", "text", '["a_b", "aXb","c/é"]\n'.encode()),
        ("conversation-store", b"conv:aXb:seq", "text", b"9"),
        ("conversation-store", b"conv:a_b:chunk:0000000001", "text", b'{"\xff\0":2}'),
        ("conversation-store", b"conv:a_b:chunk:000000000\xff", "text", b"\xed\xa0\xbd"),
        ("conversation-store", b"conv:a_b:seq", "blob", b"\x00\x01"),
        ("other", b"conv:a_b:seq", "text", b"of another extension"),
    ]


def test_the_reversed_changes_bring_every_row_back(path: Path) -> None:
    before = everything(path)
    commit(path, KV, guard(path), {}, CHANGES)
    assert everything(path) != before
    commit(path, KV, guard(path), {}, [change.reversed() for change in reversed(CHANGES)])
    assert everything(path) == before


def test_the_journal_mode_stays_and_no_file_is_left(path: Path) -> None:
    mode, files = path.read_bytes()[18:20], sorted(path.parent.iterdir())
    commit(path, KV, {}, {}, CHANGES)
    assert (path.read_bytes()[18:20], sorted(path.parent.iterdir())) == (mode, files)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE kv SET value = value || ' ' WHERE key = 'conv:a_b:seq' AND namespace <> 'other'", "conv:a_b:seq has another value"),
        ("UPDATE kv SET value = CAST(value AS BLOB) WHERE key = 'conv:a_b:seq'", "conv:a_b:seq has another value"),
        ("INSERT INTO kv VALUES ('conversation-store', 'conv:a_b:zz', '')", "conv:a_b:zz is new"),
        ("DELETE FROM kv WHERE key = 'conv:a_b:chunk:0000000002'", "conv:a_b:chunk:0000000002 is gone"),
    ],
)
def test_a_store_that_moved_since_the_preview_is_left_alone(path: Path, statement: str, what: str) -> None:
    previewed = guard(path)
    run(path, statement)
    sentence = f"changed since the preview \\({what}\\), so nothing was written; import it again"
    refused(path, Moved, sentence, guard=previewed, changes=[])


def test_neighbours_that_like_would_match_do_not_count_as_moved(path: Path) -> None:
    previewed = guard(path)
    run(path, "UPDATE kv SET value = '10' WHERE key = 'conv:aXb:seq' OR namespace = 'other'")
    run(path, "INSERT INTO kv VALUES ('conversation-store', 'CONV:A_B:x', '')")
    commit(path, KV, previewed, {}, CHANGES)


def test_many_moved_records_are_counted_and_the_first_are_named(path: Path) -> None:
    previewed = guard(path)
    with closing(sqlite3.connect(path)) as connection:
        fill(connection, {f"conv:a_b:new:{number:02}": "" for number in range(30)})
    with pytest.raises(Moved, match=r"conv:a_b:new:19 is new and 10 more\)") as caught:
        commit(path, KV, previewed, {}, CHANGES)
    assert (len(caught.value.changed), caught.value.total) == (20, 30)


@pytest.mark.parametrize(
    ("key", "cell", "what"),
    [
        ("conv:aXb:seq", Cell(b"8"), "conv:aXb:seq has another value"),
        ("conv:aXb:seq", Cell(b"9", "blob"), "conv:aXb:seq has another value"),
        ("conv:aXb:seq", None, "conv:aXb:seq is new"),
        ("conv:axb:seq", Cell(b"9"), "conv:axb:seq is gone"),
    ],
)
def test_a_watched_key_must_hold_exactly_its_cell(path: Path, key: str, cell: Cell | None, what: str) -> None:
    refused(path, Moved, what, watch={key: cell})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (Change("conv:aXb:seq", Cell(b"8"), Cell(b"1")), "has another value"),
        (Change("conv:aXb:seq", Cell(b"8"), None), "has another value"),
        (Change("conv:aXb:seq", None, Cell(b"1")), "is new"),
        (Change("conv:none", Cell(b"8"), None), "is gone"),
        (Change("conv-index", None, Cell(b"aXb"), Element.STRING), "already lists aXb"),
        (Change("conv-index", Cell(b"c"), None, Element.STRING), "no longer lists c"),
    ],
)
def test_one_change_that_does_not_fit_takes_all_others_back(path: Path, change: Change, what: str) -> None:
    refused(path, Moved, f"{change.key} {what}", changes=[*CHANGES[:4], change])


def test_a_refused_write_keeps_what_a_live_writer_has_in_its_wal(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", ROWS)
    with other_process(path, insert("b", "2")):
        refused(path, Moved, "conv:none is gone", changes=[*CHANGES, Change("conv:none", Cell(b""), None)])


def test_writing_beside_a_live_idle_writer_is_seen_by_it_and_leaves_its_wal_in_use(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", ROWS)
    with other_process(path, insert("b", "2"), then=insert("c", "3")) as other:
        database = path.read_bytes()
        commit(path, KV, guard(path), {}, CHANGES)
        assert path.read_bytes() == database
        other.go()
    assert {row[1] for row in everything(path)} >= {b"b", b"c", b"conv:a_b:chunk:000000000\xff"}


def test_writing_to_a_store_whose_writer_died_keeps_what_it_had_written(tmp_path: Path) -> None:
    path = crashed(make(tmp_path / "d.db", ROWS), insert("b", "2"))
    commit(path, KV, guard(path), {"b": Cell(b"2")}, CHANGES)
    assert (b"b", b"2") in {(row[1], row[3]) for row in everything(path)}


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_lock_held_by_another_process_is_named_in_bounded_time(path: Path, lock: str) -> None:
    with other_process(path, lock):
        start = time.monotonic()
        refused(path, Busy, "was not free within 200 ms, so nothing was written; wait", busy_ms=200)
        assert 0.1 < time.monotonic() - start < 2


def test_a_reader_that_keeps_a_rollback_store_open_makes_the_write_busy_and_undone(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", ROWS, "DELETE")
    with other_process(path, "BEGIN", "SELECT key FROM kv"):
        refused(path, Busy, "within 100 ms", busy_ms=100)


@pytest.mark.parametrize("value", ["{}", "[1]", "not json", '["a",]'])
def test_an_index_that_is_no_list_of_strings_is_left_alone(path: Path, value: str) -> None:
    run(path, f"UPDATE kv SET value = '{value}' WHERE key = 'conv-index'")
    refused(path, NotAList, "conv-index in .* is not a JSON array of strings, so nothing was written; repair", changes=CHANGES)


def test_an_element_goes_into_the_index_as_it_is_at_the_moment_of_writing(path: Path) -> None:
    run(path, """UPDATE kv SET value = '["z"]' WHERE key = 'conv-index'""")
    add = Change("conv-index", None, Cell(b"c"), Element.STRING)
    commit(path, KV, {}, {}, [add])
    run(path, """UPDATE kv SET value = '["z","c","later"]' WHERE key = 'conv-index'""")
    commit(path, KV, {}, {}, [add.reversed()])
    assert everything(path)[0] == ("conversation-store", b"conv-index", "text", b'["z","later"]')


def test_an_element_of_an_absent_index_makes_one(path: Path) -> None:
    run(path, "DELETE FROM kv WHERE key = 'conv-index'")
    commit(path, KV, {}, {}, [Change("conv-index", None, Cell(b"c"), Element.STRING)])
    assert everything(path)[0] == ("conversation-store", b"conv-index", "text", b'["c"]')


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("CREATE TRIGGER t AFTER DELETE ON kv BEGIN DELETE FROM kv WHERE namespace = 'other'; END", "it has triggers"),
        ("CREATE TRIGGER t AFTER UPDATE ON kv BEGIN UPDATE kv SET value = 'mine' WHERE key = new.key; END", "it has triggers"),
        ("CREATE TRIGGER t BEFORE DELETE ON kv BEGIN SELECT RAISE(IGNORE); END", "it has triggers"),
        ("CREATE TRIGGER t BEFORE INSERT ON kv BEGIN SELECT RAISE(ABORT, 'no'); END", "no"),
    ],
)
def test_a_store_that_would_not_keep_exactly_the_changes_is_left_alone(path: Path, schema: str, sentence: str) -> None:
    run(path, schema)
    refused(path, NotKept, f"{sentence}.*was rolled back; look at its triggers")


def test_a_row_that_an_index_does_not_allow_takes_all_others_back(path: Path) -> None:
    run(path, "CREATE UNIQUE INDEX one_length ON kv (namespace, length(value)) WHERE key LIKE 'conv:a_b:chunk%'")
    refused(path, NotKept, "UNIQUE.*was rolled back", changes=[CHANGES[3], Change("conv:a_b:chunk:3", None, Cell(b"1234567"))])


@pytest.mark.parametrize("change", [Change("c", None, Cell(b"2")), Change("a", Cell(b"1"), Cell(b"2"))])
def test_a_table_that_replaces_on_conflict_loses_no_row(tmp_path: Path, change: Change) -> None:
    path, table = tmp_path / "d.db", Table("n", "key", "value")
    run(path, "CREATE TABLE n (key TEXT, value TEXT UNIQUE ON CONFLICT REPLACE)")
    run(path, "INSERT INTO n VALUES ('a', '1'), ('b', '2')")
    with pytest.raises(NotKept, match="UNIQUE"):
        commit(path, table, {}, {}, [change])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM n ORDER BY key").fetchall() == [("a", "1"), ("b", "2")]


def test_a_column_that_turns_text_into_numbers_is_found_on_reading_back(tmp_path: Path) -> None:
    path, table = tmp_path / "d.db", Table("n", "key", "value")
    run(path, "CREATE TABLE n (key TEXT, value INTEGER)")
    before = path.read_bytes()
    with pytest.raises(NotKept, match="a reads back with other bytes"):
        commit(path, table, {}, {}, [Change("a", None, Cell(b"007"))])
    assert path.read_bytes() == before


def test_integers_and_nulls_come_back_as_they_were(tmp_path: Path) -> None:
    path, table = tmp_path / "d.db", Table("n", "key", "value")
    run(path, "CREATE TABLE n (key, value)")
    run(path, "INSERT INTO n VALUES ('a', 7), ('b', NULL), ('c', 1.5)")
    changes = [Change("a", Cell(b"7", "integer"), None), Change("b", Cell(b"", "null"), Cell(b"x"))]
    commit(path, table, {"": {"a": Cell(b"7", "integer"), "b": Cell(b"", "null"), "c": Cell(b"1.5", "real")}}, {}, changes)
    commit(path, table, {}, {}, [change.reversed() for change in changes])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM n ORDER BY key").fetchall() == [("a", 7), ("b", None), ("c", 1.5)]
    with pytest.raises(Failed, match="a value of type real cannot be written"):
        commit(path, table, {}, {}, [Change("d", None, Cell(b"1.5", "real"))])


def test_a_key_that_is_there_twice_is_never_written(tmp_path: Path) -> None:
    path, table = tmp_path / "d.db", Table("n", "key", "value")
    run(path, "CREATE TABLE n (key, value)")
    run(path, "INSERT INTO n VALUES ('a', '1'), ('a', '1')")
    with pytest.raises(Moved, match="a is there 2 times"):
        commit(path, table, {}, {}, [Change("a", Cell(b"1"), None)])
    with pytest.raises(Moved, match="a is there twice"):
        commit(path, table, {"": {"a": Cell(b"1")}}, {}, [])


@pytest.mark.parametrize("table", [Table("none", "key", "value"), Table("kv", "key", "content"), Table("seen", "key", "value")])
def test_a_table_that_is_not_there_is_named(path: Path, table: Table) -> None:
    run(path, "CREATE VIEW seen AS SELECT key, value FROM kv")
    with pytest.raises(NoTable, match=f"has no table {table.name} with columns key, {table.value}"):
        commit(path, table, {}, {}, CHANGES)


def test_ten_thousand_guarded_rows_hold_the_lock_for_a_short_time(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {f"conv:a_b:chunk:{number:010}": "x" * 500 for number in range(10_000)})
    changes: Sequence[Change] = [Change(f"conv:a_b:chunk:{number:010}", Cell(b"x" * 500), Cell(b"y" * 500)) for number in range(100)]
    assert commit(path, KV, guard(path), {}, changes) < 1000


def test_a_file_that_is_no_longer_a_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    path.write_bytes(b"not a database at all")
    refused(path, NotADatabase, "check the path")


def test_a_database_with_a_second_name_is_not_written(path: Path) -> None:
    """SQLite keeps -wal and -journal next to the name that was opened: by two names, two programs damage one file."""
    other = path.with_name("other.db")
    other.hardlink_to(path)
    for name in (path, other):
        refused(name, Linked, "has 2 names .*Nothing was written.*samefile")
    other.unlink()
    commit(path, KV, {}, {}, CHANGES)


def test_a_link_to_a_database_is_no_second_name(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    commit(link, KV, guard(path), {}, CHANGES)
