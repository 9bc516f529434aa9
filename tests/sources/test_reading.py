"""Reading a store gives what a live reader would see, and leaves every byte and every file where it was."""

import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from inspector.programs.formats import Table
from inspector.sources import opening
from inspector.sources.opening import stamp
from inspector.sources.problems import Changing, Damaged, Locked, NoTable, NotReadable, SourceProblem, Unfinished, Utf16
from inspector.sources.sqlite import backup, identify, reread, snapshot
from tests.sources.stores import KV, SCHEMA, crashed, everything, fill, insert, make, other_process, prints, run_as_nobody


def read(path: Path, prefix: str | None = None) -> dict[str, bytes]:
    with snapshot(path) as store:
        return {record.key: record.value.data for record in store.records(KV, prefix)}


@pytest.fixture
def temp_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The system's temp folder for one test: whatever is made there must be gone at the end."""
    folder = tmp_path_factory.mktemp("temp")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", ["WAL", "DELETE", "TRUNCATE", "PERSIST"])
def test_a_store_nobody_has_open_is_read_and_left_as_it_was(tmp_path: Path, mode: str) -> None:
    path = make(tmp_path / "d.db", {"a": "1", "b": "2"}, mode)
    before = prints(path)
    assert read(path) == {"a": b"1", "b": b"2"}
    assert prints(path) == before


def test_frames_that_a_live_writer_has_only_in_its_wal_are_read_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "d.db", {"a": "1"})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no copies today"))
    with other_process(path, insert("b", "2")):
        before = prints(path)
        assert "d.db-wal" in before
        assert read(path) == {"a": b"1", "b": b"2"}
        assert prints(path) == before


def test_a_live_reader_with_an_empty_wal_is_no_hindrance(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {"a": "1"})
    with other_process(path, "SELECT * FROM kv"):
        before = prints(path)
        assert read(path) == {"a": b"1"}
        assert prints(path) == before


def test_a_snapshot_stays_at_its_moment_while_a_live_writer_goes_on_and_checkpoints(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {"a": "1"})
    with other_process(path, insert("b", "2"), then="UPDATE kv SET value = 'new'") as other, snapshot(path) as store:
        other.go()
        assert {record.key: record.value.data for record in store.records(KV)} == {"a": b"1", "b": b"2"}
    assert read(path) == {"a": b"new", "b": b"new"}


@pytest.mark.parametrize("shared", [True, False])
def test_frames_of_a_writer_that_died_are_read(tmp_path: Path, temp_left: Path, shared: bool) -> None:
    path = crashed(make(tmp_path / "d.db", {"a": "1"}), insert("b", "2"))
    if not shared:
        (tmp_path / "d.db-shm").unlink()
    before = prints(path)
    assert read(path) == {"a": b"1", "b": b"2"}
    assert prints(path) == before


def test_what_sqlite_may_not_open_in_place_is_read_from_a_private_copy(
    tmp_path: Path, temp_left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = crashed(make(tmp_path / "d.db", {"a": "1"}), insert("b", "2"))
    connect = opening.connect

    def refused(asked: Path, options: str) -> sqlite3.Connection:
        if asked == path.resolve():
            raise NotReadable(path, "as on a read-only file system")
        return connect(asked, options)

    monkeypatch.setattr(opening, "connect", refused)
    before = prints(path)
    assert read(path) == {"a": b"1", "b": b"2"}
    assert prints(path) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not write")
@pytest.mark.parametrize("state", ["closed", "rollback", "died", "died without shm", "live"])
def test_a_folder_in_which_nothing_may_be_written_is_read_all_the_same(state: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = make(folder / "d.db", {"a": "1"}, "DELETE" if state == "rollback" else "WAL")
        expected = {"a": b"1"}
        if state.startswith("died"):
            crashed(path, insert("b", "2"))
        if state == "died without shm":
            (folder / "d.db-shm").unlink()
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        before = prints(path)

        def check() -> None:
            assert read(path) == expected

        if state in ("died", "died without shm"):
            expected["b"] = b"2"
        if state == "live":
            with other_process(path, insert("b", "2")):
                (folder / "d.db-shm").chmod(0o444)
                before, expected["b"] = prints(path), b"2"
                run_as_nobody(check)
                assert prints(path) == before
        else:
            run_as_nobody(check)
            assert prints(path) == before


@pytest.mark.parametrize(
    ("mode", "statements"),
    [("DELETE", ["BEGIN EXCLUSIVE"]), ("WAL", ["PRAGMA locking_mode=EXCLUSIVE", insert("b", "2")])],
)
def test_an_exclusive_lock_of_another_process_is_named_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, statements: list[str]
) -> None:
    monkeypatch.setattr("inspector.sources.locks.WAIT", 0.2)
    path = make(tmp_path / "d.db", {"a": "1"}, mode)
    with other_process(path, *statements):
        before, start = prints(path), time.monotonic()
        with pytest.raises(Locked, match="another process; stop it or wait"):
            read(path)
        assert time.monotonic() - start < 2
        assert prints(path) == before


def test_an_exclusive_lock_that_ends_soon_is_waited_for(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {"a": "1"})
    with other_process(path, "PRAGMA locking_mode=EXCLUSIVE", insert("b", "2")) as other:
        assert other.process.stdin is not None
        threading.Timer(0.4, other.process.stdin.close).start()
        assert read(path) == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_rollback_journal_of_a_writer_that_died_is_refused_and_kept(tmp_path: Path, mode: str) -> None:
    path = make(tmp_path / "d.db", {"a": "1"}, "DELETE")
    kept = tmp_path / "kept"
    with other_process(path, "PRAGMA cache_spill=1", "BEGIN IMMEDIATE", "UPDATE kv SET value = 'half'", crash=True):
        kept.write_bytes((tmp_path / "d.db-journal").read_bytes())
    path.unlink()
    make(path, {"a": "1"}, mode)
    journal = bytearray(kept.read_bytes())
    # What an fsync would have made of it: magic and one page, so that SQLite takes it for hot.
    journal[:12] = bytes.fromhex("d9d505f920a163d7") + (1).to_bytes(4, "big")
    (tmp_path / "d.db-journal").write_bytes(journal)
    before = prints(path)
    with pytest.raises(Unfinished, match="then try again"):
        read(path)
    assert prints(path) == before


def test_a_store_checkpointed_by_a_new_writer_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {"a": "1"})
    rounds: list[int] = []

    def use(store: object) -> dict[str, bytes]:
        rounds.append(1)
        if len(rounds) == 1:
            with other_process(path, insert("b", "2"), "PRAGMA wal_checkpoint"):
                pass
        return {record.key: record.value.data for record in store.records(KV)}  # type: ignore[attr-defined]

    assert reread(path, use) == {"a": b"1", "b": b"2"}
    assert len(rounds) == 2


def test_a_store_that_never_stops_changing_is_named(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {"a": "1"})
    with pytest.raises(Changing, match="wait until its writer is idle"), snapshot(path):
        os.utime(path, ns=(1, 1))


def test_reading_does_not_drop_the_locks_of_a_snapshot_of_the_same_file(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {"a": "1"}, "DELETE")
    with snapshot(path):
        identify(path)
        with closing(sqlite3.connect(path, timeout=0)), pytest.raises(AssertionError), other_process(path, "UPDATE kv SET value = 'x'"):
            pytest.fail("another process could write under an open snapshot")
    assert read(path) == {"a": b"1"}


def test_only_one_thread_at_a_time_works_on_databases(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {"a": "1"})
    thread = threading.Thread(target=identify, args=[path], daemon=True)
    with snapshot(path):
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
    thread.join(5)
    assert not thread.is_alive()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux lists them")
def test_no_file_stays_open(tmp_path: Path) -> None:
    path = crashed(make(tmp_path / "d.db", {"a": "1"}), insert("b", "2"))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 (a path object would hold one open)
    for _ in range(3):
        identify(path)
        (tmp_path / "d.db-shm").unlink(missing_ok=True)
        with pytest.raises(NoTable), snapshot(path) as store:
            list(store.rows("none", []))
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_prefixes_are_exact_where_like_would_take_other_conversations(tmp_path: Path) -> None:
    keys = [f"conv:{name}:chunk:0000000001" for name in ("a_b", "aXb", "A_B", "a%", "a%b", "a_b2", "ä", "aÿ")]
    path = make(tmp_path / "d.db", {key: key for key in keys})
    for key in keys:
        assert list(read(path, key.removesuffix("chunk:0000000001"))) == [key]
    assert list(read(path)) == sorted(keys, key=str.encode)
    assert list(read(path, "conv:a")) == [key for key in sorted(keys, key=str.encode) if key.startswith("conv:a")]


def test_a_collation_of_the_store_makes_no_keys_equal(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE kv (namespace TEXT COLLATE NOCASE, key TEXT COLLATE NOCASE, value TEXT)")
        fill(connection, {"a_b": "1", "A_B": "2"})
        fill(connection, {"a_b": "other"}, "CONVERSATION-STORE")
    assert list(read(path).items()) == [("A_B", b"2"), ("a_b", b"1")]
    assert read(path, "a") == {"a_b": b"1"}


def test_bytes_are_kept_whatever_they_are(tmp_path: Path) -> None:
    rows = {b"nul": b"a\0b\0", b"latin": b"caf\xe9", b"surrogate": b"\xed\xa0\xbd", b"key\xff\xfe": b"v", b"key\xff": b"w", b"empty": b""}
    path = make(tmp_path / "d.db", rows)  # type: ignore[arg-type]
    assert {key.encode("utf-8", "surrogateescape"): value for key, value in read(path).items()} == rows
    assert set(read(path, "key\udcff")) == {"key\udcff", "key\udcff\udcfe"}


def test_storage_classes_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE loose (key, value)")
        connection.executemany("INSERT INTO loose VALUES (?, ?)", [("a", "1"), ("b", b"1"), ("c", 1), ("d", 1.5), ("e", None)])
        connection.commit()
    with snapshot(path) as store:
        found = [(record.key, record.value.type, record.value.data) for record in store.records(Table("loose", "key", "value"))]
    assert found == [("a", "text", b"1"), ("b", "blob", b"1"), ("c", "integer", b"1"), ("d", "real", b"1.5"), ("e", "null", b"")]


def test_a_value_of_sixty_megabytes_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO kv VALUES ('conversation-store', 'big', CAST(zeroblob(60000000) AS TEXT))")
        connection.commit()
    assert len(read(path)["big"]) == 60_000_000


def test_tables_with_hostile_names_are_listed_and_read_and_views_are_not(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {})
    name, column = 'x"; DROP TABLE kv; --', "c'\"]`\n"
    with closing(sqlite3.connect(path)) as connection:
        quoted, quoted_column = (f'"{text}"' for text in (name.replace('"', '""'), column.replace('"', '""')))
        connection.execute(f"CREATE TABLE {quoted} ({quoted_column})")
        connection.execute(f"INSERT INTO {quoted} VALUES (?)", ("v",))
        connection.execute("CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n")
        connection.execute("CREATE VIRTUAL TABLE virtual USING rtree(a, b, c)")
        connection.commit()
    found = {table: columns for table, columns in identify(path).tables.items() if not table.startswith("virtual_")}
    assert found == {"kv": ("namespace", "key", "value"), name: (column,)}
    with snapshot(path) as store:
        assert list(store.rows(name, [column])) == [("v",)]
        with pytest.raises(NoTable, match="no table endless"):
            list(store.rows("endless", ["i"]))
        with pytest.raises(NoTable, match="with columns nothing"):
            list(store.rows("kv", ["nothing"]))


def test_rows_come_with_condition_order_text_and_blobs(tmp_path: Path) -> None:
    path = make(tmp_path / "d.db", {b"a": b"\xff", b"b": b"2", b"c": b"3"})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO kv VALUES ('conversation-store', 'd', x'00ff')")
        connection.commit()
    with snapshot(path) as store:
        assert list(store.rows("kv", ["key", "value"], "key <> ?", ["b"], "key DESC")) == [("d", b"\x00\xff"), ("c", "3"), ("a", "\udcff")]


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_truncated_database_is_damaged(tmp_path: Path, mode: str) -> None:
    path = make(tmp_path / "d.db", {f"k{number}": "v" * 3000 for number in range(50)}, mode)
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(Damaged, match=r"database disk image is malformed.*restore it from a backup"):
        read(path)


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_damage_that_shows_only_in_the_middle_of_the_rows_is_named_there(tmp_path: Path, mode: str) -> None:
    path = make(tmp_path / "d.db", {f"k{number:03}": "v" * 3000 for number in range(50)}, mode)
    data = bytearray(path.read_bytes())
    data[-8192:] = b"\x7f" * 8192
    path.write_bytes(data)
    seen: list[str] = []
    with pytest.raises(Damaged, match=r"malformed.*\.recover"), snapshot(path) as store:
        seen.extend(record.key for record in store.records(KV))
    assert seen


def test_a_file_that_only_has_the_first_bytes_of_a_database_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4080)
    with pytest.raises(Damaged, match="not a database"):
        read(path)


def test_a_database_in_utf_16_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA encoding='UTF-16le'")
        connection.execute(SCHEMA)
    with pytest.raises(Utf16, match=r"UTF-16le.*convert it"):
        identify(path)


def test_a_name_that_looks_like_a_uri_is_a_name(tmp_path: Path) -> None:
    path = make(tmp_path / "a?mode=rwc#b%41 é.db", {"a": "1"})
    before = prints(path)
    assert read(path) == {"a": b"1"}
    assert prints(path) == before


def test_a_link_is_read_with_the_wal_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path = crashed(make(tmp_path / "d.db", {"a": "1"}), insert("b", "2"))
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(path)
    assert read(link) == {"a": b"1", "b": b"2"}
    assert [file.name for file in link.parent.iterdir()] == ["link.db"]


@pytest.mark.parametrize("live", [True, False])
def test_a_backup_is_one_file_with_everything_and_overwrites_nothing(tmp_path: Path, live: bool) -> None:
    path, out = make(tmp_path / "d.db", {"a": "1", "b": "2"}), tmp_path / "out" / "copy.db"
    out.parent.mkdir()
    with other_process(path, insert("c", "3"), crash=not live):
        before = prints(path)
        backup(path, out)
        assert prints(path) == before
        assert [file.name for file in out.parent.iterdir()] == ["copy.db"]
        assert out.stat().st_mode & 0o777 == 0o600
    assert everything(out) == everything(path)
    kept = out.read_bytes()
    with pytest.raises(SourceProblem, match=r"already exists.*choose another name"):
        backup(path, out)
    assert out.read_bytes() == kept


def test_a_backup_of_a_damaged_store_leaves_no_file(tmp_path: Path) -> None:
    path, out = make(tmp_path / "d.db", {"a": "v" * 30_000}), tmp_path / "copy.db"
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(Damaged):
        backup(path, out)
    assert not out.exists()


def test_a_wal_that_is_removed_while_it_is_looked_at_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last program that closes the database removes it: the database itself was called missing then."""
    wal = tmp_path / "d.db-wal"
    monkeypatch.setattr(opening.time, "sleep", lambda _: wal.unlink())
    for _ in range(100):
        wal.write_bytes(b"x")
        # Only a fresh file is waited for.
        if (seen := stamp(wal)) is None:
            break
    assert seen is None
