"""Codex's list of threads (`state_5.sqlite`) next to the rollout files: rows without a file, files without a row, and other paths."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings
from inspector.sources import reading
from inspector.sources.streaming import OpenStore
from tests.actions.building import bring
from tests.programs.codex.threads import ID, OTHER, assistant, thread, user

SCHEMA = """CREATE TABLE threads (
    id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, source TEXT NOT NULL,
    model_provider TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT NOT NULL, sandbox_policy TEXT NOT NULL, approval_mode TEXT NOT NULL,
    tokens_used INTEGER NOT NULL DEFAULT 0, has_user_event INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0, archived_at INTEGER,
    git_sha TEXT, git_branch TEXT, git_origin_url TEXT, cli_version TEXT NOT NULL DEFAULT '', first_user_message TEXT NOT NULL DEFAULT '')"""
DAY = "sessions/2026/11/22"
THIRD = "01a2044a-2d3f-7773-9880-5fe1d4b57333"


def name(id_: str) -> str:
    return f"rollout-2026-11-22T17-24-59-{id_}.jsonl"


def place(id_: str, folder: str = DAY) -> str:
    """As the program writes it, with the home of the user's machine."""
    return f"/home/dev/.codex/{folder}/{name(id_)}"


def home(tmp_path: Path, files: dict[str, str], rows: list[tuple[str, str, int]], database: str = "state_5.sqlite") -> Path:
    """A home of Codex: `files` are folders by the ids of threads, `rows` have id, rollout_path and archived."""
    base = tmp_path / ".codex"
    for id_, folder in files.items():
        (base / folder).mkdir(parents=True, exist_ok=True)
        (base / folder / name(id_)).write_bytes(thread(user("go"), assistant("done"), id=id_))
    with closing(sqlite3.connect(base / database)) as store:
        store.execute(SCHEMA)
        for id_, path, archived in rows:
            values = (id_, path, archived)
            store.execute(
                "INSERT INTO threads (id, rollout_path, created_at, updated_at, source, model_provider, cwd, title, sandbox_policy, approval_mode, archived)"
                " VALUES (?, ?, 1, 2, 'cli', 'openai', '/repo', 'secret words', '{}', 'never', ?)",
                values,
            )
        store.commit()
    return base


def notes(path: Path) -> dict[str, list[str]]:
    """Messages of STORE817 by thread."""
    with reading.opened(path) as store:
        assert isinstance(store, OpenStore)
        found = {one.native_id: all_findings(case_of(store.read(one).conversation, "codex")) for one in store.listed}
    assert all(finding.code == "STORE817" and finding.severity == "note" for findings in found.values() for finding in findings)
    return {native_id: [finding.message for finding in findings] for native_id, findings in found.items()}


def test_a_list_that_agrees_says_nothing(tmp_path: Path) -> None:
    base = home(tmp_path, {ID: DAY, OTHER: DAY}, [(ID, place(ID), 0), (OTHER, place(OTHER), 0)])
    assert notes(base / "sessions") == notes(base) == {ID: [], OTHER: []}


def test_a_file_without_a_row(tmp_path: Path) -> None:
    found = notes(home(tmp_path, {ID: DAY, OTHER: DAY}, [(ID, place(ID), 0)]) / "sessions")
    assert found[ID] == []
    assert found[OTHER] == [
        "state_5.sqlite has no row for this thread: Codex's list does not show it. The list was never filled from this file, or the row was deleted on purpose."
    ]


def test_a_row_without_a_file(tmp_path: Path) -> None:
    base = home(tmp_path, {ID: DAY}, [(ID, place(ID), 0), (OTHER, place(OTHER), 0)])
    for path in (base, base / "sessions"):
        found = notes(path)
        assert found[ID] == []
        assert found[OTHER] == [
            f"state_5.sqlite lists this thread, and its file {place(OTHER)} is not there: Codex answers `no rollout found for thread id {OTHER}`. "
            "The file was deleted on purpose, and its row was left; or it was moved or lost, and may be in a backup."
        ]


def test_a_row_with_another_path(tmp_path: Path) -> None:
    base = home(tmp_path, {ID: DAY}, [(ID, place(ID, "sessions/2026/10/01"), 0)])
    assert notes(base)[ID] == [
        f"state_5.sqlite names another file for this thread ({place(ID, 'sessions/2026/10/01')}). This one was moved by hand, or is a copy, and the other is the thread's."
    ]


def test_an_archived_thread_whose_file_is_among_the_others(tmp_path: Path) -> None:
    base = home(tmp_path, {ID: DAY}, [(ID, place(ID, "archived_sessions"), 1)])
    (message,) = notes(base / "sessions")[ID]
    assert message.startswith("state_5.sqlite says that this thread is archived") and message.endswith("or is a copy that was left.")


@pytest.mark.parametrize(
    ("files", "rows"),
    [
        pytest.param({ID: DAY}, [], id="an empty list"),
        pytest.param({ID: DAY}, [(ID, place(ID) + ".zst", 0)], id="a file that was packed since"),
        pytest.param({ID: DAY}, [(ID, place(ID), 0), (OTHER, place(OTHER, "archived_sessions"), 1)], id="an archive that was not read"),
        pytest.param({ID: DAY}, [(ID, "C:\\Users\\dev\\.codex\\" + f"{DAY}/{name(ID)}".replace("/", "\\"), 0)], id="a path of Windows"),
        pytest.param({ID: DAY}, [(ID, place(ID), 0), (OTHER, "/elsewhere/thread.jsonl", 0)], id="a path below no folder of threads"),
    ],
)
def test_what_is_no_disagreement(tmp_path: Path, files: dict[str, str], rows: list[tuple[str, str, int]]) -> None:
    assert notes(home(tmp_path, files, rows) / "sessions") == {ID: []}


def test_an_archive_that_was_read_is_compared(tmp_path: Path) -> None:
    rows = [(ID, place(ID), 0), (OTHER, place(OTHER, "archived_sessions"), 1), (THIRD, place(THIRD, "archived_sessions"), 1)]
    found = notes(home(tmp_path, {ID: DAY, OTHER: "archived_sessions"}, rows))
    assert (found[ID], found[OTHER]) == ([], []) and found[THIRD][0].startswith("state_5.sqlite lists this archived thread")


def test_the_newest_list_counts_and_one_that_is_no_database_is_left(tmp_path: Path) -> None:
    base = home(tmp_path, {ID: DAY}, [], "state_4.sqlite")
    home(tmp_path, {}, [(ID, place(ID), 0)], "state_10.sqlite")
    assert notes(base) == {ID: []}
    (base / "state_11.sqlite").write_bytes(b"no database")
    assert notes(base) == {ID: []}


def test_a_part_of_the_threads_is_not_compared(tmp_path: Path) -> None:
    base = home(tmp_path, {ID: DAY}, [(OTHER, place(OTHER), 0)])
    assert notes(base / DAY) == {ID: []} == notes(base / "sessions/2026")


@pytest.mark.django_db
def test_a_second_import_writes_nothing_and_titles_stay_in_the_database(tmp_path: Path) -> None:
    base = home(tmp_path, {ID: DAY}, [(OTHER, place(OTHER), 0)])
    bring(base / "sessions")
    again = bring(base / "sessions")[0]
    assert (again.conversations, again.unchanged) == (2, 2)
    with reading.opened(base / "sessions") as store:
        assert isinstance(store, OpenStore)
        assert not any("secret words" in str(fact.value) for one in store.listed for fact in one.facts.values())
