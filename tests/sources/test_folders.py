"""Stores of plain files are read as they are at one moment, and written all or none."""

import os
import resource
import tempfile
from pathlib import Path

import pytest

from inspector.programs.formats import Cell, Change
from inspector.sources import files, folders
from inspector.sources.problems import AlreadyThere, Changing, Missing, Moved, NoRoom, NotReadable, NotWritable, OverLimit, TooMany
from tests.sources.stores import run_as_nobody


class Everything:
    def wants(self, key: str) -> bool:
        return not key.endswith(".png")


def cell(text: str) -> Cell:
    return Cell(text.encode(), "file")


def change(key: str, before: str | None, after: str | None) -> Change:
    return Change(key, None if before is None else cell(before), None if after is None else cell(after))


def store(base: Path, **held: str) -> Path:
    """A folder `s` with files; `_` in a name is a slash."""
    for name, text in held.items():
        path = base / "s" / name.replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return base / "s"


def content(path: Path) -> dict[str, str]:
    return {record.key: record.value.data.decode() for record in folders.records(path, Everything())}


def left(path: Path) -> set[str]:
    """Everything there is, temporary files too."""
    return {each.relative_to(path).as_posix() for each in path.rglob("*")}


def test_one_file_is_a_source_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text("{}")
    assert content(path) == {"request.json": "{}"}
    with pytest.raises(Missing):
        folders.records(tmp_path / "none.json", Everything())


def test_a_folder_is_its_files_by_their_paths_and_links_are_not_followed(tmp_path: Path) -> None:
    path = store(tmp_path, a="1", b_c="2", b_x="png")
    (path / "b" / "x").rename(path / "b" / "x.png")
    (path / "link").symlink_to(path / "a")
    (path / "deep").mkdir()
    (path / "deep" / "out").symlink_to(tmp_path)
    assert content(path) == {"s/a": "1", "s/b/c": "2"}


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, a="1", b="2", c="3")
    monkeypatch.setattr(folders, "MOST", 2)
    with pytest.raises(TooMany, match="more than 2 files"):
        folders.names(path)


def test_a_file_that_keeps_changing_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, a="1")
    read = files.read_bytes

    def grows(each: Path, limit: int = files.LIMIT) -> bytes:
        data = read(each, limit)
        each.write_bytes(data + b"x")
        return data

    monkeypatch.setattr(files, "read_bytes", grows)
    with pytest.raises(Changing):
        folders.records(path, Everything())


def test_a_write_changes_makes_and_removes_files_and_keeps_their_mode(tmp_path: Path) -> None:
    path = store(tmp_path, a="1", b_c="2")
    (path / "a").chmod(0o640)
    changes = [change("s/a", "1", "one"), change("s/b/c", "2", None), change("s/new/d", None, "3")]
    folders.commit(path, {"s/a": cell("1")}, changes)
    assert content(path) == {"s/a": "one", "s/new/d": "3"}
    assert (path / "a").stat().st_mode & 0o777 == 0o640 and (path / "new" / "d").stat().st_mode & 0o777 == 0o600
    assert left(path) == {"a", "new", "new/d"}


def test_what_was_written_is_taken_back(tmp_path: Path) -> None:
    path = store(tmp_path, a="1", b_c="2")
    changes = [change("s/a", "1", "one"), change("s/b/c", "2", None), change("s/new/d", None, "3")]
    folders.commit(path, {}, changes)
    folders.commit(path, {}, [each.reversed() for each in reversed(changes)])
    assert content(path) == {"s/a": "1", "s/b/c": "2"} and left(path) == {"a", "b", "b/c"}


@pytest.mark.parametrize("moved", ["changed", "gone", "new"])
def test_a_store_that_moved_is_not_written(tmp_path: Path, moved: str) -> None:
    path = store(tmp_path, a="1", b="2")
    watch: dict[str, Cell | None] = {"s/a": cell("1"), "s/b": cell("2"), "s/c": None}
    if moved == "gone":
        (path / "b").unlink()
    else:
        (path / ("b" if moved == "changed" else "c")).write_text("other")
    before = content(path)
    with pytest.raises(Moved, match={"changed": "b has another content", "gone": "b is gone", "new": "c is new"}[moved]):
        folders.commit(path, watch, [change("s/a", "1", "one"), change("s/z/y", None, "x")])
    assert content(path) == before and "z" not in left(path)


def test_a_rename_that_fails_puts_back_those_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, a="1", b="2", c="3")
    replace = Path.replace

    def fails(self: Path, target: Path) -> Path:
        if Path(target).name == "c" and "inspector-new" in self.name:
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fails)
    changes = [change("s/a", "1", "one"), change("s/b", "2", None), change("s/new", None, "n"), change("s/c", "3", "three")]
    with pytest.raises(NoRoom):
        folders.commit(path, {}, changes)
    assert content(path) == {"s/a": "1", "s/b": "2", "s/c": "3"} and left(path) == {"a", "b", "c"}


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that has room for eight bytes of each file."""
    write = os.write

    def writes(descriptor: int, data: memoryview) -> int:
        if os.fstat(descriptor).st_size >= 8:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:8])

    monkeypatch.setattr(os, "write", writes)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = store(tmp_path, a="1")
    with pytest.raises(NoRoom):
        folders.commit(path, {}, [change("s/deep/new", None, "longer than there is room"), change("s/a", "1", "2")])
    assert content(path) == {"s/a": "1"} and left(path) == {"a"}


@pytest.mark.usefixtures("full_disk")
def test_a_copy_for_which_there_is_no_room_leaves_nothing(tmp_path: Path) -> None:
    path = store(tmp_path, a="1", deep_b="longer than there is room")
    for source in (path, path / "deep" / "b"):
        with pytest.raises(NoRoom):
            folders.copy(source, tmp_path / "copy", Everything())
        assert not (tmp_path / "copy").exists()


def test_a_link_where_the_temporary_file_goes_is_not_written_through(tmp_path: Path) -> None:
    path, other = store(tmp_path, a="1"), tmp_path / "other"
    other.write_text("mine")
    (path / ".a.inspector-new").symlink_to(other)
    folders.commit(path, {}, [change("s/a", "1", "2")])
    assert other.read_text() == "mine" and content(path) == {"s/a": "2"} and left(path) == {"a"}


def test_a_crash_before_the_first_rename_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, a="1")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folders, "_write", dies)
    with pytest.raises(KeyboardInterrupt):
        folders.commit(path, {}, [change("s/a", "1", "one")])
    assert content(path) == {"s/a": "1"} and left(path) == {"a"}


def test_a_file_behind_a_link_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "request.json"
    real.write_text("1")
    link = tmp_path / "link.json"
    link.symlink_to(real)
    assert content(link) == {"request.json": "1"}
    folders.commit(link, {"request.json": cell("1")}, [change("request.json", "1", "2")])
    assert link.is_symlink() and real.read_text() == "2"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not write")
def test_a_folder_in_which_nothing_may_be_written_is_named_and_unchanged() -> None:
    # Not in pytest's folder, into which nobody else may look.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        path = store(Path(name), a="1")
        path.chmod(0o555)

        def check() -> None:
            with pytest.raises(NotWritable, match="may not be written"):
                folders.commit(path, {}, [change("s/a", "1", "one")])

        run_as_nobody(check)
        assert content(path) == {"s/a": "1"} and left(path) == {"a"}


@pytest.mark.parametrize("key", ["", "/etc/x", "../x", "s/../../x", "."])
def test_a_key_that_leads_out_of_the_source_is_refused(tmp_path: Path, key: str) -> None:
    path = store(tmp_path, a="1")
    with pytest.raises(ValueError, match="leads out of"):
        folders.commit(path, {}, [change(key, None, "x")])
    assert left(tmp_path) == {"s", "s/a"}


def test_a_copy_holds_what_is_wanted_and_never_writes_over(tmp_path: Path) -> None:
    path = store(tmp_path, a="1", b_c="2")
    (path / "x.png").write_text("no")
    folders.copy(path, tmp_path / "out", Everything())
    assert left(tmp_path / "out") == {"a", "b", "b/c"}
    folders.copy(path / "a", tmp_path / "one", Everything())
    assert (tmp_path / "one").read_text() == "1" and (tmp_path / "one").stat().st_mode & 0o777 == 0o600
    for out in ("out", "one"):
        with pytest.raises(AlreadyThere):
            folders.copy(path, tmp_path / out, Everything())
    folders.remove(tmp_path / "out")
    folders.remove(tmp_path / "one")
    assert left(tmp_path) == {"s", *(f"s/{name}" for name in left(path))}
    with pytest.raises(AlreadyThere):
        folders.write_new(path / "a", b"x")


def test_a_file_that_may_not_become_so_large_is_no_matter_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"old\n")
    change = Change(path.name, Cell(b"old\n", "file"), Cell(b"x" * 4096, "file"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        with pytest.raises(OverLimit, match="larger than the system lets a file be, so nothing was written; raise the limit") as refused:
            folders.commit(tmp_path / "s.jsonl", {}, [change])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "user" not in str(refused.value)
    assert path.read_bytes() == b"old\n" and [each.name for each in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize(("name", "has_log"), [("s.jsonl", False), ("request.json", False), ("s.db", True), ("agent.sqlite", True)])
def test_only_a_database_is_copied_with_its_log(tmp_path: Path, name: str, has_log: bool) -> None:
    assert ("-wal" in str(NotReadable(tmp_path / name, "permission denied"))) == has_log
