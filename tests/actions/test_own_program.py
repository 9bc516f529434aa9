"""A store that only its own program writes to: the program imports what was approved, deletes it to undo that, and what it did in part is settled."""

import html
import re
import shlex
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.actions import writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.kept_previews import kept_preview
from inspector.actions.planning import request_for, request_of
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.settling import settle_all
from inspector.actions.undo_repair import AT_WORK, undo_repair, verify_repair
from inspector.models import Conversation, Repair, loading
from inspector.programs.formats import Change
from inspector.programs.opencode.format import OPENCODE
from inspector.sources import own_program
from tests.actions.building import WHO, approved, bring, proposed, run
from tests.actions.test_repair_crash import Killed
from tests.commands.running import run as run_command
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
    with pytest.raises(Refused, match=r"INSPECTOR_OPENCODE names it.*--out in place of --apply"):
        propose_repair(row, request_for(row.source, loading.stored(row), [STRATEGY], None), WHO)


def test_the_page_gives_the_command_that_writes_the_file(
    store: Path, monkeypatch: pytest.MonkeyPatch, client: Client, tmp_path: Path
) -> None:
    monkeypatch.setenv("INSPECTOR_OPENCODE", "off")
    monkeypatch.chdir(tmp_path)
    page = client.get(f"/conversations/{conversation(store).oid}/repairs/new/?strategy={STRATEGY}").content.decode()
    assert "Take it as a file" in page
    (command,) = re.findall(r'<pre class="type">(.*?)</pre>', page)
    _, arguments = html.unescape(command).split(" repair ")
    before = store.read_bytes()
    written = run_command("repair", *shlex.split(arguments))
    assert written.status == 0 and "opencode import FILE" in written.out and store.read_bytes() == before
    assert (tmp_path / "repaired.jsonl").read_bytes().startswith(b"{")


def test_a_child_that_came_since_is_not_deleted_with_its_parent(store: Path) -> None:
    repair = approved(conversation(store), STRATEGY, mode="fork")
    apply_repair(repair, WHO, interactive=True)
    columns = "id, project_id, parent_id, slug, directory, title, version"
    child = ("ses_child", "global", repair.options["fork_id"], "s", "/", "t", "1.18.33")
    run(store, f"INSERT INTO session ({columns}) VALUES ({', '.join(['CAST(? AS TEXT)'] * 7)})", *child)
    before = rows(store)
    with pytest.raises(Refused, match="would delete ses_child"):
        undo_repair(repair, WHO, interactive=True)
    assert rows(store) == before and repair.state == Repair.State.VERIFIED and not repair.intent


@pytest.mark.slow
def test_nobody_settles_what_the_program_still_does_when_its_inspector_is_gone(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, repair = rows(store), approved(conversation(store), STRATEGY, mode="fork")
    monkeypatch.setattr(own_program, "_WAIT", 0.1)
    monkeypatch.setenv("XDG_WAITS", "2")
    ended: list[Any] = []

    def commit(path: Path, form: Any, _: Any, __: Any, changes: list[Change], *___: Any) -> float:
        monkeypatch.setattr(writing.stores, "commit", whole_commit)
        (change,) = changes
        assert change.after is not None
        (store.parent / "import.json").write_bytes(change.after.data)
        command = [program(store.parent / "slow", "waits"), "import", store.parent / "import.json"]
        environment = {"OPENCODE_DB": str(store), "OPENCODE_DISABLE_PROJECT_CONFIG": "1", "XDG_WAITS": "2"}
        with own_program._turn(path, form) as lock:
            ended.append(subprocess.Popen(command, cwd=store.parent / "project", env=environment, pass_fds=lock))
        raise Killed

    whole_commit = writing.stores.commit
    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(Killed):
        apply_repair(repair, WHO, interactive=True)
    repair = Repair.objects.get()
    assert verify_repair(repair) == (False, AT_WORK) and repair.intent
    with pytest.raises(Refused, match=r"opencode is writing into .* for Inspector: look again in a moment"):
        apply_repair(repair, WHO, interactive=True)
    assert ended[0].wait() == 0
    assert verify_repair(repair)[0] and repair.state == Repair.State.VERIFIED and added(store, before) == WHOLE


def test_one_that_does_not_end_is_ended_with_all_that_it_started(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repair = approved(conversation(store), STRATEGY, mode="fork")
    before = store.read_bytes()
    monkeypatch.setattr(own_program, "_SECONDS", 1)
    monkeypatch.setenv("XDG_WAITS", "600")
    slow = program(store.parent / "slow", "waits")
    (store.parent / "opencode").write_text(f'#!/bin/sh\n"{slow}" "$@"\n')
    with pytest.raises(Refused, match="no answer in 1 seconds"):
        apply_repair(repair, WHO, interactive=True)
    # The turn of the program that was ended is over, and so is the program.
    with own_program._turn(store, OPENCODE):
        assert store.read_bytes() == before and not repair.intent


def test_what_a_session_may_do_is_in_the_new_one_too(store: Path) -> None:
    for column in ("permission", "model", "metadata"):
        run(store, f"ALTER TABLE session ADD COLUMN {column} text")
    run(store, "UPDATE session SET permission = CAST(? AS TEXT)", '[{"permission":"bash","pattern":"*","action":"deny"}]')
    repair = proposed(conversation(store), STRATEGY, mode="fork")
    (change,) = kept_preview(repair.conversation, repair.revision, request_of(repair)).changes
    assert change.after is not None and b'"permission":[{"action":"deny","pattern":"*","permission":"bash"}]' in change.after.data


def test_a_turn_that_cannot_be_taken_is_one_sentence(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repair = approved(conversation(store), STRATEGY, mode="fork")
    monkeypatch.setattr("tempfile.tempdir", str(store.parent / "missing"))
    with pytest.raises(Refused, match="which keeps others out, cannot be opened: No such file or directory"):
        apply_repair(repair, WHO, interactive=True)


def test_what_a_program_that_fails_prints_is_shown_from_both_ends(store: Path) -> None:
    repair = approved(conversation(store), STRATEGY, mode="fork")
    printed = f"Error: failed query {'insert ' * 100} database is locked"
    (store.parent / "opencode").write_text(f'#!/bin/sh\necho "{printed}" >&2\nexit 1\n')
    with pytest.raises(Refused, match=r"did not do it \(Error: failed query .* … .*database is locked\)"):
        apply_repair(repair, WHO, interactive=True)


def test_a_store_with_several_names_is_refused(store: Path) -> None:
    repair = approved(conversation(store), STRATEGY, mode="fork")
    (store.parent / "other.db").hardlink_to(store)
    with pytest.raises(Refused, match="2 names"):
        apply_repair(repair, WHO, interactive=True)


def test_a_session_of_a_folder_that_is_a_link_is_refused(store: Path) -> None:
    (store.parent / "link").symlink_to(store.parent / "project")
    run(store, "UPDATE session SET directory = CAST(? AS TEXT)", str(store.parent / "link"))
    with pytest.raises(Refused, match=r"link, which leads to .*project, and opencode would file the new one under that"):
        approved(conversation(store), STRATEGY, mode="fork")


def test_a_session_of_a_folder_that_is_not_here_is_refused(store: Path) -> None:
    run(store, "UPDATE session SET directory = CAST(? AS TEXT)", "/nowhere/at/all")
    with pytest.raises(Refused, match=r"of the folder /nowhere/at/all, which is not here.*make that folder, or write the file"):
        approved(conversation(store), STRATEGY, mode="fork")
