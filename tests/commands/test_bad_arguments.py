"""Names that cannot be: of new files, of targets, of repairs. One sentence each, status 2, and nothing beside what was there."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.commands.running import incident, make, run

RENUMBER = ("--strategy", "renumber-messages")
pytestmark = pytest.mark.django_db


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return incident(tmp_path / "dispatch.db")


def held(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("", "Name the new file after --out"),
        (".", "already exists"),
        ("dispatch.db", "already exists"),
        ("no/such.db", "its folder does not exist"),
        ("nul\0name", "no file can have that name"),
        ("dispatch.db-wal", "SQLite keeps next to a database"),
        ("dispatch.db-journal", "SQLite keeps next to a database"),
        ("/proc/out.db", "cannot be made"),
    ],
)
def test_a_new_file_that_cannot_be_made_is_refused(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = held(tmp_path)
    for command in (("repair", store, *RENUMBER), ("bundle", store)):
        ran = run(*command, "--out", out)
        assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1
    assert held(tmp_path) == before


def test_a_copy_is_not_made_beside_the_log_of_another_database(store: Path, tmp_path: Path) -> None:
    (tmp_path / "fresh.db-wal").write_bytes(b"what another database has not yet written back")
    before = held(tmp_path)
    ran = run("repair", store, *RENUMBER, "--out", tmp_path / "fresh.db")
    assert ran.status == 2 and "fresh.db-wal already exists" in ran.err and held(tmp_path) == before


@pytest.mark.parametrize("name", ["\udcff", "\ud800", "nul\0name", "%", "x" * 5000])
def test_a_name_that_nothing_has_is_one_short_sentence(name: str) -> None:
    readers = ("--reader", "dispatch-legacy", "--reader", "exact")
    for command in (
        *(("scan",), ("show",), ("import_source",), ("undo",), ("verify",)),
        *(("whatif", *readers), ("repair", *RENUMBER, "--plan"), ("bundle", "--out", "x.zip")),
    ):
        ran = run(command[0], name, *command[1:])
        assert ran.status == 2 and "There is no" in ran.err and ran.err.count("\n") == 1 and len(ran.err) < 400, command


def test_scan_says_what_is_wrong_with_the_file_itself(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db", [("conversation-store", "conv:c1:seq", "0"), ("conversation-store", "conv:c1:novel", "{}")])
    assert "Problem, its keys: 1 key of this namespace has a name" in run("scan", store).out
    problem = run("scan", store, "--json").json["source"]["problems"]
    assert [each["where"] for each in problem] == ["its keys"] and "conv:c1:novel" in problem[0]["reason"]
    run("import_source", store)
    assert run("scan", "c1", "--json").json["source"]["problems"] == problem


def test_a_store_that_holds_a_key_twice_is_read_and_never_repaired(store: Path, tmp_path: Path) -> None:
    twice = tmp_path / "twice.db"
    with closing(sqlite3.connect(twice)) as connection, connection:
        connection.execute("ATTACH ? AS other", (str(store),))
        connection.execute("CREATE TABLE kv (namespace TEXT, key TEXT, value TEXT)")
        connection.execute("INSERT INTO kv SELECT * FROM other.kv UNION ALL SELECT * FROM other.kv WHERE key LIKE '%chunk:0000000001'")
    before = held(tmp_path)
    assert run("scan", twice).status == 1
    for how in (RENUMBER, ("--for", "openai-chat")):
        ran = run("repair", twice, *how, "--plan")
        assert ran.status == 2 and "two records under the key conv:1a997b08" in ran.err and ran.err.count("\n") == 1
    assert held(tmp_path) == before


def test_a_plan_says_in_words_what_it_leaves_behind(tmp_path: Path) -> None:
    """Removing the last row in place leaves the counter one above it: a note, and it has to be read before the approval."""
    row = '{{"chunk":{},"role":"{}","msgIdx":0,"chunkIdx":0}}'
    rows = [row.format('{"type":"text","text":"go"}', "user"), row.format('{"type":"error","message":"no"}', "assistant")]
    keys = [("conversation-store", f"conv:c1:chunk:{seq:010d}", value) for seq, value in enumerate(rows, start=1)]
    store = make(tmp_path / "dispatch.db", [*keys, ("conversation-store", "conv:c1:seq", "2")])
    ran = run("repair", store, "--strategy", "strip-error-chunks", "--mode", "in-place", "--plan")
    assert "after: STORE202" in ran.out and "The counter says 2, the last row is seq 1" in ran.out
    ran = run("repair", store, "--strategy", "strip-error-chunks", "fix-counter", "--mode", "in-place", "--plan")
    assert ran.status == 0 and "STORE202" not in ran.out


def test_the_folder_that_one_is_in_is_imported_and_an_empty_path_is_not_taken_for_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("import_source", "scan"):
        ran = run(command, "")
        assert ran.status == 2 and ran.err.startswith("The path is empty: name a file or a folder") and ran.err.count("\n") == 1
    ran = run("import_source", ".")
    assert (ran.status, ran.err) == (0, "") and f"{store}: 1 conversation" in ran.out
