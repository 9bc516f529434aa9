"""A store that only its own program writes to: the program imports what was approved, deletes it to undo that, and what it did in part is settled."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.actions import writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.settling import settle_all
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import Conversation, Repair, loading
from inspector.programs.formats import Change
from inspector.sources import own_program
from tests.actions.building import WHO, approved, bring, run
from tests.actions.test_repair_crash import Killed
from tests.programs.opencode.importing import program
from tests.programs.opencode.stores import ID, KILLED, database

pytestmark = pytest.mark.django_db
STRATEGY = "insert-interrupted-result"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a killed session, of a folder that is there, and the program that writes to it."""
    folder = tmp_path / "project"
    folder.mkdir()
    path = Path(database(tmp_path, KILLED))
    run(path, "UPDATE session SET directory = CAST(? AS TEXT)", str(folder))
    monkeypatch.setenv("INSPECTOR_OPENCODE", str(program(tmp_path / "opencode")))
    return path


def conversation(store: Path) -> Conversation:
    bring(store)
    return Conversation.objects.select_related("source").get(native_id=ID)


def rows(store: Path) -> dict[str, set[Any]]:
    with closing(sqlite3.connect(store)) as connection:
        return {name: set(connection.execute(f"SELECT * FROM {name}")) for name in ("session", "message", "part", "credential")}


def added(store: Path, before: dict[str, set[Any]]) -> dict[str, int]:
    now = rows(store)
    assert all(rows <= now[name] for name, rows in before.items())
    return {name: len(now[name] - rows) for name, rows in before.items()}


WHOLE = {"session": 1, "message": 5, "part": 14, "credential": 0}
NOTHING = dict.fromkeys(WHOLE, 0)


def test_the_program_imports_what_was_approved_and_deletes_it_to_undo_that(store: Path) -> None:
    before, repair = rows(store), approved(conversation(store), STRATEGY, mode="fork")
    assert "Rehearsed by opencode itself in an empty store" in repair.rehearsal["sentence"] and added(store, before) == NOTHING
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and added(store, before) == WHOLE
    new = Conversation.objects.get(native_id=repair.options["fork_id"])
    assert not new.worst and new.title.endswith("(repaired)") and verify_repair(repair)[0]
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE and rows(store) == before
    assert repair.outcome == "Undone: opencode deleted the repaired conversation; every other one is as it was."


@pytest.mark.parametrize("stops", ["0", "3", "13"])
@pytest.mark.parametrize("settles", [apply_repair, undo_repair])
def test_what_was_imported_in_part_is_completed_or_taken_out(
    store: Path, stops: str, settles: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, repair = rows(store), approved(conversation(store), STRATEGY, mode="fork")

    def commit(path: Path, form: Any, _: Any, __: Any, changes: list[Change], *___: Any) -> float:
        monkeypatch.undo()
        monkeypatch.setenv("XDG_STOPS", stops)
        (change,) = changes
        stopping = own_program._Run(path, form.own_program, str(program(store.parent / "stopping", "stops")))
        assert change.after is not None
        with pytest.raises(own_program.ProgramFailed):
            stopping.put(form.folder_in(change.after), change.after)
        raise Killed

    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(Killed):
        apply_repair(repair, WHO, interactive=True)
    monkeypatch.setenv("INSPECTOR_OPENCODE", str(store.parent / "opencode"))
    assert added(store, before)["part"] == int(stops)
    repair = Repair.objects.get()
    (interrupted,) = settle_all()
    assert f"{repair.options['fork_id']}.json a part" in interrupted.sentence
    settles(repair, WHO, interactive=True)
    assert not repair.intent and added(store, before) == (WHOLE if settles is apply_repair else NOTHING)
    if settles is apply_repair:
        undo_repair(repair, WHO, interactive=True)
    assert rows(store) == before


@pytest.mark.parametrize(
    ("otherwise", "sentence"),
    [
        ("stops", "did not do it (exit status 9)"),
        ("changes what it imports", "imports something else than was planned"),
        ("brings the store to its shape", "has another shape than the opencode that is installed here gives its store"),
    ],
)
def test_a_program_that_does_something_else_writes_nothing(otherwise: str, sentence: str, store: Path) -> None:
    repair = approved(conversation(store), STRATEGY, mode="fork")
    before = store.read_bytes()
    program(store.parent / "opencode", otherwise)
    with pytest.raises(Refused) as refused:
        apply_repair(repair, WHO, interactive=True)
    assert sentence in str(refused.value) and store.read_bytes() == before
    assert repair.state == Repair.State.APPROVED and not repair.intent


def test_a_session_that_goes_on_is_not_deleted(store: Path) -> None:
    repair = approved(conversation(store), STRATEGY, mode="fork")
    apply_repair(repair, WHO, interactive=True)
    run(
        store,
        'INSERT INTO message VALUES (CAST(? AS TEXT), CAST(? AS TEXT), 9, 9, \'{"role":"user"}\')',
        "msg_new",
        repair.options["fork_id"],
    )
    with pytest.raises(Refused, match="went on after the repair"):
        undo_repair(repair, WHO, interactive=True)
    assert not verify_repair(repair)[0] and repair.state == Repair.State.VERIFIED


def test_a_session_that_was_deleted_is_closed(store: Path) -> None:
    before, repair = rows(store), approved(conversation(store), STRATEGY, mode="fork")
    apply_repair(repair, WHO, interactive=True)
    for name, column in (("session", "id"), ("message", "session_id"), ("part", "session_id")):
        run(store, f"DELETE FROM {name} WHERE {column} = CAST(? AS TEXT)", repair.options["fork_id"])
    assert rows(store) == before
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.OVERWRITTEN and rows(store) == before


@pytest.mark.parametrize("value", ["off", "{folder}/missing"])
def test_without_the_program_a_repair_is_a_file(value: str, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = conversation(store)
    monkeypatch.setenv("INSPECTOR_OPENCODE", value.format(folder=store.parent))
    with pytest.raises(Refused, match=r"INSPECTOR_OPENCODE names it.*--out NEW.json"):
        propose_repair(row, request_for(row.source, loading.stored(row), [STRATEGY], None), WHO)


def test_a_session_of_a_folder_that_is_not_here_is_refused(store: Path) -> None:
    run(store, "UPDATE session SET directory = CAST(? AS TEXT)", "/nowhere/at/all")
    with pytest.raises(Refused, match=r"of the folder /nowhere/at/all, which is not here.*make that folder, or write the file"):
        approved(conversation(store), STRATEGY, mode="fork")
