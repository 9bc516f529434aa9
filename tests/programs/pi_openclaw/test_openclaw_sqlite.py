"""OpenClaw's SQLite store: a session is its rows, read as the lines of a session file would be; damage is named and the store never written."""

import json
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import CommandError, call_command

from inspector.conversation.model import Conversation, Kind
from inspector.programs.catalogue import FORMATS
from inspector.programs.formats import Cell, Record, Shape
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.openclaw_sqlite import OPENCLAW_SQLITE
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.sources import reading, stores
from tests.programs.pi_openclaw.session_files import HEADER, a, call, entry, lines, r, records, text, u
from tests.programs.pi_openclaw.sqlite_stores import (
    ID,
    KEY,
    NOW,
    event,
    events,
    index,
    insert,
    node,
    one,
    open_store,
    read,
    whole_store,
    window,
)

pytestmark = pytest.mark.only_settles

ENTRIES = (u("u1", None), a("a1", "u1", text("I look"), call("c1", command="ls")), r("r1", "a1", "c1"), u("u2", "r1", "and now?"))
BRANCHED = (u("u1", None), a("a1", "u1", call("c1")), r("r1", "a1", "c1"), u("u2", "a1", "go on"))
BIG = u("u2", "r1", "a long question " * 200)


def packed(value: Any) -> bytes:
    return bytes(zstandard.ZstdCompressor(level=3).compress(lines(value)[:-1]))


def pack(connection: sqlite3.Connection, seq: int, value: Any, frame: bytes | None = None) -> None:
    plain = lines(value)[:-1]
    event(connection, seq, None, event_zstd=frame or packed(value), event_utf8_bytes=len(plain), navigation_json='{"version":1}')


def fact(found: Conversation, name: str) -> str:
    return found.fact(name) or ""


def damages(found: Conversation) -> dict[int | None, str]:
    return {chunk.msg_idx: chunk.damage for chunk in found.chunks if chunk.kind is Kind.UNREADABLE}


def test_rows_are_read_into_the_same_chunks_as_the_lines_of_a_session_file(tmp_path: Path) -> None:
    found = one(whole_store(tmp_path / "s.sqlite", *ENTRIES))
    (as_file,) = OPENCLAW.read(records({"s.jsonl": lines(HEADER, *ENTRIES)}))
    assert found.chunks == as_file.conversation.chunks
    assert [chunk.key for chunk in found.chunks] == ["u1.0", "a1.0", "a1.1", "r1.0", "u2.0"]


def test_what_the_store_says_of_a_session_are_facts_of_their_rows(tmp_path: Path) -> None:
    found = one(whole_store(tmp_path / "s.sqlite", *ENTRIES))
    wanted = {"schema": "23", "sessionKey": KEY, "windowReason": "initial", "status": "done", "label": "Nightly run"}
    wanted |= {"storedLeaf": "u2", "needsRebuild": "0", "generation": "0f" * 16, "identities": "4", "activeEvents": "4"}
    # The last answer on the path names its model, and the window the one that it was begun with.
    wanted |= {"model": "m", "provider": "anthropic", "stopReason": "toolUse", "lastLeaf": "u2", "reachable": "4/4", "version": "4"}
    assert {name: found.fact(name) for name in wanted} == wanted
    assert found.title == "Nightly run"
    assert found.facts["storedLeaf"].key == f"session_transcript_index_state:{ID}"
    assert {"index", "headerProblem", "gaps", "schemaProblem", "leaf"} & found.facts.keys() == set()


def test_a_store_of_schema_4_has_its_sessions_in_other_tables(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite", 4)) as connection:
        insert(connection, "sessions", session_id=ID, session_key=KEY, created_at=NOW, updated_at=NOW, status="killed", model="m4")
        insert(connection, "session_entries", session_key=KEY, session_id=ID, entry_json="{}", updated_at=NOW)
        events(connection, u("u1", None), version=3)
    found = one(tmp_path / "s.sqlite")
    assert [chunk.key for chunk in found.chunks] == ["u1.0"]
    assert (found.fact("schema"), found.fact("status"), found.fact("model"), found.fact("sessionKey")) == ("4", "killed", "m4", KEY)
    assert found.fact("index") is None


def test_a_store_of_schema_19_is_read_without_the_tables_of_later_ones(tmp_path: Path) -> None:
    found = one(whole_store(tmp_path / "s.sqlite", *ENTRIES, schema=19))
    assert (len(found.chunks), found.fact("schema"), found.fact("storedLeaf")) == (5, "19", "u2")


def test_two_places_that_name_the_schema_and_differ_are_said(tmp_path: Path) -> None:
    path = whole_store(tmp_path / "s.sqlite", *ENTRIES)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=19")
    assert "schema_meta says schema 23, and user_version says 19" in fact(one(path), "schemaProblem")


def test_a_packed_event_is_the_entry_that_was_packed(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        events(connection, *ENTRIES[:3])
        pack(connection, 4, BIG)
    found = one(tmp_path / "s.sqlite")
    assert (found.chunks[-1].text, found.chunks[-1].raw) == (BIG["message"]["content"], lines(BIG)[:-1])
    assert found.fact("lastLeaf") == "u2"


@pytest.mark.parametrize("spoil", ["torn", "bomb", "unsized bomb", "extra", "noise"])
def test_a_packed_event_that_cannot_be_unpacked_keeps_its_place(tmp_path: Path, spoil: str) -> None:
    good = packed(BIG)
    bomb, compressor = "x" * (5 << 20), zstandard.ZstdCompressor(write_content_size=False)
    unsized = compressor.compress(bomb.encode())
    frame = {"torn": good[:-9], "bomb": packed(bomb), "unsized bomb": unsized, "extra": good + b"more", "noise": b"no frame at all"}[spoil]
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        events(connection, *ENTRIES[:3])
        pack(connection, 4, BIG, frame)
        event(connection, 5, u("u3", "u2"))
    found = one(tmp_path / "s.sqlite")
    assert damages(found) == {4: "bad-zstd"}
    (chunk,) = (chunk for chunk in found.chunks if chunk.damage)
    assert chunk.reason.endswith("(row 4 of transcript_events)") and "event_zstd" in chunk.reason
    assert fact(found, "lines-bad-zstd").startswith("1 (row 4;")
    assert found.chunks[-1].key == "u3.0"


def test_packed_events_that_are_too_much_together_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.programs.pi_openclaw.openclaw_events.MOST_OF_ALL", 2 * len(lines(BIG)))
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        events(connection, *ENTRIES[:3])
        for seq in (4, 5, 6):
            pack(connection, seq, BIG)
    assert damages(one(tmp_path / "s.sqlite")) == {6: "bad-zstd"}


def test_a_packed_event_of_another_size_than_its_row_says_is_damaged(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        events(connection)
        event(connection, 1, None, event_zstd=packed(BIG), event_utf8_bytes=7)
    assert damages(one(tmp_path / "s.sqlite")) == {1: "bad-zstd"}


def test_rows_that_hold_no_event_or_two_are_unreadable_and_hide_no_other(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        events(connection, u("u1", None))
        event(connection, 2, None)
        event(connection, 3, u("x", "u1"), event_zstd=b"both", event_utf8_bytes=4)
        event(connection, 4, "  ")
        event(connection, 5, '{"type":"message","id":"t')
        event(connection, 6, '{"type":"custom",\n"broken')
        event(connection, 7, u("u2", "u1"))
    found = one(tmp_path / "s.sqlite")
    assert damages(found) == {2: "no-payload", 3: "two-payloads", 4: "blank", 5: "torn", 6: "not-json"}
    assert [chunk.key for chunk in found.chunks if not chunk.damage] == ["u1.0", "u2.0"]
    assert [chunk.seq for chunk in found.chunks] == list(range(1, 8))
    assert b"both".hex().encode() in found.chunks[2].raw


def test_an_event_on_several_lines_is_one_entry_with_its_own_bytes(tmp_path: Path) -> None:
    spelled = json.dumps(u("u1", None), indent=1)
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        events(connection)
        event(connection, 1, spelled)
    (chunk,) = one(tmp_path / "s.sqlite").chunks
    assert (chunk.key, chunk.text, chunk.raw) == ("u1.0", "go", spelled.encode())


def test_seqs_that_no_row_has_are_said_and_entries_keep_the_seq_of_their_row(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        events(connection, u("u1", None))
        event(connection, 3, u("u2", "u1"))
        event(connection, 10**12, u("u3", "u2"))
    found = one(tmp_path / "s.sqlite")
    assert [chunk.msg_idx for chunk in found.chunks] == [1, 3, 10**12]
    assert fact(found, "gaps") == "no row has seq 2, 4-999999999999: OpenClaw leaves none out"


def test_a_seq_that_is_no_number_from_0_on_makes_no_entry_of_its_row(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # What a tool made that copied rows into tables without types and keys.
        connection.execute("CREATE TABLE session_windows (session_id, session_key)")
        connection.execute("CREATE TABLE schema_meta (meta_key, schema_version)")
        connection.execute("CREATE TABLE transcript_events (session_id, seq, event_json)")
        connection.execute("CREATE TABLE transcript_event_identities (session_id, event_id, seq)")
        for seq, value in ((0, HEADER), (1, u("u1", None)), (1, u("twice", None)), (-1, u("below", None)), ("two", u("word", None))):
            connection.execute("INSERT INTO transcript_events VALUES (?, ?, ?)", (ID, seq, lines(value)[:-1].decode()))
        connection.execute("INSERT INTO transcript_events VALUES (?, 2, 7)", (ID,))
        connection.execute("INSERT INTO transcript_events VALUES (NULL, x'00', 1.5)")
    found = one(path)
    assert [(chunk.msg_idx, chunk.damage) for chunk in found.chunks] == [(1, ""), (2, "wrong-type"), *[(None, "wrong-seq")] * 3]
    assert set(read(path)) == {ID, ""}
    assert reading.read_store(path).format is OPENCLAW_SQLITE


def test_an_index_that_says_something_else_than_the_events_is_said(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        events(connection, *BRANCHED)
        index(connection, "r1", 4, (1, 2, 3), active_event_count=9)
        connection.execute("UPDATE transcript_event_identities SET event_id = 'other' WHERE seq = 2")
    said = fact(one(tmp_path / "s.sqlite"), "index")
    assert "names the leaf r1, the events end with u2" in said
    assert "counts 9 active events, and there are 3 rows" in said
    assert "1 of 4 rows of transcript_event_identities name another id than the event has: other at seq 2." in said


def test_an_index_that_waits_to_be_rebuilt_may_say_something_else(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        events(connection, *BRANCHED)
        index(connection, "r1", 3, (1, 2), needs_rebuild=1)
    found = one(tmp_path / "s.sqlite")
    assert (found.fact("index"), found.fact("needsRebuild"), found.fact("storedLeaf")) == (None, "1", "r1")


def test_an_index_that_ends_early_is_said(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        events(connection, *BRANCHED)
        index(connection, "r1", 3)
    assert fact(one(tmp_path / "s.sqlite"), "index") == "The index ends at seq 3, the events at 4, and no rebuild is due."


def test_archives_and_inputs_that_wait_are_named(tmp_path: Path) -> None:
    name, sha = "ab" * 32 + ".jsonl.zst", "ab" * 32
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        node(connection, archived_at=NOW)
        about = {"session_id": ID, "generation": "g", "archive_name": name, "archive_sha256": sha, "event_count": 1234, "raw_bytes": 1}
        insert(connection, "session_transcript_cold_archives", **about, archive_bytes=1, last_seq=9, archived_at=NOW, storage="file")
        about = {"session_id": ID, "generation": "g", "session_key": KEY, "reason": "reset", "encoding": "zstd", "archive_blob": b"secret"}
        insert(connection, "session_transcript_archives", **about, archive_sha256=sha, archive_name="old.jsonl", created_at=NOW)
        for number, state in enumerate(("queued", "queued", "interrupted")):
            about = {"input_id": f"i{number}", "session_key": KEY, "session_id": ID, "message_json": "{}"}
            insert(connection, "session_pending_inputs", **about, state=state, accepted_at=NOW)
    found = one(tmp_path / "s.sqlite")
    assert found.chunks == ()
    assert fact(found, "coldArchive").startswith(f"{name}, 1,234 events in the folder sessions/cold next to it")
    assert (fact(found, "archives"), fact(found, "archived")) == ("old.jsonl (reset)", str(NOW))
    assert fact(found, "pendingInputs").startswith("3 (1 interrupted, 2 queued)")
    assert "holds no event" in fact(found, "headerProblem")
    (trouble,) = (each for each in findings(case_of(found, "openclaw-2026.9"), RULES) if each.code == "STORE507")
    assert "look for the archive" in trouble.no_repair_reason and "header line" not in trouble.no_repair_reason


def test_credentials_and_archived_bodies_of_the_same_file_are_not_read(tmp_path: Path) -> None:
    path = whole_store(tmp_path / "s.sqlite", *ENTRIES)
    assert all(b"not-to-be-read" not in record.value.data for record in stores.records(path, OPENCLAW_SQLITE))


def test_every_window_of_a_session_key_is_a_session_and_the_key_names_the_current_one(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        window(connection, "second", reason="reset", previous_session_id=ID, status="done")
        node(connection, "second", label="Second")
        node(connection, "gone", "agent:main:other", entry_json="{broken")
        events(connection, *ENTRIES)
        events(connection, u("b1", None), session_id="second")
    found = read(tmp_path / "s.sqlite")
    assert sorted(found) == [ID, "gone", "second"]
    first, second, gone = (found[name].conversation for name in (ID, "second", "gone"))
    assert (first.fact("currentSession"), first.fact("status")) == ("second", "running")
    assert (second.fact("previousSession"), second.fact("status"), second.title) == (ID, "done", "Second")
    assert "No row of session_windows names this session" in fact(gone, "index")
    assert "entry_json cannot be read" in fact(gone, "entryProblem")


def test_a_session_read_again_from_its_own_records_is_the_same_but_for_facts_of_the_store(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "s.sqlite")) as connection:
        window(connection)
        window(connection, "second")
        node(connection, "second")
        events(connection, *ENTRIES)
    for stored in read(tmp_path / "s.sqlite").values():
        (again,) = OPENCLAW_SQLITE.read(stored.records)
        own = {record.key for record in stored.records}
        assert [record.key for record in stored.records] == sorted(own)
        shared = {name for name, each in stored.conversation.facts.items() if each.key not in own}
        kept = {name: each for name, each in stored.conversation.facts.items() if name not in shared}
        assert again == replace(stored, conversation=replace(stored.conversation, facts=kept))
        assert shared <= {"schema", "currentSession"}


def test_events_in_a_wal_of_a_running_gateway_are_read_and_the_store_stays_as_it_is(tmp_path: Path) -> None:
    path = whole_store(tmp_path / "s.sqlite", *ENTRIES)
    with closing(sqlite3.connect(path, isolation_level=None)) as gateway:
        event(gateway, 5, u("u3", "u2", "from the log"))
        before = {each.name: each.read_bytes() for each in tmp_path.iterdir() if not each.name.endswith("-shm")}
        assert "s.sqlite-wal" in before and b"from the log" not in before["s.sqlite"]
        assert one(path).chunks[-1].text == "from the log"
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir() if not each.name.endswith("-shm")} == before


def test_other_sqlite_stores_are_not_taken_for_one_of_openclaw() -> None:
    others: tuple[dict[str, tuple[str, ...]], ...] = (
        {"chunks": ("id", "tab_id", "seq", "turn_id", "data_json"), "tabs": ("id",)},
        {"kv": ("namespace", "key", "value")},
        {"transcript_events": ("seq", "session_key", "kind", "payload", "at"), "session_heads": ("session_key",)},
        {"transcript_events": ("session_id", "seq", "event_json"), "sessions": ("id", "title")},
        {"session_windows": ("session_id", "session_key"), "schema_meta": ("schema_version",)},
        {},
    )
    assert [OPENCLAW_SQLITE.sniff(Shape(b"", tables)) for tables in others] == [0.0] * len(others)


@pytest.mark.parametrize("schema", [4, 19, 23])
def test_its_own_stores_are_told_from_all_other_formats(tmp_path: Path, schema: int) -> None:
    open_store(tmp_path / "s.sqlite", schema).close()
    shape = stores.identify(tmp_path / "s.sqlite")
    assert [found.name for found in FORMATS if found.sniff(shape) > 0] == ["openclaw-sqlite"]


def test_openclaws_leaf_rows_choose_the_path_of_the_default_reader(tmp_path: Path) -> None:
    chosen = entry("leaf", "l1", "u2", targetId="r1")
    case = case_of(one(whole_store(tmp_path / "s.sqlite", *BRANCHED, chosen)), "openclaw-2026.9")
    assert [chunk.key for chunk in case.conversation.chunks] == ["u1.0", "a1.0", "r1.0"]


def test_a_large_store_is_read_in_linear_time() -> None:
    def seconds(count: int) -> float:
        rows = [
            Record(
                "transcript_events:s:0000000000", Cell(json.dumps({"session_id": "s", "seq": 0, "event_json": json.dumps(HEADER)}).encode())
            )
        ]
        for seq in range(1, count):
            event_json = json.dumps(u(f"e{seq}", f"e{seq - 1}" if seq > 1 else None))
            rows.append(
                Record(
                    f"transcript_events:s:{seq:010d}", Cell(json.dumps({"session_id": "s", "seq": seq, "event_json": event_json}).encode())
                )
            )
        start = time.process_time()
        (found,) = OPENCLAW_SQLITE.read(rows)
        assert len(found.conversation.chunks) == count - 1
        return time.process_time() - start

    # Eight times the rows; what is quadratic takes sixty-four times as long.
    assert seconds(16_000) < 24 * max(seconds(2_000), 0.02)


@pytest.mark.django_db
def test_a_repair_is_written_as_a_new_session_file_that_openclaw_reads(tmp_path: Path) -> None:
    path, out = whole_store(tmp_path / "s.sqlite", *BRANCHED), tmp_path / "repaired.jsonl"
    before = path.read_bytes()
    call_command("repair", str(path), "--strategy", "insert-interrupted-result", "--out", str(out))
    assert path.read_bytes() == before
    (made,) = reading.read_store(out, "openclaw").conversations
    case = case_of(made.conversation, "openclaw-2026.9")
    assert [(chunk.role, chunk.kind.value) for chunk in case.conversation.chunks] == [
        *(("user", "text"), ("assistant", "tool-call"), ("tool", "tool-result"), ("user", "text"))
    ]
    header = json.loads(out.read_bytes().split(b"\n")[0])
    assert (header["version"], header["parentSession"], header["cwd"]) == (3, str(path), HEADER["cwd"])
    assert header["id"] == made.conversation.native_id != ID


@pytest.mark.django_db
def test_the_plan_says_how_openclaw_gets_the_new_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = whole_store(tmp_path / "s.sqlite", *BRANCHED)
    call_command("repair", str(path), "--strategy", "insert-interrupted-result", "--plan", "--json")
    planned = json.loads(capsys.readouterr().out)
    fork = planned["request"]["options"]["fork_id"]
    (warning,) = (each for each in planned["warnings"] if "openclaw doctor --session-sqlite import" in each)
    assert f'{{"agent:main:explicit:{fork}": {{"sessionId": "{fork}", "updatedAt": ' in warning and f"as {fork}.jsonl" in warning


@pytest.mark.django_db
def test_packed_and_damaged_rows_stand_in_no_way_of_the_repaired_file(tmp_path: Path) -> None:
    path, out = tmp_path / "s.sqlite", tmp_path / "repaired.jsonl"
    with closing(open_store(path)) as connection:
        window(connection)
        events(connection, *ENTRIES[:3])
        pack(connection, 4, BIG)
        event(connection, 5, None)
        event(connection, 9, a("a2", "u2", call("c2")))
        event(connection, 10, u("u3", "a2"))
        event(connection, 11, entry("leaf", "l1", "u3", targetId="u3"))
    call_command("repair", str(path), "--strategy", "insert-interrupted-result", "--out", str(out))
    rows = [json.loads(each) for each in out.read_bytes().splitlines()[1:]]
    assert [(row["message"]["role"], row["parentId"]) for row in rows] == [
        *(("user", None), ("assistant", rows[0]["id"]), ("toolResult", rows[1]["id"]), ("user", rows[2]["id"])),
        *(("assistant", rows[3]["id"]), ("toolResult", rows[4]["id"]), ("user", rows[5]["id"])),
    ]
    assert rows[3] == BIG


@pytest.mark.django_db
def test_a_file_that_is_there_already_is_not_written_over(tmp_path: Path) -> None:
    path, out = whole_store(tmp_path / "s.sqlite", *BRANCHED), tmp_path / "repaired.jsonl"
    out.write_bytes(b"mine")
    with pytest.raises(CommandError, match=r"already there|exists"):
        call_command("repair", str(path), "--strategy", "insert-interrupted-result", "--out", str(out))
    assert out.read_bytes() == b"mine"


@pytest.mark.django_db
def test_a_repair_in_place_is_refused_with_the_way_that_works(tmp_path: Path) -> None:
    path = whole_store(tmp_path / "s.sqlite", *BRANCHED)
    before = path.read_bytes()
    with pytest.raises(CommandError, match=r"Nothing is written into OpenClaw's SQLite store.*--out in place of --apply"):
        call_command("repair", str(path), "--strategy", "insert-interrupted-result", "--apply")
    with pytest.raises(CommandError, match="it offers new-session"):
        call_command("repair", str(path), "--strategy", "insert-interrupted-result", "--mode", "in-place", "--plan")
    assert path.read_bytes() == before
