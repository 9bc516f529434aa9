"""Two repairs with one plan: the store holds the write of one of them, and only that one is recorded as applied and can be undone."""

from pathlib import Path
from typing import Any

import pytest

from inspector.actions import undo_repair as undoing
from inspector.actions import writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.claim import AtWork, claimed
from inspector.actions.decide_repair import approve_repair, reject_repair
from inspector.actions.import_source import import_targets
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.settling import settle_one
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.demo.branch_incident import openclaw_files
from inspector.models import Conversation, Repair, loading
from inspector.sources import stores
from tests.actions.building import WHO, again, applied, approved, everything, imported, merged
from tests.commands.running import run
from tests.programs.rollouts.session_files import write
from tests.programs.rollouts.strategies.repaired_sessions import ERA_B, PARENT, call, line, session, text

pytestmark = pytest.mark.django_db

RENUMBER = "renumber-messages"


class Killed(BaseException):
    """The end of the process."""


def apply(repair: Repair) -> Repair:
    apply_repair(repair, WHO, interactive=True)
    return repair


def undo(repair: Repair) -> None:
    undo_repair(repair, WHO, interactive=True)


def test_what_another_repair_wrote_is_not_recorded_as_written_by_this_one(tmp_path: Path) -> None:
    """Two people propose and approve the same new conversation, and both apply."""
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    before = everything(path)
    first, second = (approved(conversation, RENUMBER, mode="fork") for _ in range(2))
    apply(first)
    after = everything(path)
    with pytest.raises(Refused, match=f"Repair {first.oid} wrote the conversation .* already, so nothing was written now"):
        apply(second)
    assert second.state == Repair.State.STALE and not second.applied_by and everything(path) == after
    assert verify_repair(first)[0] and not verify_repair(second)[0]
    undo(first)
    assert everything(path) == before


def test_a_write_that_was_refused_is_not_recorded_where_the_other_repair_wins_the_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other repair is written between the last look of this one and its transaction."""
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    first, second = (approved(conversation, RENUMBER, mode="fork") for _ in range(2))

    def commit(*given: Any, **named: Any) -> float:
        monkeypatch.undo()
        apply(first)
        return stores.commit(*given, **named)

    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(Refused, match="so nothing was written"):
        apply(second)
    assert (first.state, second.state) == (Repair.State.VERIFIED, Repair.State.STALE) and not second.applied_by


def test_a_killed_repair_is_not_settled_by_what_another_one_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    first, second = (approved(conversation, RENUMBER, mode="fork") for _ in range(2))

    def commit(*_: Any, **__: Any) -> float:
        monkeypatch.undo()
        raise Killed

    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(Killed):
        apply(second)
    apply(first)
    settle_one(second)
    assert second.state == Repair.State.APPROVED and not second.intent and not second.applied_by


@pytest.mark.parametrize("mode", ["in-place", "fork"])
def test_a_repair_that_was_overwritten_cannot_undo_the_one_that_was_written_after_it(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    old = path.read_bytes()
    first = applied(conversation, RENUMBER, mode=mode)
    path.write_bytes(old)
    second = applied(again(path), RENUMBER, mode=mode)
    first.refresh_from_db()
    assert first.state == Repair.State.OVERWRITTEN and "Another program overwrote this repair" in first.outcome
    with pytest.raises(Refused, match="only an applied one can be undone"):
        undo(first)
    assert verify_repair(second)[0]
    undo(second)


def test_of_two_repairs_in_place_the_later_one_is_undone_first(tmp_path: Path) -> None:
    """They change other rows, but the later one was planned on what the earlier one wrote, and its undo compares all of it."""
    path = tmp_path / "a.db"
    conversation = imported(path, {**merged().values, "conv:c1:seq": "99"})
    before = everything(path)
    first = applied(conversation, RENUMBER)
    second = applied(again(path), "fix-counter")
    assert verify_repair(first)[0] and verify_repair(second)[0]
    after = everything(path)
    with pytest.raises(
        Refused, match=f"Repair {second.oid} was applied to this conversation later and is still in the store: undo that one first"
    ):
        undo(first)
    holds, sentence = verify_repair(first)
    assert holds and f"Undo repair {second.oid} first" in sentence
    assert everything(path) == after and verify_repair(second)[0]
    undo(second)
    undo(first)
    assert everything(path) == before


def test_a_repair_that_somebody_applies_at_this_moment_is_not_rejected(tmp_path: Path) -> None:
    """It was written all the same, after its rejection."""
    repair = approved(imported(tmp_path / "a.db", merged()), RENUMBER)
    with claimed(Repair.objects.get()), pytest.raises(AtWork):
        reject_repair(repair, "another")
    assert Repair.objects.get().state == Repair.State.APPROVED
    reject_repair(repair, "another")
    assert Repair.objects.get().state == Repair.State.REJECTED


def test_verify_says_what_it_knows_of_a_repair_that_is_not_recorded_as_applied(tmp_path: Path) -> None:
    """Inspector's own database was restored from a backup that is older than the write."""
    path = tmp_path / "a.db"
    repair = approved(imported(path, merged()), RENUMBER, mode="fork")
    old = Repair.objects.values().get()
    apply(repair)
    Repair.objects.filter(pk=repair.pk).update(**old)
    repair.refresh_from_db()
    assert verify_repair(repair) == (
        False,
        "This repair is approved: the store holds what it writes, but Inspector's own database does not record it as applied.",
    )
    repair.changes.all().delete()
    holds, sentence = verify_repair(repair)
    assert not holds and sentence.endswith("it was not applied, as far as Inspector's own database goes; the store was not compared.")


def test_a_repair_that_is_undone_while_verify_looks_was_not_overwritten_by_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), RENUMBER)
    compare = undoing.compare

    def after_an_undo(looked_at: Repair) -> Any:
        monkeypatch.undo()
        undo(Repair.objects.get())
        return compare(looked_at)

    monkeypatch.setattr(undoing, "compare", after_an_undo)
    assert verify_repair(repair) == (False, undoing.AT_WORK)


def test_a_new_session_of_openclaw_that_another_repair_wrote_is_not_recorded_twice(tmp_path: Path) -> None:
    """Two plans that were made at two times differ in the time of the entry in the list alone."""
    folder = tmp_path / "openclaw"
    for name, data in openclaw_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    import_targets([str(folder)], WHO)
    conversation = Conversation.objects.select_related("source").get(native_id__startswith="5f1c27d0")
    stored = loading.stored(conversation)
    first, second = (
        propose_repair(conversation, request_for(conversation.source, stored, ["reparent-to-result"], "new-session", now=at), WHO)
        for at in (1_790_000_000_000, 1_790_000_060_000)
    )
    for repair in (first, second):
        approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    apply(first)
    with pytest.raises(Refused, match=f"Repair {first.oid} wrote the conversation .* already, so nothing was written now"):
        apply(second)
    assert second.state == Repair.State.STALE and not second.applied_by and verify_repair(first)[0]


def test_nothing_is_proposed_on_half_of_another_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ended between the two files: a plan on what it left would finish that write under its own name, and its undo would restore the half."""
    lines = [line("user", "go"), line("assistant", [text("I look"), call("t1")]), line("user", "and?")]
    folder = write(tmp_path, session(PARENT, lines, endpoint=ERA_B))
    import_targets([str(folder)], WHO)
    conversation = Conversation.objects.get()
    first = approved(conversation, "migrate-endpoint", "insert-interrupted-result", mode="in-place")
    messages = next(folder.rglob("messages.jsonl"))
    before = messages.read_bytes()

    def commit(*given: Any, **named: Any) -> float:
        monkeypatch.undo()
        stores.commit(*given, **named)
        messages.write_bytes(before)
        raise Killed

    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(Killed):
        apply(first)
    sentence = f"Repair {first.oid} was interrupted while it was written .*: 1 of 2 values are as repaired.*undo {first.oid}"
    with pytest.raises(Refused, match=sentence):
        approved(conversation, "insert-interrupted-result", mode="in-place")
    ran = run("repair", folder, "--strategy", "insert-interrupted-result", "--mode", "in-place", "--apply")
    assert ran.status == 2 and f"apply {first.oid}" in ran.err
    apply(Repair.objects.get())
    assert verify_repair(Repair.objects.get())[0]
