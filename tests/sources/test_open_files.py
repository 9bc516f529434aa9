"""Nothing is written to a file of a program without locks while a process has it open, or a moment after it was written."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.sources.open_files import JustWritten, OpenElsewhere, refuse_at_work
from tests.commands.running import run
from tests.programs.claude_code.session_lines import ID, PROJECT, a, call, lines, text, u, write

KEY = f"{PROJECT}/{ID}.jsonl"
DATA = lines(u("u1", None), a("a1", "u1", "m1", text("hi"), 1), a("a2", "a1", "m1", call("t1"), 1), u("u2", "a2", "and?", 2))
needs_processes = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not show the files of its processes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "claude", {KEY: DATA})
    return tmp_path / "claude"


@pytest.fixture
def writer(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has the session open, as a program that adds lines to it."""
    code = "import sys; file = open(sys.argv[1], 'ab'); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(folder / KEY)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"open\n"
        yield process
        process.kill()


def repair(folder: Path, mode: str) -> tuple[int, str]:
    ran = run("repair", folder, "--conversation", ID, "--strategy", "insert-interrupted-result", "--mode", mode, "--apply", "--json")
    return ran.status, ran.err


@needs_processes
@pytest.mark.django_db
def test_a_session_that_a_process_has_open_is_left_as_it_is(folder: Path, writer: subprocess.Popen[bytes]) -> None:
    status, error = repair(folder, "same-file")
    assert status != 0 and (folder / KEY).read_bytes() == DATA
    assert f"is open in process {writer.pid} (" in error and "so nothing was written; end that program, then try again." in error
    # The session itself stays as it is.
    assert repair(folder, "new-session")[0] == 0
    writer.kill()
    writer.wait()
    assert repair(folder, "same-file")[0] == 0 and (folder / KEY).read_bytes() != DATA


@pytest.mark.django_db
def test_a_session_that_was_written_a_moment_ago_is_left_as_it_is(folder: Path) -> None:
    os.utime(folder / KEY)
    status, error = repair(folder, "same-file")
    assert status != 0 and (folder / KEY).read_bytes() == DATA
    assert "and its program may be at work on it, so nothing was written; wait a minute, then try again." in error


@needs_processes
def test_files_that_this_process_reads_and_that_are_gone_are_no_obstacle(folder: Path) -> None:
    with (folder / KEY).open("rb"):
        refuse_at_work([folder / KEY], [folder / "gone.jsonl"], 60)


@needs_processes
def test_a_file_that_is_to_be_removed_may_be_new_and_not_open(folder: Path, writer: subprocess.Popen[bytes]) -> None:
    new = folder / "new.jsonl"
    new.write_bytes(DATA)
    refuse_at_work([], [new], 60)
    with pytest.raises(JustWritten):
        refuse_at_work([new], [], 60)
    with pytest.raises(OpenElsewhere):
        refuse_at_work([], [folder / KEY], 60)
