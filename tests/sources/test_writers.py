"""A program that keeps a file open goes on writing to that very file: it is not replaced under it, or takes its place again."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.programs.formats import Cell, Change
from inspector.sources import folders, open_files
from inspector.sources.open_files import OpenElsewhere

HOLDER = """
import sys
file = open(sys.argv[1], sys.argv[2])
print("open", flush=True)
for line in sys.stdin:
    file.write(line)
    file.flush()
    print("written", flush=True)
"""
BEFORE, AFTER = b'{"id":1}\n{"id":2}\n', b'{"id":1}\n'


@contextmanager
def holder(place: Path, mode: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        yield process
    finally:
        process.kill()
        process.wait()


def write(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "written\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(BEFORE)
    return path


def change(after: bytes | None = AFTER) -> Change:
    return Change("s.jsonl", Cell(BEFORE, "file"), None if after is None else Cell(after, "file"))


@pytest.mark.parametrize("after", [AFTER, None], ids=["replaced", "removed"])
def test_a_file_that_a_process_may_write_to_is_not_replaced(place: Path, after: bytes | None) -> None:
    with holder(place, "a") as process:
        with pytest.raises(OpenElsewhere, match=rf"is open in process {process.pid} \(python"):
            folders.refuse_writers(place, [change(after)])
        write(process, '{"id":3}')
    assert place.read_bytes() == BEFORE + b'{"id":3}\n'
    folders.refuse_writers(place, [change(after)])


def test_a_process_that_only_reads_keeps_nobody_from_writing(place: Path) -> None:
    with holder(place, "r"):
        folders.refuse_writers(place, [change()])
        folders.commit(place, {}, [change()])
    assert place.read_bytes() == AFTER


@pytest.mark.skipif(not shutil.which("lsof"), reason="there is no lsof here")
@pytest.mark.parametrize("mode", ["a", "r"])
def test_lsof_says_it_where_the_system_has_no_folder_of_processes(place: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "_PROCESSES", place.parent / "none")
    with holder(place, mode) as process:
        if mode == "r":
            folders.refuse_writers(place, [change()])
        else:
            with pytest.raises(OpenElsewhere, match=rf"process {process.pid} \(python"):
                folders.refuse_writers(place, [change()])


def test_the_very_file_takes_its_place_again_under_a_process_that_opened_it_after_the_look(place: Path, tmp_path: Path) -> None:
    """The write itself, without the look before it: as if the program had opened the file in between."""
    other = tmp_path / "new.jsonl"
    number = place.stat().st_ino
    new = Change("new.jsonl", None, Cell(b"{}\n", "file"))
    with holder(place, "a") as process:
        with pytest.raises(OpenElsewhere, match=f"process {process.pid} "):
            folders.commit(place, {}, [new, change()])
        assert place.stat().st_ino == number and place.read_bytes() == BEFORE and not other.exists()
        write(process, '{"id":3}')
    assert place.read_bytes() == BEFORE + b'{"id":3}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.slow
def test_nothing_that_a_program_appends_is_lost_while_it_is_written_again_and_again(place: Path, tmp_path: Path) -> None:
    """The program opens, appends and closes for some records, and keeps the file open for others."""
    lines = [f'{{"n":{number}}}' for number in range(60)]
    script = "import sys, time\nplace, lines = sys.argv[1], sys.argv[2:]\n" + APPENDS
    process = subprocess.Popen([sys.executable, "-c", script, str(place), *lines])
    refused = written = 0
    while process.poll() is None:
        now = place.read_bytes()
        try:
            folders.refuse_writers(place, [Change("s.jsonl", Cell(now, "file"), Cell(now, "file"))])
            folders.commit(place, {}, [Change("s.jsonl", Cell(now, "file"), Cell(b'{"id":0}\n' + now, "file"))])
            written += 1
        except open_files.SourceProblem:
            refused += 1
        time.sleep(0.01)
    kept = place.read_text().splitlines()
    assert [line for line in kept if '"n"' in line] == lines and refused and written


APPENDS = """
for start in range(0, len(lines), 6):
    with open(place, "a") as file:
        for line in lines[start : start + 6]:
            file.write(line + "\\n")
            file.flush()
            time.sleep(0.003)
    time.sleep(0.25)
"""
