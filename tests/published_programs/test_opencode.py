"""What opencode 1.18.33 sends of sessions of ours that it imported: what our reader says of them, over three turns after a repair; and what it writes for us."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.actions import writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.undo_repair import undo_repair
from inspector.conversation.model import Reading
from inspector.models import Conversation, Repair
from inspector.programs.formats import Change
from inspector.programs.opencode.reader import INTERRUPTED, read
from inspector.projections.catalogue import projection
from inspector.sources.places import place
from inspector.sources.reading import read_store
from tests.actions.building import approved, bring
from tests.actions.test_repair_crash import Killed
from tests.programs.opencode.stores import CLEAN, DAMAGES, ID, KILLED, damage, database, whole
from tests.published_programs import opencode

SENT = opencode.kept()
FILES = opencode.files()


def request(reading: Reading) -> list[Any]:
    """Its client writes an empty text where ours writes null; every provider takes both."""
    values = projection("openai-chat+reasoning").project(reading.messages).values
    return [{**value, "content": ""} if value.get("content") is None else value for value in values]


@pytest.mark.parametrize("name", FILES)
def test_our_reader_gives_the_request_of_the_next_turn(name: str, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(FILES[name][1])
    (stored,) = read_store(place(str(path))).conversations
    assert request(read(stored.conversation)) == SENT[name][0]


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_row_gives_the_request_or_the_failure(name: str, tmp_path: Path) -> None:
    path = database(tmp_path, CLEAN)
    damage(path, *DAMAGES[name])
    (stored,) = read_store(place(path)).conversations
    reading = read(stored.conversation)
    assert bool(reading.failure) == (not SENT[name])
    assert not SENT[name] or request(reading) == SENT[name][0]


@pytest.mark.parametrize("name", [f"{name}, repaired" for name in opencode.REPAIRED])
def test_a_session_goes_on_without_the_broken_part(name: str) -> None:
    first, *later = SENT[name]
    assert len(later) == opencode.TURNS - 1 and all(messages[: len(first)] == first for messages in later)


@pytest.mark.parametrize("name", [f"{name}, repaired" for name in opencode.REPAIRS])
def test_a_repaired_session_goes_on_over_three_turns(name: str) -> None:
    first, *later = SENT[name]
    assert len(later) == opencode.TURNS - 1 and all(messages[: len(first)] == first for messages in later)
    answered = {message["tool_call_id"]: message["content"] for message in first if message["role"] == "tool"}
    assert answered.get("call_d", INTERRUPTED) == INTERRUPTED and "call_a" in answered


@pytest.mark.programs
def test_opencode_sends_again_what_is_kept() -> None:
    if reason := opencode.missing():
        pytest.skip(reason)
    assert opencode.ask() == SENT


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """opencode's own database, with a killed session that it imported in the folder of the project; Inspector writes through the same program."""
    if reason := opencode.missing():
        pytest.skip(reason)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("INSPECTOR_OPENCODE", str(opencode.PROGRAM))
    project, file = tmp_path / "project", tmp_path / "session.json"
    project.mkdir()
    value = whole(KILLED)
    file.write_text(json.dumps(value | {"info": value["info"] | {"directory": str(project)}}))
    path = tmp_path / "opencode.db"
    asked(path, project, "import", str(file))
    with closing(sqlite3.connect(path)) as connection, connection:
        # What opencode writes itself has its members in another order than what it imports.
        for table in ("message", "part"):
            for id_, data in connection.execute(f"SELECT id, data FROM {table}").fetchall():
                other = json.dumps(dict(reversed(json.loads(data).items())), separators=(",", ":"))
                connection.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (other, id_))
        rules = '[{"permission":"bash","pattern":"*","action":"deny"}]'
        connection.execute("UPDATE session SET permission = ?", (rules,))
    return path


def asked(store: Path, folder: Path, *words: str) -> None:
    surroundings = {**os.environ, "OPENCODE_DB": str(store), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    subprocess.run([str(opencode.PROGRAM), "--pure", *words], cwd=folder, env=surroundings, stdin=subprocess.DEVNULL, check=True)


def rows(store: Path) -> dict[str, set[object]]:
    """Every row of every table. opencode writes the time of each start into its projects."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if name != "project"]
        return {name: set(connection.execute(f'SELECT * FROM "{name}"')) for name in names}


def repair_of(store: Path) -> Repair:
    bring(store)
    return approved(Conversation.objects.select_related("source").get(native_id=ID), "insert-interrupted-result", mode="fork")


@pytest.mark.programs
@pytest.mark.django_db
def test_opencode_imports_a_repair_and_deletes_it_to_undo_it(store: Path) -> None:
    before, repair = rows(store), repair_of(store)
    assert rows(store) == before
    apply_repair(repair, "tester", interactive=True)
    assert repair.state == Repair.State.VERIFIED
    assert {name: len(now - before[name]) for name, now in rows(store).items() if now != before[name]} == {
        "session": 1,
        "message": 5,
        "part": 14,
    }
    undo_repair(repair, "tester", interactive=True)
    assert repair.state == Repair.State.UNDONE and rows(store) == before


@pytest.mark.programs
@pytest.mark.django_db
@pytest.mark.parametrize("settles", [apply_repair, undo_repair])
def test_what_opencode_imported_in_part_is_completed_or_deleted(
    settles: Callable[..., None], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, repair = rows(store), repair_of(store)

    def commit(_: object, __: object, ___: object, ____: object, changes: list[Change], *_____: object) -> float:
        monkeypatch.setattr(writing.stores, "commit", whole_commit)
        (change,) = changes
        assert change.after is not None
        value = json.loads(change.after.data)
        value["messages"] = value["messages"][:2]
        value["messages"][-1]["parts"] = value["messages"][-1]["parts"][:3]
        part = store.parent / "part.json"
        part.write_text(json.dumps(value))
        asked(store, store.parent / "project", "import", str(part))
        raise Killed

    whole_commit = writing.stores.commit
    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(Killed):
        apply_repair(repair, "tester", interactive=True)
    settles(repair := Repair.objects.get(), "tester", interactive=True)
    if settles is apply_repair:
        assert len(rows(store)["part"] - before["part"]) == 14 and repair.state == Repair.State.VERIFIED
        undo_repair(repair, "tester", interactive=True)
    assert rows(store) == before and repair.state == Repair.State.UNDONE
