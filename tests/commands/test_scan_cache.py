"""Answers of `scan` and `doctor` that are kept: nothing is read again that is as it was, and nothing is answered that is not so any more."""

import json
import os
import sqlite3
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from inspector.sources import scan_cache
from tests.commands.running import Ran, run
from tests.commands.test_doctor import ASK, CALLED, GO_ON, RESULT, openclaw, session

pytestmark = pytest.mark.only_settles

_opened: list[str] | None = None


def _record(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str):
        _opened.append(arguments[0])


sys.addaudithook(_record)


@contextmanager
def opens() -> Iterator[Counter[str]]:
    """How often each session file was opened."""
    global _opened
    counts: Counter[str] = Counter()
    _opened = []
    try:
        yield counts
    finally:
        counts.update(Path(name).name for name in _opened if name.endswith((".jsonl", ".json")))
        _opened = None


STARTS = 2
"""How often the start of a file is read, to detect the format and to list the sessions."""


def read(counts: Counter[str]) -> set[str]:
    """The files that were opened more often than that."""
    return {name for name, count in counts.items() if count > STARTS}


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a test are younger than what is kept elsewhere."""
    settings.VAR_DIR = tmp_path / "data"
    monkeypatch.setattr(scan_cache, "SETTLED_NS", 0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    session(folder / "one.jsonl", ASK, CALLED, RESULT, GO_ON)
    session(folder / "two.jsonl", ASK, CALLED, RESULT, RESULT, GO_ON)
    session(folder / "three.jsonl", ASK, GO_ON)
    return folder


def damage(path: Path) -> None:
    path.write_text(path.read_text().replace('"parentId":"a0000000"', '"parentId":"ffffffff"'))


def kept(tmp_path: Path) -> int:
    with closing(sqlite3.connect(tmp_path / "data" / "scans.sqlite3")) as database:
        return int(database.execute("SELECT COUNT(*) FROM answers").fetchone()[0])


@pytest.mark.parametrize("command", [("scan",), ("scan", "--json"), ("doctor",), ("doctor", "--json")])
def test_the_answer_on_what_is_as_it_was_is_the_same_and_reads_nothing(store: Path, command: tuple[str, ...]) -> None:
    with opens() as first:
        before = run(*command, store)
    with opens() as second:
        after = run(*command, store)
    assert before == after == run(*command, store, "--no-cache")
    assert read(first) == {"one.jsonl", "two.jsonl", "three.jsonl"}
    assert second == dict.fromkeys(("one.jsonl", "two.jsonl", "three.jsonl"), STARTS)


@pytest.mark.parametrize("command", ["scan", "doctor"])
def test_what_was_changed_is_read_again_and_nothing_else(store: Path, command: str) -> None:
    assert run(command, store).status == 1
    damage(store / "three.jsonl")
    (store / "two.jsonl").unlink()
    session(store / "four.jsonl", ASK)
    with opens() as counts:
        ran = run(command, store)
    assert set(counts) == {"one.jsonl", "three.jsonl", "four.jsonl"} and read(counts) == {"three.jsonl", "four.jsonl"}
    assert ran == run(command, store, "--no-cache") and ran.status == (0 if command == "doctor" else 1)


def test_a_change_of_the_same_length_with_the_old_time_is_seen(store: Path) -> None:
    """As a repair in place writes it: a program resumes the newest file, so that it keeps its time."""
    path = store / "three.jsonl"
    before = run("scan", store).out
    times, size = path.stat(), path.stat().st_size
    damage(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (size, times.st_mtime_ns)
    after = run("scan", store).out
    assert after != before and after == run("scan", store, "--no-cache").out


def test_a_file_with_another_time_and_the_same_bytes_is_compared_once(store: Path) -> None:
    before = run("scan", store)
    content = (store / "one.jsonl").read_bytes()
    (store / "one.jsonl").unlink()
    (store / "one.jsonl").write_bytes(content)
    with opens() as compared:
        assert run("scan", store) == before
    with opens() as known:
        assert run("scan", store) == before
    assert (compared["one.jsonl"], known["one.jsonl"]) == (STARTS + 1, STARTS)


def test_another_question_has_another_answer(store: Path) -> None:
    questions = [
        (),
        ("--json",),
        ("--profile", "anthropic-2026-07"),
        ("--profile", "openai-chat"),
        ("--reader", "pi-verbatim"),
        ("--fail-on", "note"),
        ("--json", "--profile", "all"),
    ]
    names = [words for words in questions if run("scan", store, *words, "--no-cache").status != 2]
    plain = [run("scan", store, *words, "--no-cache") for words in names]
    for _ in range(2):
        assert [run("scan", store, *words) for words in names] == plain
    assert len({ran.out for ran in plain}) > 3


def test_what_is_around_a_session_belongs_to_its_answer(tmp_path: Path) -> None:
    folder = openclaw(tmp_path, "one", "two")
    assert run("doctor", folder).status == 0
    openclaw_list = folder / "sessions.json"
    entries = json.loads(openclaw_list.read_text())
    del entries["agent:main:two"]
    openclaw_list.write_text(json.dumps(entries))
    assert [one["conversation"] for one in run("doctor", folder, "--json").json["broken"]] == ["two"]


def test_an_answer_that_depends_on_the_time_is_not_kept(tmp_path: Path) -> None:
    folder = openclaw(tmp_path, "one", "two")
    (folder / "two.jsonl.lock").write_text('{"pid": 1, "createdAt": "2026-01-01T00:00:00Z"}')
    run("scan", folder)
    assert kept(tmp_path) == 1


def test_no_cache_reads_none_and_keeps_none(store: Path, tmp_path: Path) -> None:
    run("scan", store, "--no-cache")
    run("doctor", store, "--no-cache")
    assert not (tmp_path / "data").exists()


def test_only_its_owner_reads_what_is_kept(store: Path, tmp_path: Path) -> None:
    run("scan", store)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data", tmp_path / "data" / "scans.sqlite3")]
    assert modes == [0o700, 0o600]


def test_the_oldest_answers_go_where_there_are_too_many(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        session(store / f"more{number}.jsonl", ASK, GO_ON)
    before = run("scan", store)
    assert kept(tmp_path) == 23
    monkeypatch.setattr(scan_cache, "LARGEST", 1000)
    session(store / "last.jsonl", ASK)
    run("scan", store)
    assert 0 < kept(tmp_path) <= 12
    (store / "last.jsonl").unlink()
    assert run("scan", store) == before


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + bytes(200)])
def test_a_damaged_cache_is_made_again(store: Path, tmp_path: Path, content: bytes) -> None:
    before = run("scan", store, "--no-cache")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "scans.sqlite3").write_bytes(content)
    assert run("scan", store) == before and kept(tmp_path) == 3


def test_a_cache_that_another_command_holds_or_that_cannot_be_made_changes_no_answer(
    store: Path, tmp_path: Path, settings: Settings
) -> None:
    before: Ran = run("scan", store)
    with closing(sqlite3.connect(tmp_path / "data" / "scans.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert run("scan", store) == before
    settings.VAR_DIR = store / "one.jsonl"
    assert run("scan", store) == before


def test_a_store_whose_sessions_are_no_files_is_read_each_time(tmp_path: Path) -> None:
    from tests.commands.running import incident

    store = incident(tmp_path / "dispatch.db")
    assert run("scan", store) == run("scan", store)
    assert kept(tmp_path) == 0
