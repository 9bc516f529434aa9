"""A store without WAL, and a process that was killed while it wrote: the rollback journal waits, and every reader is kept out until it is rolled back."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.apply_repair import apply_repair
from inspector.actions.planning import preview_repair
from inspector.actions.problems import Refused
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.actions.writing import keep
from inspector.models import Repair
from tests.actions.building import WHO, approved, everything, imported, merged
from tests.commands.running import run

pytestmark = pytest.mark.django_db

# More than the cache holds: SQLite syncs the journal and writes pages into the file before the end of the transaction.
KILLED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size=1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE kv SET value = 'half written'")
for number in range(400):
    connection.execute("INSERT INTO kv VALUES ('filler', ?, ?)", (f"{number:04}", "x" * 4000))
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_writer(path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    journal = path.with_name(path.name + "-journal")
    assert journal.exists() and journal.read_bytes()[:1] != b"\0" and b"half written" in path.read_bytes()


def in_delete_mode(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
    connection.close()


@pytest.fixture(params=["in-place", "fork"])
def interrupted(tmp_path: Path, request: pytest.FixtureRequest) -> Repair:
    """Killed by our own write: the intent is open."""
    path = tmp_path / "a.db"
    repair = approved(imported(path, merged()), "renumber-messages", mode=request.param)
    in_delete_mode(path)
    keep(repair, preview_repair(repair).changes)
    Repair.objects.update(intent=Repair.Intent.APPLY, applied_by=WHO)
    killed_writer(path)
    return Repair.objects.select_related("conversation__source").get()


@pytest.fixture
def original(tmp_path: Path) -> list[tuple[object, ...]]:
    path = tmp_path / "same.db"
    imported(path, merged())
    return everything(path)


def test_reading_says_what_is_needed_and_changes_nothing(interrupted: Repair, client: Client) -> None:
    path = Path(interrupted.conversation.source.path)
    before = path.read_bytes()
    for command in (["scan", path], ["show", path], ["import_source", path], ["repair", path, "--strategy", "renumber-messages", "--plan"]):
        ran = run(*command)
        assert ran.status == 2 and f"undo {interrupted.oid}` rolls it back" in ran.err and "start and stop" not in ran.err
    for page in ("/", f"/repairs/{interrupted.oid}/", f"/conversations/{interrupted.conversation.oid}/"):
        assert "rolls it back and applies the repair" in client.get(page).content.decode()
    holds, sentence = verify_repair(interrupted)
    assert not holds and "half-finished write" in sentence
    assert path.read_bytes() == before and path.with_name("a.db-journal").exists()


def test_apply_rolls_it_back_and_writes(interrupted: Repair, original: list[tuple[object, ...]]) -> None:
    path = Path(interrupted.conversation.source.path)
    apply_repair(interrupted, WHO, interactive=True)
    assert interrupted.state == Repair.State.VERIFIED and verify_repair(interrupted)[0]
    undo_repair(interrupted, WHO, interactive=True)
    assert everything(path) == original


def test_undo_rolls_it_back(interrupted: Repair, original: list[tuple[object, ...]]) -> None:
    undo_repair(interrupted, WHO, interactive=True)
    assert interrupted.state == Repair.State.UNDONE and everything(Path(interrupted.conversation.source.path)) == original


def test_one_of_an_undo_is_rolled_back_too(tmp_path: Path, original: list[tuple[object, ...]]) -> None:
    path = tmp_path / "a.db"
    repair = approved(imported(path, merged()), "renumber-messages", mode="in-place")
    in_delete_mode(path)
    apply_repair(repair, WHO, interactive=True)
    Repair.objects.update(intent=Repair.Intent.UNDO, undone_by=WHO)
    killed_writer(path)
    repair.refresh_from_db()
    undo_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.UNDONE and everything(path) == original


@pytest.mark.parametrize("act", [apply_repair, undo_repair])
def test_a_journal_of_another_program_is_left_to_that_program(tmp_path: Path, act: object) -> None:
    path = tmp_path / "a.db"
    repair = approved(imported(path, merged()), "renumber-messages", mode="in-place")
    in_delete_mode(path)
    if act is undo_repair:
        apply_repair(repair, WHO, interactive=True)
    killed_writer(path)
    before = path.read_bytes()
    with pytest.raises(Refused, match="start and stop the program that owns it"):
        act(repair, WHO, interactive=True)  # type: ignore[operator]
    assert path.read_bytes() == before and path.with_name("a.db-journal").exists()


def test_a_journal_that_our_intent_does_not_explain_is_left_to_its_program(interrupted: Repair) -> None:
    path = Path(interrupted.conversation.source.path)
    kept = interrupted.changes.filter(element="").first()
    assert kept is not None
    # The store was another one when that write began.
    if kept.before is None:
        interrupted.changes.filter(element="").update(before=b"something", before_type="text")
    else:
        interrupted.changes.filter(element="").update(before=b"something else")
    before = path.read_bytes()
    for act in (apply_repair, undo_repair):
        with pytest.raises(Refused, match="half-finished write of another program"):
            act(interrupted, WHO, interactive=True)
    assert path.read_bytes() == before and path.with_name("a.db-journal").exists()
