"""A repair that appends and was killed in the middle of it: what is in the file decides, and no byte of another program is touched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector.actions import audit, writing
from inspector.actions.apply_repair import apply_repair
from inspector.actions.problems import Refused, Stale
from inspector.actions.settling import settle_all
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import AuditEntry, Conversation, Repair
from inspector.programs.formats import Change
from tests.actions.building import WHO, applied, approved, bring
from tests.actions.test_repair_crash import Killed
from tests.programs.gemini_cli.chats import HEADER, NAME, answer, lines, tool_call, user

pytestmark = pytest.mark.django_db
CHAT = lines(HEADER, user("u1", "go"), answer("m1", toolCalls=[tool_call("a")]), user("u2", "and?"))
MORE = lines(user("u3", "still there?"))
STRATEGY, MODE = "insert-interrupted-result", "append-set"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "chats" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(CHAT)
    return path


def conversation(place: Path) -> Conversation:
    bring(place.parent.parent)
    return Conversation.objects.select_related("source").get()


def killed(place: Path, left: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> Repair:
    """A repair whose process ended while it appended, when the file was CHAT and then `left` of what the repair appends."""
    repair = approved(conversation(place), STRATEGY, mode=MODE)

    def commit(_: Any, __: Any, ___: Any, ____: Any, changes: list[Change], *_____: Any) -> float:
        monkeypatch.undo()
        (change,) = changes
        assert change.after is not None and change.after.data.startswith(CHAT)
        with place.open("ab") as file:
            file.write(left(change.after.data[len(CHAT) :]))
        raise Killed

    monkeypatch.setattr(writing.stores, "commit", commit)
    with pytest.raises(Killed):
        apply_repair(repair, WHO, interactive=True)
    return Repair.objects.get()


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_what_was_appended_in_part_is_completed_by_apply(place: Path, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    repair = killed(place, lambda own: own[:cut], monkeypatch)
    number = place.stat().st_ino
    (interrupted,) = settle_all()
    assert f"0 of 1 values are as repaired, of project/chats/{NAME} a part." in interrupted.sentence
    assert f"apply {repair.oid}" in interrupted.sentence and f"undo {repair.oid}" in interrupted.sentence
    assert not verify_repair(repair)[0] and repair.intent
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and not repair.intent and place.stat().st_ino == number
    assert place.read_bytes().startswith(CHAT + b'{"$set":') and place.read_bytes().count(b"\n") == CHAT.count(b"\n") + 1
    undo_repair(repair, WHO, interactive=True)
    assert place.read_bytes() == CHAT and repair.state == Repair.State.UNDONE


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_what_was_appended_in_part_is_taken_out_by_undo(place: Path, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    repair = killed(place, lambda own: own[:cut], monkeypatch)
    undo_repair(repair, WHO, interactive=True)
    assert place.read_bytes() == CHAT and repair.state == Repair.State.UNDONE and not repair.intent
    assert list(place.parent.iterdir()) == [place] and audit.state(values=True).total == 0


@pytest.mark.parametrize(
    ("left", "own"),
    [(lambda own: own[:40] + MORE, 40), (lambda _: MORE, 2), (lambda own: MORE + own, None)],
    ids=["after a part of it", "before it began", "and then all of it"],
)
def test_what_another_program_appended_since_stays_and_is_named(
    place: Path, left: Callable[[bytes], bytes], own: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    repair = killed(place, left, monkeypatch)
    data = place.read_bytes()
    added = len(data) - len(CHAT)
    assert settle_all() == [] and place.read_bytes() == data
    repair.refresh_from_db()
    holds, sentence = verify_repair(repair)
    assert not holds and repair.state == Repair.State.APPROVED and not repair.intent
    same = added - len(MORE) if own is None else own
    assert (
        f"another program appended since: project/chats/{NAME} has {added:,} bytes more than before it, of which {same:,} are" in sentence
    )
    assert (
        AuditEntry.objects.filter(repair=repair.oid).values_list("verb", flat=True)[0] == "interrupted"
        and audit.state(values=True).total == 0
    )
    with pytest.raises(Stale):
        apply_repair(repair, WHO, interactive=True)
    assert place.read_bytes() == data


def test_an_append_that_the_program_wrote_after_is_not_undone(place: Path) -> None:
    repair = applied(conversation(place), STRATEGY, mode=MODE)
    with place.open("ab") as file:
        file.write(MORE)
    data = place.read_bytes()
    with pytest.raises(Refused, match="the store went on after the repair"):
        undo_repair(repair, WHO, interactive=True)
    assert place.read_bytes() == data
