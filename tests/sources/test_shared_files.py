"""Files that a program without any lock appends to, that conversations share, and whose owner is another account."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from inspector.programs.formats import Cell, Change, Element
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.openclaw_sqlite import OPENCLAW_SQLITE
from inspector.sources import folders, reading
from inspector.sources.lock_files import SessionLocked
from inspector.sources.problems import Damaged, InsideStore, Moved, NotAFile, NotAList, NotReadable, NotWritable
from tests.programs.pi_openclaw.session_files import header, lines, u
from tests.programs.pi_openclaw.sqlite_stores import open_store
from tests.sources.stores import run_as_nobody

APPENDS = 600
# As pi does: opened, written and closed for each record.
WRITER = """
import os, sys, time
for number in range(int(sys.argv[2])):
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
    os.write(file, b"W%d\\n" % number)
    os.close(file)
    time.sleep(0.002)
"""
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to others")


def change(path: Path, before: bytes, after: bytes) -> Change:
    return Change(path.name, Cell(before, "file"), Cell(after, "file"))


def test_nothing_that_another_process_appends_meanwhile_is_lost(tmp_path: Path) -> None:
    """What it wrote between the comparison and the rename stood in the replaced file alone, and was gone with it."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * 100_000 + b"\n")
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(APPENDS)])
    written = 0
    while writer.poll() is None:
        before = path.read_bytes()
        try:
            folders.commit(path, {}, [change(path, before, before + b"I%d\n" % written)], keeps_times=True)
        except Moved:
            continue
        written += 1
    found = path.read_bytes().splitlines()
    assert writer.returncode == 0 and sorted(line for line in found if line[:1] == b"W") == sorted(b"W%d" % each for each in range(APPENDS))
    assert [line for line in found if line[:1] == b"I"] == [b"I%d" % each for each in range(written)]
    assert list(tmp_path.iterdir()) == [path]


@is_root
def test_a_file_keeps_its_owner_and_a_new_one_gets_that_of_its_folder(tmp_path: Path) -> None:
    """A repair by root would else leave a file that the program's own account may not open."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"old\n")
    path.chmod(0o640)
    for place in (tmp_path, path):
        os.chown(place, 4321, 4322)
    folders.commit(path, {}, [change(path, b"old\n", b"new\n"), Change("n.jsonl", None, Cell(b"n\n", "file"))])
    for place, mode in ((path, 0o640), (tmp_path / "n.jsonl", 0o600)):
        found = place.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (4321, 4322, mode)


@is_root
def test_a_file_of_another_account_is_not_taken_over() -> None:
    # Not in pytest's folder, into which nobody else may look.
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "s.jsonl"
        path.write_bytes(b"old\n")
        Path(name).chmod(0o777)

        def check() -> None:
            with pytest.raises(NotWritable, match="it belongs to another user or group"):
                folders.commit(path, {}, [change(path, b"old\n", b"new\n")])

        run_as_nobody(check)
        assert path.read_bytes() == b"old\n" and list(Path(name).iterdir()) == [path]


@is_root
def test_a_folder_below_that_may_not_be_read_is_said() -> None:
    """It was passed over: a scan said that all is well of an agent whose sessions it could not see."""
    with tempfile.TemporaryDirectory() as name:
        below = Path(name) / "agents" / "main"
        below.mkdir(parents=True)
        below.chmod(0)
        Path(name).chmod(0o755)

        def check() -> None:
            (problem,) = folders.unseen(Path(name), lambda key: True)
            assert isinstance(problem, NotReadable) and "main may not be read" in str(problem)

        run_as_nobody(check)


def test_a_copy_of_a_folder_is_not_put_into_it(tmp_path: Path) -> None:
    path = tmp_path / "sessions"
    path.mkdir()
    (path / "s.jsonl").write_bytes(lines(header(), u("u1", None)))
    with pytest.raises(InsideStore, match="would then hold every conversation twice"):
        folders.copy(path, path / "copy", OPENCLAW)
    assert [each.name for each in path.iterdir()] == ["s.jsonl"]


def test_a_database_whose_damaged_schema_is_no_text_is_damaged(tmp_path: Path) -> None:
    """SQLite quotes the schema in its error, which Python's sqlite3 then cannot decode."""
    path = tmp_path / "agent.sqlite"
    open_store(path).close()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"CREATE TABLE schema_meta (meta_key", b"CREATE TABLE schema_meta \xb3\xb3eta_key", 1))
    with pytest.raises(Damaged, match="bytes that are no UTF-8"):
        reading.read_store(path, OPENCLAW_SQLITE.name)


def test_a_pipe_in_place_of_a_rollback_journal_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    open_store(path).close()
    os.mkfifo(f"{path}-journal")
    with pytest.raises(NotAFile, match="pipe, socket or device"):
        reading.read_store(path, OPENCLAW_SQLITE.name)


ENTRY = b'"agent:main:explicit:n": {\n    "sessionId": "n"\n  }'
LIST = b'{\n  "agent:main:main": {\n    "sessionId": "s",\n    "updatedAt": 1\n  }\n}'
LISTED = LIST[:-2] + b",\n  " + ENTRY + b"\n}"


def sessions(tmp_path: Path) -> Path:
    path = tmp_path / "sessions"
    path.mkdir()
    (path / "sessions.json").write_bytes(LIST)
    os.utime(path / "sessions.json", (1000, 1000))
    return path


def adding() -> list[Change]:
    return [Change("sessions/n.jsonl", None, Cell(b"new\n", "file")), Change("sessions/sessions.json", None, Cell(ENTRY), Element.MEMBER)]


def test_a_member_goes_into_a_shared_file_as_it_is_at_the_moment_of_writing_and_out_again(tmp_path: Path) -> None:
    path = sessions(tmp_path)
    folders.commit(path, {}, adding(), keeps_times=True, lock_suffix=".lock")
    assert (path / "sessions.json").read_bytes() == LISTED and (path / "n.jsonl").read_bytes() == b"new\n"
    # The program's own copy in memory counts as fresh while the time of the file is the same.
    assert (path / "sessions.json").stat().st_mtime > 1000
    (path / "sessions.json").write_bytes(LISTED.replace(b'"updatedAt": 1', b'"updatedAt": 2'))
    folders.commit(path, {}, [change.reversed() for change in reversed(adding())], lock_suffix=".lock")
    assert {each.name: each.read_bytes() for each in path.iterdir()} == {
        "sessions.json": LIST.replace(b'"updatedAt": 1', b'"updatedAt": 2')
    }


@pytest.mark.parametrize(
    ("now", "problem", "sentence"),
    [
        (LISTED, Moved, "already lists agent:main:explicit:n"),
        (b'{"agent:main:explicit:n": {"sessionId": "other"}}', Moved, "lists agent:main:explicit:n with another value"),
        (None, Moved, "sessions.json is gone"),
        (b"[]", NotAList, "sessions.json in .* is not a JSON object, so nothing was written; repair"),
        (b"{broken", NotAList, "is not a JSON object"),
    ],
)
def test_a_shared_file_that_cannot_take_the_member_is_left_alone(
    tmp_path: Path, now: bytes | None, problem: type[Exception], sentence: str
) -> None:
    path = sessions(tmp_path)
    (path / "sessions.json").unlink() if now is None else (path / "sessions.json").write_bytes(now)
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    with pytest.raises(problem, match=sentence):
        folders.commit(path, {}, adding(), keeps_times=True, lock_suffix=".lock")
    assert {each.name: each.read_bytes() for each in path.iterdir()} == before


def test_the_lock_of_a_shared_file_is_respected_and_taken(tmp_path: Path) -> None:
    path = sessions(tmp_path)
    lock = path / "sessions.json.lock"
    lock.write_text(json.dumps({"pid": os.getppid(), "createdAt": "2026-11-20T17:33:07.691Z"}))
    with pytest.raises(SessionLocked, match=r"sessions\.json is locked by process"):
        folders.commit(path, {}, adding(), lock_suffix=".lock")
    assert sorted(each.name for each in path.iterdir()) == ["sessions.json", "sessions.json.lock"]
