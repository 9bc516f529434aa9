"""Values over the limit of one value: reported, not read and never lost; what is next to them is read and repaired."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inspector.checking import check_all
from inspector.models import Conversation
from inspector.programs.catalogue import format_named
from inspector.programs.formats import TOO_LARGE, Cell, Change
from inspector.sources import reading, sqlite
from inspector.sources.places import place
from inspector.sources.problems import LargeValue, SourceProblem
from inspector.text import jsontext, limits
from tests.actions.building import chunk_key, make, merged, put, row
from tests.commands.running import run
from tests.programs.pi_openclaw.session_files import header, lines, u
from tests.programs.pi_openclaw.sqlite_stores import events, open_store, window

SMALL = 10_000


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGEST_VALUE", SMALL)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One row over the limit between others, and one of exactly the last length that is read."""
    path = tmp_path / "dispatch.db"
    make(path, merged().values)
    put(path, chunk_key(50), row("x" * SMALL, msg_idx=50))
    put(path, chunk_key(51), row("after it", msg_idx=51))
    put(path, chunk_key(52), row("y" * (SMALL - 1_000), msg_idx=52))
    return path


def test_a_row_over_the_limit_is_reported_and_the_others_are_read(store: Path) -> None:
    (stored,) = reading.read_store(place(str(store))).conversations
    shown = {chunk.seq: (chunk.damage, len(chunk.raw)) for chunk in stored.conversation.chunks if chunk.seq >= 50}
    assert shown[50] == (TOO_LARGE, 0) and shown[51][0] == shown[52][0] == "" and shown[52][1] > SMALL - 1_000
    (checked,) = check_all(store)
    (finding,) = [finding for finding in checked.findings if finding.code == "STORE101"]
    assert "INSPECTOR_LARGEST_VALUE" in finding.message and finding.seqs == (50,)


@pytest.mark.django_db
def test_it_is_never_written_over(store: Path) -> None:
    before = store.read_bytes()
    run("import_source", store)
    ran = run("repair", Conversation.objects.get().oid, "--strategy", "replace-unreadable-row", "--apply", "--yes")
    assert ran.status == 2 and ran.err.count("\n") == 1, (ran.out, ran.err)
    assert store.read_bytes() == before


def test_no_write_takes_it_away(store: Path) -> None:
    key = chunk_key(50)
    table = format_named("dispatch").table
    with pytest.raises(LargeValue, match="INSPECTOR_LARGEST_VALUE"):
        sqlite.commit(store, table, {}, {}, [Change(key, Cell(b"", TOO_LARGE), None)])


def test_an_expression_of_the_schema_that_makes_a_gigabyte_gets_no_memory(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("CREATE TABLE other (n, big GENERATED ALWAYS AS (hex(zeroblob(40000000))) VIRTUAL)")
        connection.execute("INSERT INTO other (n) VALUES (1)")
    with sqlite.snapshot(store) as snapshot, pytest.raises(SourceProblem, match="over what is read here"):
        list(snapshot.rows("other", ("n",), "length(hex(zeroblob(40000000))) > 0"))


@pytest.mark.parametrize(
    ("words", "damage"), [("x" * 20_000, TOO_LARGE), ("x" * (SMALL - 1_000), ""), ([{"type": "text", "text": ""}] * 200, TOO_LARGE)]
)
def test_a_line_over_the_limit_is_reported(words: object, damage: str, tmp_path: Path) -> None:
    path = tmp_path / "2026-09-21T14-13-20-000Z_s0001.jsonl"
    entry = u("u2", "u1", "go")
    entry["message"]["content"] = words
    path.write_bytes(lines(header(), u("u1", None, "hi"), entry, u("u3", "u2", "on")))
    (stored,) = reading.read_store(place(str(path))).conversations
    assert [chunk.damage for chunk in stored.conversation.chunks if chunk.seq == 2][:1] == [damage]
    assert any(chunk.text == "on" for chunk in stored.conversation.chunks)


def test_many_members_are_counted_before_they_are_read() -> None:
    with pytest.raises(jsontext.Unreadable, match="commas") as refused:
        jsontext.parse(json.dumps({str(number): number for number in range(100)}))
    assert refused.value.damage == TOO_LARGE
    assert len(jsontext.parse(json.dumps({str(number): number for number in range(70)}))) == 70


def opencode_store(path: Path, texts: list[str]) -> None:
    """A session for each text, of a user's message and an answer with it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE session (id TEXT PRIMARY KEY, project_id, parent_id, slug, directory, title, version, time_created, time_updated)"
        )
        connection.execute("CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created, time_updated, data)")
        connection.execute("CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data)")
        for number, text in enumerate(texts):
            session = f"ses_{number:026}"
            connection.execute("INSERT INTO session VALUES (?, 'p', NULL, 's', '/x', 't', '1.2.0', 1, 1)", (session,))
            for place, role, said in ((0, "user", "go"), (1, "assistant", text)):
                message = f"msg_{number:013}{place:013}"
                info = json.dumps({"role": role, "time": {"created": place}})
                part = json.dumps({"type": "text", "text": said})
                connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (message, session, place, place, info))
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (f"prt_{number:013}{place:013}", message, session, part))


def test_of_rows_one_conversation_is_not_read_and_the_others_are(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    opencode_store(path, ["first", "x" * SMALL, "y" * (SMALL - 1_000)])
    first, large, last = check_all(path)
    assert [finding.code for finding in large.findings] == ["STORE803"] and "INSPECTOR_LARGEST_VALUE" in large.verdict
    assert not large.passes or large.verdict.startswith("The conversation was not read")
    assert not [finding for checked in (first, last) for finding in checked.findings if finding.code == "STORE803"]


def test_another_conversation_is_shown_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    opencode_store(path, ["first", "x" * SMALL])
    ran = run("show", path, "--conversation", f"ses_{0:026}")
    assert ran.status == 0 and "first" in ran.out
    stored = reading.read_one(path, format_named("opencode"), f"ses_{1:026}")
    assert stored is not None and not stored.conversation.chunks


@pytest.mark.django_db
def test_an_import_of_rows_keeps_the_others_and_goes_on_when_the_limit_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "opencode.db"
    opencode_store(path, ["first", "x" * SMALL])
    for _ in range(2):
        assert run("import_source", path).status == 0
    rows = {row.native_id[-1]: row for row in Conversation.objects.all()}
    assert rows["0"].chunk_count == 2 and rows["1"].chunk_count == 0 and rows["1"].revision == 1
    assert rows["1"].verdict.startswith("The conversation was not read: it holds a value")
    assert [finding.code for finding in rows["1"].findings.filter(is_open=True)] == ["STORE803"]
    monkeypatch.setattr(limits, "LARGEST_VALUE", 2 * SMALL)
    run("import_source", path)
    assert Conversation.objects.get(pk=rows["1"].pk).chunk_count == 2


@pytest.mark.django_db
def test_of_a_folder_one_file_is_not_read_and_the_others_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ".pi" / "sessions"
    folder.mkdir(parents=True)
    for number, count in enumerate((1, 50)):
        entries = [u(f"u{place}", f"u{place - 1}" if place else None, "x" * 100) for place in range(count)]
        head = {**header(), "id": f"019c2e4b-0d18-7f02-9a6e-b7c3580e41d{number}"}
        (folder / f"2026-09-21T14-13-2{number}-000Z_s000{number}.jsonl").write_bytes(lines(head, *entries))
    monkeypatch.setattr(limits, "LARGEST_FILE", 5_000)
    small, large = check_all(folder)
    assert [finding.code for finding in large.findings] == ["STORE803"] and "INSPECTOR_LARGEST_FILE" in large.verdict
    assert "STORE803" not in [finding.code for finding in small.findings]
    assert run("import_source", folder).status == 0
    assert sorted(Conversation.objects.values_list("chunk_count", flat=True)) == [0, 1]


def old_dispatch_store(path: Path, texts: list[str]) -> None:
    """A tab for each text."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE tabs (id TEXT PRIMARY KEY, title)")
        connection.execute("CREATE TABLE chunks (id, tab_id TEXT, seq INTEGER, turn_id, step, role, type, data_json, created_at)")
        for number, text in enumerate(texts):
            connection.execute("INSERT INTO tabs VALUES (?, 't')", (f"tab{number}",))
            data = json.dumps({"text": text})
            connection.execute("INSERT INTO chunks VALUES ('c', ?, 0, 'turn', 0, 'user', 'text', ?, 1)", (f"tab{number}", data))


def openclaw_store(path: Path, texts: list[str]) -> None:
    """A session for each text."""
    with closing(open_store(path)) as connection:
        for number, text in enumerate(texts):
            entry = u("u1", None, text)
            events(connection, entry, session_id=f"tab{number}")
            window(connection, f"tab{number}", f"agent:main:{number}")
        # The connection that closes last takes the log along.
        connection.execute("PRAGMA journal_mode=DELETE")


@pytest.mark.django_db
@pytest.mark.parametrize("make_store", [old_dispatch_store, openclaw_store])
def test_of_stores_that_are_read_at_once_one_conversation_is_not_read_and_the_others_are(
    make_store: Callable[[Path, list[str]], None], tmp_path: Path
) -> None:
    path = tmp_path / "store.sqlite"
    make_store(path, ["first", "x" * SMALL, "y" * (SMALL - 1_000)])
    first, large, last = check_all(path)
    assert [finding.code for finding in large.findings] == ["STORE803"] and "INSPECTOR_LARGEST_VALUE" in large.verdict
    assert not [finding for checked in (first, last) for finding in checked.findings if finding.code == "STORE803"]
    for _ in range(2):
        assert run("import_source", path).status == 0
    assert [bool(row.chunk_count) for row in Conversation.objects.order_by("native_id")] == [True, False, True]


def test_a_large_value_of_no_conversation_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    old_dispatch_store(path, ["first"])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO chunks (tab_id, data_json) VALUES (NULL, ?)", ("x" * SMALL,))
    ran = run("scan", path)
    assert ran.status == 2 and "INSPECTOR_LARGEST_VALUE" in ran.err and ran.err.count("\n") == 1
