"""Which stores a folder holds: those of each program, and of what is not read a sentence says so."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inspector.sources.within import stores_within
from tests.programs.claude_code import session_lines as cc
from tests.programs.codex import threads
from tests.programs.gemini_cli import chats
from tests.programs.opencode import stores as opencode


def places(path: Path) -> list[tuple[str, str]]:
    return [(store.path.relative_to(path).as_posix(), store.format) for store in stores_within(path).stores]


def skipped(path: Path) -> list[str]:
    return [problem.reason.replace(str(path), "FOLDER") for problem in stores_within(path).skipped]


def claude_code(path: Path) -> Path:
    return cc.write(path, {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(cc.u("u1", None, "hi"), cc.a("a1", "u1", "m1", cc.text("ok")))})


def database(path: Path, *tables: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (id text)")
        connection.commit()


def test_a_database_and_a_tree_of_one_program_are_both_read(tmp_path: Path) -> None:
    opencode.database(tmp_path, opencode.KILLED)
    opencode.tree(tmp_path, opencode.CLEAN)
    assert places(tmp_path) == [("opencode.db", "opencode"), ("storage", "opencode-storage")] and skipped(tmp_path) == []


def test_a_database_alone_is_read_and_so_are_several(tmp_path: Path) -> None:
    path = Path(opencode.database(tmp_path, opencode.CLEAN))
    assert places(tmp_path) == [("opencode.db", "opencode")]
    path.rename(tmp_path / "opencode-dev.db")
    opencode.database(tmp_path, opencode.CLEAN)
    assert places(tmp_path) == [("opencode-dev.db", "opencode"), ("opencode.db", "opencode")]


def test_databases_further_down_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "opencode").mkdir()
    opencode.database(tmp_path / "opencode", opencode.CLEAN)
    opencode.tree(tmp_path / "opencode", opencode.CLEAN)
    assert places(tmp_path) == [("opencode/opencode.db", "opencode"), ("opencode/storage", "opencode-storage")]


@pytest.mark.parametrize("tables", [(), ("auth_user",), ("message", "part")])
def test_another_database_is_no_store(tmp_path: Path, tables: tuple[str, ...]) -> None:
    """A folder of sessions is named and read as before, and a folder of nothing else is none of ours."""
    opencode.tree(tmp_path, opencode.CLEAN)
    database(tmp_path / "other.db", *tables)
    assert places(tmp_path) == [(".", "opencode-storage")] and skipped(tmp_path) == []
    (tmp_path / "apart").mkdir()
    database(tmp_path / "apart" / "other.db", *tables)
    assert places(tmp_path / "apart") == [(".", "")]


def test_a_file_that_only_ends_like_a_database_is_no_store(tmp_path: Path) -> None:
    opencode.tree(tmp_path, opencode.CLEAN)
    (tmp_path / "notes.db").write_text("no database")
    assert places(tmp_path) == [(".", "opencode-storage")] and skipped(tmp_path) == []


def test_a_database_of_another_program_is_read_too(tmp_path: Path) -> None:
    claude_code(tmp_path)
    opencode.database(tmp_path, opencode.CLEAN)
    assert places(tmp_path) == [("opencode.db", "opencode"), ("projects", "claude-code")] and skipped(tmp_path) == []


def test_each_program_of_a_home_folder_is_read(tmp_path: Path) -> None:
    """Two of them take any file of lines for their own: neither reads those of the other."""
    claude_code(tmp_path / ".claude")
    chat = tmp_path / ".gemini" / "tmp" / "app" / "chats" / chats.NAME
    chat.parent.mkdir(parents=True)
    chat.write_bytes(cc.lines(*chats.CLEAN))
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    (tmp_path / ".codex" / "sessions" / threads.NAME).write_bytes(threads.WHOLE)
    (tmp_path / ".local" / "share" / "opencode").mkdir(parents=True)
    opencode.database(tmp_path / ".local" / "share" / "opencode", opencode.CLEAN)
    (tmp_path / "notes.txt").write_text("no session")
    (tmp_path / "link").symlink_to(tmp_path / ".claude")
    database(tmp_path / "goose.db", "schema_version", "sessions", "messages")
    assert places(tmp_path) == [
        (".claude", "claude-code"),
        (".codex", "codex"),
        (".gemini", "gemini-cli"),
        (".local/share/opencode/opencode.db", "opencode"),
    ]
    (goose,) = skipped(tmp_path)
    assert goose.startswith("FOLDER/goose.db holds sessions of goose")


def test_files_of_several_programs_in_one_folder_are_read_one_by_one(tmp_path: Path) -> None:
    (tmp_path / threads.NAME).write_bytes(threads.WHOLE)
    (tmp_path / "a.jsonl").write_bytes(cc.lines(cc.u("u1", None, "hi"), cc.a("a1", "u1", "m1", cc.text("ok"))))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert places(tmp_path) == [("a.jsonl", "claude-code"), (threads.NAME, "codex")] and skipped(tmp_path) == []


def test_a_database_that_is_not_read_yet_or_damaged_is_named(tmp_path: Path) -> None:
    opencode.tree(tmp_path, opencode.CLEAN)
    database(tmp_path / "goose.db", "schema_version", "sessions", "messages")
    database(tmp_path / "graph.db", "checkpoints", "writes")
    database(tmp_path / "graph2.db", "checkpoints", "writes")
    (tmp_path / "torn.db").write_bytes(Path(opencode.database(tmp_path, opencode.CLEAN)).read_bytes()[:1000])
    assert places(tmp_path) == [("opencode.db", "opencode"), ("storage", "opencode-storage")]
    torn, goose, graphs = skipped(tmp_path)
    assert graphs.startswith("FOLDER/graph.db and 1 file more hold checkpoints of LangGraph, which Inspector does not read yet")
    assert goose.startswith("FOLDER/goose.db holds sessions of goose, which Inspector does not read yet")
    assert torn.startswith("FOLDER/torn.db ")


def test_who_names_a_format_gets_what_is_of_it_alone(tmp_path: Path) -> None:
    opencode.database(tmp_path, opencode.CLEAN)
    opencode.tree(tmp_path, opencode.CLEAN)
    within = stores_within(tmp_path, "opencode-storage")
    assert [(store.path, store.format) for store in within.stores] == [(tmp_path, "opencode-storage")]


def test_a_file_is_itself(tmp_path: Path) -> None:
    path = Path(opencode.database(tmp_path, opencode.CLEAN))
    assert [store.path for store in stores_within(path).stores] == [path]
