"""What may be opened under a limit: what belongs to a file, what a link does, and what this process makes for itself."""

import sys
from pathlib import Path
from typing import Any

import pytest

from inspector.sources import files, folders, reach
from inspector.sources.problems import Missing
from inspector.sources.reach import Limit, OutOfReach, limited


def limit(*roots: Path, known: tuple[Path, ...] = ()) -> Limit:
    return Limit(roots, lambda: {str(each) for each in known}, "Ask somebody.")


def test_without_a_limit_everything_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    assert files.read_bytes(tmp_path / "a") == b"1"


def test_below_a_root_everything_is_read_and_nothing_next_to_it(tmp_path: Path) -> None:
    for name in ("root/deep/a", "root-2/a"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"1")
    with limited(limit(tmp_path / "root")):
        assert files.read_bytes(tmp_path / "root" / "deep" / "a") == b"1"
        assert folders.names(tmp_path / "root") == ("root/deep/a",)
        for path in (tmp_path / "root-2" / "a", tmp_path / "root" / ".." / "root-2" / "a", tmp_path / "root-2" / "none"):
            with pytest.raises(OutOfReach, match=r"may not read .*a?\. Ask somebody\.$"):
                files.read_bytes(path)
        with pytest.raises(OutOfReach):
            folders.names(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["a.db", "a.db-wal", "a.db-shm", "a.db-journal", "a.db.1", "a.db.lock", "folder", "folder/deep/b", "s.jsonl", "s.1a2b3c4d.quarantine"],
)
def test_what_belongs_to_a_known_source_is_read(tmp_path: Path, name: str) -> None:
    with limited(limit(known=(tmp_path / "a.db", tmp_path / "s.jsonl", tmp_path / "folder"))):
        assert reach.real(tmp_path / name) == tmp_path / name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "b.db",
        "a.db2",
        "a.db.2",
        "a.d",
        "folder2",
        "folder-wal2",
        "t.1a2b3c4d.quarantine",
        "s.quarantine",
        "s.1a2b/3c4d.quarantine",
        "s.1a2b3c4d5.quarantine",
    ],
)
def test_what_is_only_named_alike_is_not(tmp_path: Path, name: str) -> None:
    with limited(limit(known=(tmp_path / "a.db", tmp_path / "s.jsonl", tmp_path / "folder"))), pytest.raises(OutOfReach):
        reach.real(tmp_path / name)


def test_a_private_folder_may_be_used_while_it_is_there(tmp_path: Path) -> None:
    with limited(limit(tmp_path / "root")):
        with files.workspace() as folder:
            folders.write_new(folder / "copy", b"1")
            assert files.read_bytes(folder / "copy") == b"1"
        with pytest.raises(OutOfReach):
            files.read_bytes(folder / "copy")
        with pytest.raises(OutOfReach):
            folders.write_new(tmp_path / "new", b"1")
    assert not (tmp_path / "new").exists()


_swapped: list[Path] = []


def _swap(event: str, arguments: tuple[Any, ...]) -> None:
    """Right before the file is opened, a link takes its place."""
    if event == "open" and _swapped and str(arguments[0]) == str(_swapped[0]):
        path, target = _swapped
        _swapped.clear()
        path.unlink()
        path.symlink_to(target)


sys.addaudithook(_swap)


def test_a_link_that_is_put_there_after_the_check_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a").write_bytes(b"1")
    (tmp_path / "secret").write_bytes(b"2")
    _swapped.extend((tmp_path / "root" / "a", tmp_path / "secret"))
    with limited(limit(tmp_path / "root")), pytest.raises(Missing):
        files.read_bytes(tmp_path / "root" / "a")
    assert (tmp_path / "root" / "a").is_symlink()
