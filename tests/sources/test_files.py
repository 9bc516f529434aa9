"""What is no database is named for what it is, and plain files come as exact lines."""

import os
from pathlib import Path

import pytest

from inspector.programs.formats import Shape
from inspector.sources import files
from inspector.sources.problems import Empty, Missing, Moved, NotADatabase, NotAFile, NotReadable, SourceProblem, TooLarge, shown
from inspector.sources.sqlite import backup, commit, identify, snapshot
from tests.sources.stores import KV, make, run_as_nobody


def open_it(path: Path) -> None:
    with snapshot(path):
        pass


def write_it(path: Path) -> None:
    commit(path, KV, {}, {}, [])


@pytest.mark.parametrize("use", [open_it, write_it, identify, lambda path: backup(path, path.with_name("out"))])
@pytest.mark.parametrize(
    ("name", "problem", "sentence"),
    [
        ("missing.db", Missing, "does not exist; check the path"),
        ("text/below.db", Missing, "does not exist; check the path"),
        ("nul\0name", Missing, r"nul\\x00name does not exist; check the path"),
        ("folder", NotAFile, "is a folder, not a file; give the path of"),
        ("pipe", NotAFile, "is a pipe, socket or device, not a file; give"),
        ("empty.db", Empty, r"is empty \(0 bytes\); give the file"),
    ],
)
def test_what_cannot_be_a_source_is_named(tmp_path: Path, use: object, name: str, problem: type[SourceProblem], sentence: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("hello")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty.db").touch()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(problem, match=sentence) as caught:
        use(tmp_path / name)  # type: ignore[operator]
    assert str(caught.value) == caught.value.sentence
    assert sorted(tmp_path.iterdir()) == before


def test_an_empty_database_beside_a_wal_keeps_its_wal(tmp_path: Path) -> None:
    (tmp_path / "d.db").touch()
    (tmp_path / "d.db-wal").write_bytes(b"frames")
    with pytest.raises(Empty):
        identify(tmp_path / "d.db")
    assert (tmp_path / "d.db-wal").read_bytes() == b"frames"


@pytest.mark.parametrize("use", [open_it, write_it])
def test_a_text_file_is_no_database_and_its_start_is_shown_harmlessly(tmp_path: Path, use: object) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"\x1b[31mred\xff\nand more text than is shown")
    with pytest.raises(NotADatabase) as caught:
        use(path)  # type: ignore[operator]
    assert "is not a SQLite database (it starts with" in str(caught.value)
    assert str(caught.value).isprintable()
    assert "shown" not in str(caught.value)


def test_identify_gives_the_first_bytes_of_what_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    path.write_bytes(b"x" * 5000)
    assert identify(path) == Shape(b"x" * 4096, {}, "journal.ndjson")


def test_identify_gives_the_tables_of_a_database(tmp_path: Path) -> None:
    shape = identify(make(tmp_path / "d.db", {}))
    assert (shape.name, len(shape.head), dict(shape.tables)) == ("d.db", 4096, {"kv": ("namespace", "key", "value")})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_a_file_that_may_not_be_read_is_named() -> None:
    with files.workspace() as folder:
        folder.chmod(0o755)
        path = make(folder / "d.db", {})
        path.chmod(0o600)

        def check() -> None:
            with pytest.raises(NotReadable, match="run as a user who may read it"):
                identify(path)

        run_as_nobody(check)


def test_lines_are_split_on_lf_only_and_a_torn_one_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b"\xef\xbb\xbfa\r\n\nb\x0b\x85\xe2\x80\xa8c\rd\n{torn")
    found = list(files.lines(path))
    assert found == [(0, b"\xef\xbb\xbfa\r"), (6, b""), (7, b"b\x0b\x85\xe2\x80\xa8c\rd"), (17, b"{torn")]
    assert [isinstance(line, files.TornLine) for line in found] == [False, False, False, True]
    assert list(files.lines(path, 7)) == found[2:]


def test_a_whole_last_line_is_not_torn_and_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b"a\n")
    assert [type(line) for line in files.lines(path)] == [files.FileLine]
    path.write_bytes(b"")
    assert list(files.lines(path)) == []


def test_limits_are_kept_to_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b"12345\n1234567")
    assert len(list(files.lines(path, limit=7))) == 2
    with pytest.raises(TooLarge, match=r"The line at byte 6 .* limit of 6 bytes; check"):
        list(files.lines(path, limit=6))
    assert files.read_bytes(path, 13) == b"12345\n1234567"
    with pytest.raises(TooLarge, match="limit of 12 bytes"):
        files.read_bytes(path, 12)


def test_real_follows_links_and_exists_bears_any_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert files.real(tmp_path / "link") == str((tmp_path / "target").resolve())
    assert not files.exists(tmp_path / "link")
    assert not files.exists(Path("nul\0"))
    assert files.exists(tmp_path)


def test_a_workspace_is_private_and_goes_away() -> None:
    with files.workspace() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert not folder.exists()


def test_sentences_escape_what_hostile_keys_hold_and_name_the_first_twenty() -> None:
    changed = [(f"conv:\x1b]0;\udcff{number}", "is new") for number in range(20)]
    sentence = Moved(Path("/d.db"), changed, 25).sentence
    assert sentence.isprintable()
    assert "conv:\\x1b]0;\\udcff19 is new and 5 more" in sentence
    assert shown("é" * 200) == "é" * 120 + "…"
