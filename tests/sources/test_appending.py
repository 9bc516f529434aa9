"""A change that only adds bytes at the end of a file keeps the file: a program that has it open goes on writing to what everybody reads."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.programs.formats import Cell, Change
from inspector.sources import folders
from inspector.sources.appending import Interleaved, Piece, append, without
from inspector.sources.problems import Moved, NotWritable, OverLimit
from tests.sources.stores import run_as_nobody

OLD, OURS, THEIRS = b'{"type":"a"}\n', b'{"type":"repair"}\n', b'{"type":"b"}\n'


def change(path: Path, before: bytes, after: bytes) -> Change:
    return Change(path.name, Cell(before, "file"), Cell(after, "file"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "chat.jsonl"
    place.write_bytes(OLD)
    return place


@pytest.fixture
def agent(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that keeps the file open and adds a line to it for each line that it gets; it is not seen by who looks for open files."""
    code = (
        "import sys\nfile = open(sys.argv[1], 'ab', 0)\nfor line in sys.stdin.buffer:\n    file.write(line); print('written', flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        add(process, THEIRS)
        yield process
        process.kill()


def add(process: "subprocess.Popen[bytes]", line: bytes) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line)
    process.stdin.flush()
    assert process.stdout.readline() == b"written\n"


def test_a_program_that_keeps_the_file_open_loses_nothing(path: Path, agent: "subprocess.Popen[bytes]") -> None:
    """Three of three lost what they added after a repair: it went to the old file, which nobody reads."""
    before, number = path.read_bytes(), path.stat().st_ino
    folders.commit(path, {}, [change(path, before, before + OURS)])
    add(agent, THEIRS)
    assert path.read_bytes() == OLD + THEIRS + OURS + THEIRS
    assert path.stat().st_ino == number and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("keeps_times", [True, False])
def test_an_append_keeps_the_links_mode_and_if_asked_the_time_of_the_file(path: Path, keeps_times: bool) -> None:
    path.chmod(0o640)
    os.utime(path, (1_790_000_000, 1_790_000_000))
    other = path.with_name("other.jsonl")
    other.hardlink_to(path)
    folders.commit(path, {}, [change(path, OLD, OLD + OURS)], keeps_times=keeps_times)
    assert other.read_bytes() == OLD + OURS and path.stat().st_mode & 0o777 == 0o640
    assert (path.stat().st_mtime == 1_790_000_000) is keeps_times


@pytest.mark.parametrize("after", [b'{"type":"c"}\n', OLD[:-1], b""])
def test_any_other_change_replaces_the_file(path: Path, after: bytes) -> None:
    number = path.stat().st_ino
    with path.open("rb"):
        folders.commit(path, {}, [change(path, OLD, after)])
        assert path.read_bytes() == after and path.stat().st_ino != number


def test_an_undo_replaces_the_file_and_carries_over_what_came_meanwhile(path: Path) -> None:
    folders.commit(path, {}, [change(path, OLD, OLD + OURS)])
    number = path.stat().st_ino
    with path.open("rb"):
        folders.commit(path, {}, [change(path, OLD, OLD + OURS).reversed()])
        assert path.read_bytes() == OLD and path.stat().st_ino != number


def test_what_another_program_appended_before_is_a_refusal(path: Path) -> None:
    path.write_bytes(OLD + THEIRS)
    with pytest.raises(Moved, match=r"chat\.jsonl grew by 13 bytes"):
        folders.commit(path, {}, [change(path, OLD, OLD + OURS)])
    assert path.read_bytes() == OLD + THEIRS


def test_an_append_that_comes_after_that_of_another_program_is_noticed(path: Path) -> None:
    path.write_bytes(OLD + THEIRS)
    with pytest.raises(Interleaved) as raised:
        append(path, change(path, OLD, OLD + OURS), keeps_times=False)
    assert raised.value.pieces == () and path.read_bytes() == OLD + THEIRS


def test_our_bytes_are_taken_out_from_between_those_of_others() -> None:
    pieces = (Piece(len(OLD + THEIRS), OURS[:5]), Piece(len(OLD + THEIRS) + 5 + 2, OURS[5:]))
    assert without(OLD + THEIRS + OURS[:5] + b"??" + OURS[5:] + THEIRS, pieces) == OLD + THEIRS + b"??" + THEIRS
    assert without(OLD + THEIRS, pieces) is None


WRITER = """
import os, signal, resource, sys
from pathlib import Path
from inspector.programs.formats import Cell, Change
from inspector.sources import folders
path, more, size = Path(sys.argv[1]), bytes.fromhex(sys.argv[2]), int(sys.argv[3])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
before = path.read_bytes()
try:
    folders.commit(path, {}, [Change(path.name, Cell(before, "file"), Cell(before + more, "file"))])
except Exception as problem:
    print(type(problem).__name__)
"""


@pytest.mark.parametrize("part", [0, 1, 7])
def test_an_append_that_fails_in_the_middle_is_cut_off_at_once(path: Path, part: int) -> None:
    """A file that may not grow further takes a part first, and refuses only then; a full disk does the same."""
    command = [sys.executable, "-c", WRITER, str(path), OURS.hex(), str(len(OLD) + part)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == OverLimit.__name__, ran.stderr
    assert path.read_bytes() == OLD and list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another user")
def test_a_file_that_may_not_be_written_to_is_replaced_as_before() -> None:
    # Not in pytest's folder, into which nobody else may look.
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "chat.jsonl"
        path.write_bytes(OLD)
        path.chmod(0o444)
        Path(name).chmod(0o777)

        def check() -> None:
            with pytest.raises(NotWritable, match="belongs to another user"):
                folders.commit(path, {}, [change(path, OLD, OLD + OURS)])
            own = path.with_name("own.jsonl")
            own.write_bytes(OLD)
            own.chmod(0o444)
            folders.commit(own, {}, [change(own, OLD, OLD + OURS)])
            assert own.read_bytes() == OLD + OURS and own.stat().st_mode & 0o777 == 0o444

        run_as_nobody(check)
        assert path.read_bytes() == OLD
