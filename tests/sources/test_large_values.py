"""Values over the limit of one value: reported, not read and never lost; what is next to them is read and repaired."""

import json
import sqlite3
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
