"""Our own files are closed to other users, and what a killed process left is removed, while that of a running one stays."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.sources import files, folders, lock_files, private
from inspector.sources.private import FolderOfOthers, OpenToOthers
from tests.commands.running import run_in_process

WORK = """
import sys, time
from inspector.sources import files
with files.workspace() as folder:
    (folder / "copy.db").write_bytes(b"words")
    print(folder, flush=True)
    time.sleep(600)
"""


@contextmanager
def at_work(script: str, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    process = subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.iterdir() if path.is_file()}


@pytest.mark.slow
def test_a_database_is_closed_under_any_umask_and_one_that_was_open_is_closed_when_it_is_used(tmp_path: Path) -> None:
    usual = os.umask(0)
    try:
        database = tmp_path / "new" / "own.sqlite3"
        assert run_in_process(database, "migrate").status == 0
        assert modes(database.parent) == {0o600} and database.parent.stat().st_mode & 0o777 == 0o700
        for path in database.parent.iterdir():
            path.chmod(0o666)
        assert run_in_process(database, "audit").status == 0
        assert modes(database.parent) == {0o600}
        database.parent.chmod(0o777)
        refused = run_in_process(database, "audit")
        assert refused.status == 2 and "Other users may replace files in" in refused.err and "chmod 700" in refused.err
    finally:
        os.umask(usual)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_an_open_file_of_another_user_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "own.sqlite3")
        path.touch()
        path.chmod(0o644)
        os.seteuid(65534)
        try:
            with pytest.raises(OpenToOthers, match="belongs to another user"):
                private.close_file(path)
        finally:
            os.seteuid(0)
        private.close_file(path)
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_others_write_to_is_refused_and_one_for_temporary_files_is_not(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(FolderOfOthers):
        private.refuse_open_folder(tmp_path)
    tmp_path.chmod(0o1777)
    private.refuse_open_folder(tmp_path)
    tmp_path.chmod(0o755)
    private.refuse_open_folder(tmp_path)


@pytest.mark.slow
def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_running_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "YOUNG", 0.0)
    with at_work(WORK) as (process, folder), at_work(WORK) as (_, other):
        files.remove_unused_workspaces()
        assert (folder / "copy.db").exists() and (other / "copy.db").exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert folder.exists()
        with files.workspace() as own:
            assert own.exists() and not folder.exists() and other.exists()


def test_a_folder_that_was_just_made_stays_although_it_is_not_locked_yet() -> None:
    with files.workspace() as folder:
        young = folder.with_name(folder.name + "young")
        young.mkdir()
        try:
            files.remove_unused_workspaces()
            assert young.exists()
        finally:
            young.rmdir()


LOCKS = """
import sys, time
from pathlib import Path
from inspector.sources import lock_files
with lock_files.holding([Path(sys.argv[1])], ".lock"):
    print(sys.argv[1] + ".lock", flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_our_lock_of_a_killed_process_is_removed_and_that_of_a_running_one_and_of_the_program_stays(tmp_path: Path) -> None:
    place = tmp_path / "s.jsonl"
    place.write_text("{}\n")
    with at_work(LOCKS, str(place)) as (process, lock):
        lock_files.remove_stale(lock)
        assert lock.exists()
        process.kill()
        process.wait()
        theirs = tmp_path / "t.jsonl.lock"
        theirs.write_text(json.dumps({name: value for name, value in json.loads(lock.read_bytes()).items() if name != "program"}))
        for path in (lock, theirs):
            lock_files.remove_stale(path)
        assert not lock.exists() and theirs.exists()


PREPARES = """
import sys, time
from pathlib import Path
from inspector.sources import lock_files, replacing
place = Path(sys.argv[1])
with lock_files.holding([place], ".lock"):
    print(replacing.prepared(place.parent, place.name, b"half"), flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_what_a_killed_write_left_next_to_a_session_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "s.jsonl"
    place.write_text("{}\n")
    with at_work(PREPARES, str(place)) as (process, temporary):
        assert temporary.exists()
        process.kill()
        process.wait()
    folders.clear(place, [place.name], ".lock")
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"] and place.read_text() == "{}\n"
