"""The same command again, after it was done or killed: one repair, one fork, and its id."""

from pathlib import Path
from typing import Any

import pytest

from inspector.actions import writing
from inspector.models import Conversation, Repair
from inspector.sources import stores
from tests.actions.building import again, approved, everything, merged, put, row
from tests.commands.running import run
from tests.sources.stores import make

pytestmark = pytest.mark.django_db
MODES = pytest.mark.parametrize("mode", ["in-place", "fork"])


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return make(tmp_path / "a.db", merged().values)


def command(store: Path, mode: str) -> list[object]:
    return ["repair", store, "--conversation", "c1", "--strategy", "renumber-messages", "--mode", mode, "--apply", "--json"]


def killed(store: Path, mode: str, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    def commit(*given: Any, **named: Any) -> float:
        if given[-1] is True:
            # The rehearsal, on a copy.
            return stores_commit(*given, **named)
        monkeypatch.undo()
        if after:
            stores.commit(*given, **named)
        raise Killed

    stores_commit = stores.commit
    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(Killed):
        run(*command(store, mode))


def conversations(store: Path) -> int:
    assert run("import_source", store).status == 0
    return Conversation.objects.filter(is_gone=False).count()


@MODES
@pytest.mark.parametrize("when", ["done", "killed before the write", "killed after the write"])
def test_the_same_command_again_is_the_same_repair(store: Path, mode: str, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(store)
    if when == "done":
        assert run(*command(store, mode)).status == 0
    else:
        killed(store, mode, monkeypatch, after=when == "killed after the write")
    again = run(*command(store, mode))
    assert again.status == 0 and again.json["state"] == "verified"
    repair = Repair.objects.get()
    assert again.json["repair"] == repair.oid and conversations(store) == (2 if mode == "fork" else 1)
    after = everything(store)
    third = run(*command(store, mode))
    assert third.status == 0 and third.json["repair"] == repair.oid and everything(store) == after
    assert run("undo", repair.oid).status == 0 and everything(store) == before


@MODES
def test_after_an_undo_the_same_command_is_a_repair_of_its_own(store: Path, mode: str) -> None:
    first = run(*command(store, mode)).json["repair"]
    run("undo", first)
    second = run(*command(store, mode))
    assert second.status == 0 and second.json["repair"] != first


def test_what_was_applied_before_is_said(store: Path) -> None:
    shown = [each for each in command(store, "in-place") if each != "--json"]
    assert "is verified" in run(*shown).out
    assert "was applied before, and nothing was written now" in run(*shown).out


def test_other_strategies_are_another_repair(store: Path) -> None:
    run(*command(store, "fork"))
    other = run("repair", store, "--conversation", "c1", "--strategy", "fix-counter", "--mode", "fork", "--apply")
    assert other.status == 1 and "fix-counter would change nothing" in other.err and "applied before" not in other.out


def test_a_new_conversation_that_went_on_is_not_written_a_second_time(store: Path) -> None:
    """Its users continue in the repaired conversation, which is what it is for."""
    first = run(*command(store, "fork")).json
    fork = Conversation.objects.exclude(native_id="c1").get().native_id
    put(store, f"conv:{fork}:chunk:0000000005", row("go on", msg_idx=9))
    after = everything(store)
    again = run(*[each for each in command(store, "fork") if each != "--json"])
    assert again.status == 0 and everything(store) == after and Repair.objects.count() == 1
    assert f"Repair {first['repair']} was applied before, and nothing was written now" in again.out
    assert (
        "chunk:0000000005 is new" in again.out and f"The repaired conversation is {fork}" in again.out and "Take it back" not in again.out
    )


@pytest.mark.parametrize("name", ["the database is new", "the store has another name"])
def test_a_new_conversation_of_another_database_or_name_is_not_written_a_second_time(store: Path, name: str) -> None:
    run(*command(store, "fork"))
    fork = Conversation.objects.exclude(native_id="c1").get().native_id
    if name == "the database is new":
        Repair.objects.all().delete()
        Conversation.objects.all().delete()
    else:
        store = store.rename(store.with_name("b.db"))
    after = everything(store)
    again = run(*command(store, "fork"))
    assert again.status == 2 and everything(store) == after
    assert f"The store holds the conversation {fork} already" in again.err and "Nothing was written" in again.err


def test_another_reading_of_the_same_bytes_is_another_new_conversation(store: Path) -> None:
    run(*command(store, "fork"))
    other = run(*command(store, "fork"), "--reader", "dispatch-role-split")
    assert other.status == 0 and Repair.objects.count() == 2 and conversations(store) == 3


@pytest.mark.parametrize("proposed_by", ["the command", "somebody on the pages"])
def test_a_command_that_is_refused_withdraws_only_what_it_proposed(store: Path, proposed_by: str) -> None:
    if proposed_by == "somebody on the pages":
        approved(again(store), "renumber-messages")
    store.with_name("other.db").hardlink_to(store)
    assert run(*command(store, "in-place")).status == 2
    state = Repair.State.REJECTED if proposed_by == "the command" else Repair.State.APPROVED
    assert Repair.objects.get().state == state


def test_apply_says_whether_an_applied_repair_is_still_in_the_store(store: Path) -> None:
    old = store.read_bytes()
    oid = run(*command(store, "fork")).json["repair"]
    again = run("apply", oid)
    assert again.status == 0 and f"Repair {oid} was applied before, and nothing was written now. The store holds exactly" in again.out
    store.write_bytes(old)
    overwritten = run("apply", oid)
    assert overwritten.status == 1 and "Another program overwrote this repair" in overwritten.out
    assert "every finding as previewed" not in overwritten.out and store.read_bytes() == old
    as_json = run("apply", oid, "--json")
    assert as_json.status == 1 and as_json.json["holds"] is False


@MODES
@pytest.mark.parametrize("after", [False, True])
def test_apply_by_its_id_settles_what_was_killed(store: Path, mode: str, after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(store)
    killed(store, mode, monkeypatch, after)
    oid = Repair.objects.get().oid
    applied = run("apply", oid, "--json")
    assert applied.status == 0 and applied.json["state"] == "verified"
    assert run("apply", oid).status == 0 and run("verify", oid).status == 0
    assert run("undo", oid).status == 0 and everything(store) == before
    refused = run("apply", oid)
    assert refused.status == 2 and "This repair is undone; only an approved one can be applied" in refused.err


def test_apply_needs_an_approval(store: Path, settings: Any) -> None:
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    assert run(*command(store, "fork")).status == 2
    refused = run("apply", Repair.objects.get().oid)
    assert refused.status == 2 and "only an approved one can be applied" in refused.err
