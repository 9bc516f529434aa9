"""A backup of Inspector is taken while it is used, comes back into an empty database only, and is refused where a byte of it changed."""

import json
from pathlib import Path

import pytest

from inspector.management.backing_up import _copy_tree, _holds_other
from tests.commands.running import incident, run_in_process

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """(the database, its backup, what the original says of its conversations)."""
    folder = tmp_path_factory.mktemp("own")
    own, store = folder / "own.sqlite3", incident(folder / "dispatch.db")
    assert run_in_process(own, "migrate", "--verbosity", "0").status == 0
    assert run_in_process(own, "import_source", store).status == 0
    backup = run_in_process(own, "backup", folder / "backup", "--json")
    assert backup.status == 0 and backup.json["size"] > 100_000, backup.err
    return own, folder / "backup", (folder / "backup" / "backup.json").read_text()


def test_it_comes_back_with_its_log(backup: tuple[Path, Path, str], tmp_path: Path) -> None:
    own, folder, _ = backup
    other = tmp_path / "other.sqlite3"
    restored = run_in_process(other, "restore", folder)
    assert restored.status == 0 and "is restored" in restored.out, restored.err
    assert run_in_process(other, "audit", "--verify").status == 0
    before, after = (run_in_process(each, "purge", "--older-than", "1", "--json").json for each in (own, other))
    assert before == after and len(before["would_purge"]) == 1
    assert (other.stat().st_mode & 0o777, other.with_name("other.sqlite3.audit-key").stat().st_mode & 0o777) == (0o600, 0o600)
    again = run_in_process(other, "restore", folder)
    assert again.status == 2 and "holds something already" in again.err and again.err.count("\n") == 1


def test_only_its_owner_can_read_it(backup: tuple[Path, Path, str]) -> None:
    _, folder, _ = backup
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))} == {0}
    assert {path.name for path in folder.iterdir()} == {"backup.json", "inspector.sqlite3", "audit-key", "audit-key.head"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda folder: (folder / "inspector.sqlite3").open("ab").write(b"\0"), "is not what the backup wrote"),
        (lambda folder: (folder / "audit-key").unlink(), "is not what the backup wrote"),
        (lambda folder: (folder / "backup.json").write_text("{}"), "is no backup of Inspector"),
        (lambda folder: (folder / "backup.json").unlink(), "is no backup of Inspector"),
        (lambda folder: _rename_in_manifest(folder, "audit-key", "../outside"), "is not what the backup wrote"),
        (lambda folder: _of_another_database(folder), "This backup is of postgresql"),
    ],
    ids=["a byte more", "a file gone", "empty manifest", "no manifest", "a path that leads out", "of another database"],
)
def test_what_is_not_as_it_was_written_is_refused(backup: tuple[Path, Path, str], tmp_path: Path, change: object, sentence: str) -> None:
    _, folder, _ = backup
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (tmp_path / "outside").write_bytes((folder / "audit-key").read_bytes())
    change(copy)  # type: ignore[operator]
    other = tmp_path / "other.sqlite3"
    refused = run_in_process(other, "restore", copy)
    assert refused.status == 2 and sentence in refused.err and refused.err.count("\n") == 1, refused.err
    assert not other.with_name("other.sqlite3.audit-key").exists()


def test_a_folder_that_is_there_is_left_alone(backup: tuple[Path, Path, str], tmp_path: Path) -> None:
    own, folder, manifest = backup
    refused = run_in_process(own, "backup", folder)
    assert refused.status == 2 and "name one that is not there yet" in refused.err
    assert (folder / "backup.json").read_text() == manifest and not any(tmp_path.iterdir())


def test_an_empty_folder_of_uploads_is_in_no_backup_and_in_the_way_of_none(tmp_path: Path) -> None:
    uploads, kept = tmp_path / "uploads", tmp_path / "kept"
    uploads.mkdir()
    _copy_tree(uploads, kept)
    assert not kept.exists() and not _holds_other(uploads, kept)
    (uploads / "a").write_text("theirs")
    _copy_tree(uploads, kept)
    assert (kept / "a").read_text() == "theirs" and _holds_other(uploads, kept)


def _rename_in_manifest(folder: Path, old: str, new: str) -> None:
    content = json.loads((folder / "backup.json").read_text())
    content["files"][new] = content["files"].pop(old)
    (folder / "backup.json").write_text(json.dumps(content))


def _of_another_database(folder: Path) -> None:
    content = json.loads((folder / "backup.json").read_text())
    (folder / "backup.json").write_text(json.dumps(content | {"database": "postgresql"}))
