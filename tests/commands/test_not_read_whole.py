"""What is over a limit of Inspector, or may not be read, is no all-clear, no damage, and nothing to repair across."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inspector import check
from inspector.sources import folders
from inspector.sources.within import stores_within
from inspector.text import limits
from tests.commands.running import run, run_in_process
from tests.commands.test_doctor import ASK, CALLED, GO_ON, RESULT, session
from tests.programs.claude_code import session_lines as cc
from tests.programs.gbrain.test_exports import COPY_MESSAGES, HEAD, ROW, TAIL

HEALTHY = cc.lines(cc.u("u1", None, "hi"), cc.a("a1", "u1", "m1", cc.text("ok")))
DEEP = cc.lines(
    cc.u("u1", None, "run it"),
    cc.a("a1", "u1", "m1", cc.text("THE ANSWER")),
    cc.u("u2", "a1", "more"),
    cc.a("a2", "u2", "m2", cc.text("ok")),
).replace(b'"THE ANSWER"', b'"THE ANSWER","x":' + b"[" * 420 + b"]" * 420)
"""Its second line is over a limit of ours alone: programs read it, and the third names it as its parent."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return cc.write(tmp_path / "home", {f"{cc.PROJECT}/{cc.ID}.jsonl": HEALTHY})


def other(folder: Path, data: bytes) -> Path:
    path = folder / cc.PROJECT / f"{cc.OTHER}.jsonl"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_file_over_the_limit_is_not_passed(folder: Path, monkeypatch: pytest.MonkeyPatch, is_alone: bool) -> None:
    monkeypatch.setattr(limits, "LARGEST_FILE", 2_000)
    path = other(folder, HEALTHY + b"\n" * 2_000)
    if is_alone:
        (folder / cc.PROJECT / f"{cc.ID}.jsonl").unlink()
    ran = run("doctor", folder)
    assert ran.status == 1 and f"Not read: {path.name.removesuffix('.jsonl')} holds " in ran.out
    assert is_alone or "The one session that was read can be resumed." in ran.out
    checked = run("check", folder)
    assert checked.status == 2 and "Not read, " in checked.err
    assert is_alone or "1 of 2 conversations pass." in checked.out
    report = run("check", folder, "--json").json
    assert report["passes"] is False and [one["accepted"] for one in report["histories"]] == ([False] if is_alone else [True, False])
    assert 'errors="1"' in run("check", folder, "--output", "junit").out
    assert run("scan", folder).status == 1


def test_a_line_over_a_limit_of_ours_may_hold_what_is_missing(tmp_path: Path) -> None:
    path = cc.write(tmp_path, {f"{cc.PROJECT}/{cc.ID}.jsonl": DEEP}) / cc.PROJECT / f"{cc.ID}.jsonl"
    ran = run("doctor", path.parent)
    assert (
        ran.status == 1 and "has something at seq 2 that is not read here (nested more than" in ran.out and "can be resumed" not in ran.out
    )
    checked = run("check", path)
    assert checked.status == 2 and "whether the next request passes is not known" in checked.out
    assert "TREE201" in checked.out and "What is at seq 2 is not read here, and may explain it." in checked.out
    assert not check(path).accepted
    before = path.read_bytes()
    repaired = run("repair", path, "--strategy", "relink-lost-line", "--mode", "same-file", "--plan")
    assert repaired.status == 2 and "a repair could lose it or contradict it, so none is made" in repaired.err
    assert path.read_bytes() == before
    for_provider = run("repair", path, "--for", "anthropic-2026-07", "--plan")
    assert for_provider.status == 2 and "so none is made" in for_provider.err
    compared = run("whatif", path, "--reader", "claude-code", "--reader", "claude-code-1", "--json")
    assert compared.status == 0, compared
    assert {state: counts["a"] for state, counts in compared.json["states"].items()} == {
        "passes": 0,
        "silent": 0,
        "rejected": 0,
        "not_known": 1,
    }
    assert compared.json["refused"]["count"] == 0 and compared.json["differences"][0]["next_request"]["b"] == "not_known"
    said = run("whatif", path, "--reader", "claude-code", "--reader", "claude-code-1").out
    assert "next requests: not known 1 → 1" in said


def test_nothing_is_extracted_of_what_was_not_read(folder: Path, tmp_path: Path) -> None:
    (folder / cc.PROJECT / f"{cc.ID}.jsonl").write_bytes(HEALTHY + b"\n" * (1 << 20))
    ran = run_in_process(tmp_path / "own.db", "extract", folder, "--out", tmp_path / "e.md", INSPECTOR_LARGEST_FILE="1")
    assert ran.status == 2 and "The conversation was not read" in ran.err and not (tmp_path / "e.md").exists()


def test_each_folder_is_looked_at_for_other_programs(folder: Path) -> None:
    """The first files of a home folder may all be of one program."""
    for number in range(folders.HEADS + 1):
        (folder / cc.PROJECT / f"{number:08}-0000-4000-8000-000000000001.jsonl").write_bytes(HEALTHY)
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-20T17:33:07.691Z", "cwd": "/home/dev/app"}
    (folder / "sessions").mkdir()
    (folder / "sessions" / "s.jsonl").write_text(json.dumps(header) + "\n")
    ran = run("doctor", folder)
    assert f"Claude Code: {folder}" in ran.out and f"pi and OpenClaw: {folder}/sessions" in ran.out


@pytest.mark.parametrize("name", ["0.jsonl", "m.jsonl", "z.jsonl"])
def test_no_file_among_many_of_another_program_goes_unread(tmp_path: Path, name: str) -> None:
    """Two results for one call, which a reader of the others would pass over."""
    for number in range(folders.HEADS + 1):
        (tmp_path / f"a{number:07}-0000-4000-8000-000000000001.jsonl").write_bytes(HEALTHY)
    session(tmp_path / name, ASK, CALLED, RESULT, RESULT, GO_ON)
    ran = run("doctor", tmp_path)
    assert ran.status == 1 and f"1 of {folders.HEADS + 2} sessions cannot be resumed" in ran.out and f"repair {tmp_path / name} " in ran.out
    assert len(ran.out.splitlines()) < 30, "a store for each file, and not all are printed"
    assert run("check", tmp_path).out.endswith(f"{folders.HEADS + 1} of {folders.HEADS + 2} conversations pass.\n")
    scanned = run("scan", tmp_path, "--json").json
    assert scanned["source"]["stores"][-1 if name > "a" else 0] == {"path": str(tmp_path / name), "format": "pi"}


def test_many_files_of_one_program_are_one_store(tmp_path: Path) -> None:
    """With what is not of it: a file that begins as no session does, an empty one, notes."""
    for number in range(folders.HEADS + 1):
        (tmp_path / f"a{number:07}-0000-4000-8000-000000000001.jsonl").write_bytes(HEALTHY)
    (tmp_path / "z.jsonl").write_bytes(b'{"anything":1}\n')
    (tmp_path / "zz.jsonl").write_bytes(b"")
    (tmp_path / "notes.md").write_text("milk")
    assert [store.path for store in stores_within(tmp_path).stores] == [tmp_path]


def test_a_few_files_of_two_programs_are_checked_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "a0000000-0000-4000-8000-000000000001.jsonl").write_bytes(HEALTHY)
    session(tmp_path / "z.jsonl", ASK, CALLED, RESULT, RESULT, GO_ON)
    assert run("check", tmp_path).out.endswith("1 of 2 conversations pass.\n")


DUMP = f"{HEAD}{COPY_MESSAGES}{ROW}\\.\n{TAIL}"
BODY = '{"model":"claude-sonnet-4","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A request body, and a dump of a database that is none of gbrain, in a folder with its name."""
    folder = tmp_path / "gbrain"
    folder.mkdir()
    (folder / "body.json").write_text(BODY)
    (folder / "dump.sql").write_text(DUMP.replace("subagent_messages", "pages"))
    return folder


def test_a_dump_of_another_database_says_nothing_of_the_files_next_to_it(mixed: Path) -> None:
    for command in ("doctor", "scan", "import_source"):
        ran = run(command, mixed)
        assert ran.status == 2 and ran.err.startswith(f"{mixed} is no store, "), command
    checked = run("check", mixed, "--json").json
    assert [one["file"] for one in checked["histories"]] == [str(mixed / "body.json")]
    assert [problem["where"] for problem in checked["problems"]] == [str(mixed / "dump.sql")]


def test_a_dump_of_gbrain_is_read_next_to_other_files(mixed: Path) -> None:
    (mixed / "dump.sql").write_text(DUMP)
    assert run("scan", mixed, "--json").json["source"]["format"] == "gbrain-export"


def test_a_dump_that_is_alone_in_its_folder_says_which_table_it_lacks(mixed: Path) -> None:
    (mixed / "body.json").unlink()
    assert "holds no table subagent_messages; export " in run("scan", mixed).err


def test_a_packed_dump_of_gbrain_says_what_to_do(mixed: Path) -> None:
    (mixed / "dump.dump").write_bytes(b"PGDMP\x01\x0e\x00")
    assert "pg_restore --data-only" in run("scan", mixed).err


@pytest.mark.parametrize("command", ["doctor", "scan", "check", "import_source"])
def test_a_folder_of_a_program_that_is_not_read_yet_says_which(tmp_path: Path, command: str) -> None:
    with closing(sqlite3.connect(tmp_path / "sessions.db")) as connection:
        for table in ("agent_sessions", "agent_messages"):
            connection.execute(f"CREATE TABLE {table} (id text)")
        connection.commit()
    (tmp_path / "notes.md").write_text("milk")
    assert (
        f"{tmp_path}/sessions.db holds sessions of the OpenAI Agents SDK, which Inspector does not read yet" in run(command, tmp_path).err
    )


def test_a_file_of_json_lines_of_anything_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "schema.jsonl").write_text('{"type":["string","null"],"name":"x"}\n')
    for command in ("doctor", "check", "scan"):
        ran = run(command, tmp_path)
        assert "fault of Inspector" not in ran.err + ran.out and ran.status in (0, 2), command
