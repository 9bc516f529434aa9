"""Repairs of one problem in many conversations: proposed, decided, written and undone one after the other, each by the acts of a single repair."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from inspector.actions import audit, repair_groups
from inspector.actions.group_previews import occurrences_of, planned, planned_all
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.purge import purge
from inspector.actions.remove_source import begin_removal, finish_removal
from inspector.actions.repair_groups import apply_all, approve_all, open_group, propose_again, propose_all, reject_all, undo_all
from inspector.actions.undo_repair import undo_repair
from inspector.models import AuditEntry, BackgroundTask, Conversation, Problem, Repair, RepairComment, RepairGroup
from tests.actions.building import WHO, Store, bring, chunk_key, everything, merged, pairs, put, row
from tests.sources.stores import make

pytestmark = pytest.mark.django_db

RENUMBER = "renumber-messages"
IDS = ("c1", "c2", "c3")
_State = Repair.State


def three(path: Path) -> Problem:
    store = Store()
    for native_id in IDS:
        merged(store, native_id)
    make(path, store.values)
    bring(path)
    return Problem.objects.select_related("source").get(code="MSG101")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def problem(path: Path) -> Problem:
    return three(path)


def opened(problem: Problem, goes_on: bool = False, **written: str) -> RepairGroup:
    members = sorted(planned_all(occurrences_of(problem), "MSG101", [RENUMBER], "in-place"), key=lambda member: name_of(member))
    return open_group(problem.source, problem.code, problem.rule, members, WHO, goes_on=goes_on, **written)


def name_of(member: dict[str, Any]) -> str:
    return Conversation.objects.get(oid=member["conversation"]).native_id


def proposed(problem: Problem, goes_on: bool = False) -> RepairGroup:
    group = opened(problem, goes_on)
    assert propose_all(group, WHO) == "3 of 3 proposed."
    return group


def approved(problem: Problem, goes_on: bool = False) -> RepairGroup:
    group = proposed(problem, goes_on)
    assert approve_all(group, "ann", signed(group), "unfixed", "same bug, same plan") == "3 of 3 approved."
    return group


def signed(group: RepairGroup) -> dict[str, str]:
    return {repair.oid: repair.plan_digest for repair in group.current}


def states(group: RepairGroup) -> list[str]:
    return [repair.state for repair in group.current]


def drift(path: Path, native_id: str) -> None:
    """Its program goes on with this conversation."""
    put(path, chunk_key(5, native_id), row("one more", msg_idx=0))
    put(path, f"conv:{native_id}:seq", "5")


def test_a_plan_of_each_conversation_or_why_there_is_none(path: Path) -> None:
    store = merged(merged(), "c2")
    store.append(*[], to="c2")
    make(path, store.values)
    bring(path)
    problem = Problem.objects.select_related("source").get(code="MSG101")
    first, second = planned_all(occurrences_of(problem), "MSG101", [], "in-place")
    assert (first["strategies"], first["mode"], first["problem"]) == ([RENUMBER], "same-rows", "")
    assert first["plan"]["counts"] == {"MSG101": [1, 0]} and first["plan"]["ops"]["reindexed"] == 4 and first["seen"]
    # A strategy that does something else is no repair of this problem.
    other = planned(occurrences_of(problem)[0], "MSG101", ["drop-empty-blocks"], "")
    assert "Nothing to do" in other["problem"] and not other["plan"]
    # Nothing is decided twice.
    repair = propose_repair(*request_of(second))
    waiting = planned_all(occurrences_of(problem), "MSG101", [], "in-place")
    assert [member["problem"] for member in waiting if member["problem"]] == [f"Repair {repair.oid} of it waits for a decision already."]


def request_of(member: dict[str, Any]) -> tuple[Conversation, Any, str]:
    from inspector.actions.planning import request_for
    from inspector.models import loading

    conversation = Conversation.objects.select_related("source").get(oid=member["conversation"])
    return conversation, request_for(conversation.source, loading.stored(conversation), member["strategies"], member["mode"]), WHO


def test_all_are_proposed_approved_applied_and_undone_together(problem: Problem, path: Path) -> None:
    before = everything(path)
    group = approved(problem)
    assert [repair.conversation.native_id for repair in group.current] == list(IDS) and states(group) == ["approved"] * 3
    assert {(row.who, row.verdict, row.text) for row in RepairComment.objects.all()} == {("ann", "approve", "same bug, same plan")}
    assert everything(path) == before
    assert apply_all(group, WHO, interactive=True) == "3 of 3 applied."
    assert states(group) == ["verified"] * 3 and everything(path) != before
    problem.refresh_from_db()
    assert problem.state == "repaired"
    assert undo_all(group, WHO, interactive=True) == "3 of 3 undone."
    assert states(group) == ["undone"] * 3 and everything(path) == before
    # Each act on the group is a line, and each on a repair one of its own; nothing of the log is contradicted.
    lines = list(AuditEntry.objects.order_by("id").values_list("verb", flat=True))
    assert [verb for verb in lines if verb.endswith("group")] == [f"{verb} group" for verb in ("propose", "approve", "apply", "undo")]
    assert [lines.count(verb) for verb in ("propose", "approve", "apply", "undo")] == [3, 3, 3, 3]
    assert not audit.state(values=True).problems


@pytest.mark.parametrize("goes_on", [False, True])
def test_it_stops_at_the_first_failure_or_goes_on(problem: Problem, path: Path, goes_on: bool) -> None:
    group = approved(problem, goes_on)
    drift(path, "c2")
    with pytest.raises(Refused, match="The store moved") as refusal:
        apply_all(group, WHO, interactive=True)
    assert states(group) == ["verified", "stale", "verified" if goes_on else "approved"]
    total = "2 of 3 applied." if goes_on else "1 of 3 applied."
    assert str(refusal.value).startswith(total)
    assert ("1 was not tried: this group stops at the first failure." in str(refusal.value)) is not goes_on
    if not goes_on:
        # What is applied is left as it is, and what is stale is not tried again.
        assert apply_all(group, WHO, interactive=True) == "1 of 1 applied."
        assert states(group) == ["verified", "stale", "verified"]


def test_one_that_drifted_is_reviewed_again_and_the_others_keep_their_approval(problem: Problem, path: Path) -> None:
    group = approved(problem)
    drift(path, "c2")
    bring(path)
    first, second, third = group.current
    assert [repair.is_moved for repair in (first, second, third)] == [False, True, False]
    assert apply_all(group, WHO, interactive=True) == "2 of 2 applied."
    oid = second.conversation.oid
    again = planned(Conversation.objects.select_related("source").get(oid=oid), "MSG101", [RENUMBER], "in-place")
    assert propose_again(group, {oid: again}, WHO) == "1 of 1 proposed again."
    second.refresh_from_db()
    newer = group.current[1]
    assert (second.state, newer.state, newer.pk > second.pk) == ("rejected", "proposed", True)
    assert f"Proposed again as repair {newer.oid}" in second.comments.get(verdict="reject").text
    assert states(group) == ["verified", "proposed", "verified"]
    assert approve_all(group, "ann", signed(group), "unfixed", "") == "1 of 1 approved."
    assert apply_all(group, WHO, interactive=True) == "1 of 1 applied."
    assert states(group) == ["verified"] * 3 and not audit.state(values=True).problems


def test_what_drifted_or_was_not_seen_is_not_approved(problem: Problem, path: Path) -> None:
    group = proposed(problem)
    first, second, third = group.current
    drift(path, "c2")
    bring(path)
    with pytest.raises(Refused, match=r"1 of 2 approved\. .*changed since it was proposed"):
        approve_all(group, "ann", {repair.oid: repair.plan_digest for repair in (first, second)}, "unfixed", "")
    assert states(group) == ["approved", "proposed", "proposed"]
    with pytest.raises(Refused, match="not the plan that you looked at"):
        approve_all(group, "ann", {third.oid: "0" * 64}, "unfixed", "")


def test_one_is_undone_alone_then_the_rest(problem: Problem, path: Path) -> None:
    before = everything(path)
    group = approved(problem)
    apply_all(group, WHO, interactive=True)
    undo_repair(group.current[1], WHO, interactive=True)
    assert states(group) == ["verified", "undone", "verified"]
    assert undo_all(group, WHO, interactive=True) == "2 of 2 undone."
    assert states(group) == ["undone"] * 3 and everything(path) == before


def test_the_rejection_of_a_group_ends_what_waits(problem: Problem, path: Path) -> None:
    group = proposed(problem)
    approve_all(group, "ann", dict(list(signed(group).items())[:1]), "unfixed", "")
    assert reject_all(group, "ann", "not now") == "3 of 3 rejected."
    assert states(group) == ["rejected"] * 3
    for act in (lambda: apply_all(group, WHO, True), lambda: undo_all(group, WHO, True), lambda: reject_all(group, WHO, "")):
        with pytest.raises(Refused, match="No repair of this group can be"):
            act()


def test_a_proposal_that_was_interrupted_goes_on(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """Stands for the end of the process."""

    group, calls = opened(problem, reason="why", incident="https://i.example/1"), []

    def once(*given: Any, **named: Any) -> Repair:
        if calls:
            raise Killed
        calls.append(1)
        return propose_repair(*given, **named)

    monkeypatch.setattr(repair_groups, "propose_repair", once)
    with pytest.raises(Killed):
        propose_all(group, WHO)
    monkeypatch.undo()
    assert len(group.current) == 1
    assert propose_all(group, WHO) == "2 of 2 proposed." and states(group) == ["proposed"] * 3
    assert {(repair.reason, repair.incident) for repair in group.current} == {("why", "https://i.example/1")}


def test_the_second_person_is_asked_for_each(problem: Problem, settings: Any) -> None:
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    group = proposed(problem)
    with pytest.raises(Refused, match=r"0 of 3 approved.*A second person must approve"):
        approve_all(group, WHO, signed(group), "unfixed", "")
    assert approve_all(group, "ann", signed(group), "unfixed", "") == "3 of 3 approved."


def test_the_group_of_a_repair_is_sealed(problem: Problem) -> None:
    group = proposed(problem)
    other = RepairGroup.objects.create(oid="0" * 12, source=problem.source, code="X", rule="x", proposed_by=WHO, proposed_at=timezone.now())
    Repair.objects.filter(pk=group.current[0].pk).update(group=other)
    assert audit.state().problems


def test_a_group_has_conversations_and_not_too_many(problem: Problem) -> None:
    for members, words in (([], "No conversation is chosen"), ([{"conversation": str(n)} for n in range(101)], "At most 100")):
        with pytest.raises(Refused, match=words):
            open_group(problem.source, problem.code, problem.rule, members, WHO, goes_on=False)
    assert not RepairGroup.objects.exists()


def test_a_purged_conversation_leaves_its_group(problem: Problem) -> None:
    group = proposed(problem)
    now = timezone.now()
    BackgroundTask.objects.create(key="k", kind="group preview", started_at=now, ended_at=now, answer="its plan")
    for left, native_id in ((2, "c2"), (1, "c1")):
        purge(Conversation.objects.get(native_id=native_id), WHO, "leaked")
        group.refresh_from_db()
        assert len(group.members) == len(group.current) == left and not BackgroundTask.objects.exists()
    purge(Conversation.objects.get(native_id="c3"), WHO, "leaked")
    assert not RepairGroup.objects.exists() and not audit.state().problems


ACTS: dict[str, tuple[str, Callable[[RepairGroup], str]]] = {
    "proposed": ("propose_repair", lambda group: propose_all(group, WHO)),
    "approved": ("approve_repair", lambda group: approve_all(group, "ann", signed(group), "unfixed", "")),
    "rejected": ("reject_repair", lambda group: reject_all(group, WHO, "")),
    "applied": ("apply_repair", lambda group: apply_all(group, WHO, interactive=True)),
    "undone": ("undo_repair", lambda group: undo_all(group, WHO, interactive=True)),
}
BEFORE = {"proposed": opened, "approved": proposed, "rejected": proposed, "applied": approved, "undone": approved}


@pytest.mark.parametrize("is_removed", [False, True], ids=["purge", "removal"])
@pytest.mark.parametrize("word", ACTS)
def test_what_is_purged_or_removed_in_the_middle_keeps_nothing_from_the_others(
    problem: Problem, monkeypatch: pytest.MonkeyPatch, word: str, is_removed: bool
) -> None:
    """After the first of three: one of the others is purged, or the source removed, by another process."""
    group, (name, act) = BEFORE[word](problem, goes_on=True), ACTS[word]
    if word == "undone":
        apply_all(group, WHO, interactive=True)
    one, calls = getattr(repair_groups, name), []

    def meanwhile(*given: Any, **named: Any) -> object:
        result = one(*given, **named)
        calls.append(1)
        if len(calls) == 1 and is_removed:
            begin_removal(problem.source, WHO, "leaked", with_repairs=True)
            finish_removal(problem.source)
        elif len(calls) == 1:
            purge(Conversation.objects.get(native_id="c2"), WHO, "leaked", with_repairs=True)
        return result

    monkeypatch.setattr(repair_groups, name, meanwhile)
    with pytest.raises(
        Refused, match=rf"^{1 if is_removed else 2} of 3 {word}\. .*: It was purged, or its source was removed\."
    ) as refused:
        act(group)
    assert str(refused.value).count("purged") == 1 and not audit.state().problems
    # Nor does the plan of what was purged come back with what is kept of the others.
    assert [len(group.members) for group in RepairGroup.objects.all()] == ([] if is_removed else [2])


def test_a_purge_of_all_that_is_proposed_leaves_the_rest_of_the_group(problem: Problem, path: Path) -> None:
    group = opened(problem)
    drift(path, "c2")
    drift(path, "c3")
    with pytest.raises(Refused, match="1 of 3 proposed"):
        propose_all(group, WHO)
    stale = RepairGroup.objects.get()
    purge(Conversation.objects.get(native_id="c1"), WHO, "leaked")
    group.refresh_from_db()
    assert len(group.members) == 2 and not group.current
    with pytest.raises(Refused, match="0 of 3 proposed again"):
        propose_again(stale, {member["conversation"]: {**member, "problem": "no"} for member in stale.members}, WHO)
    assert len(RepairGroup.objects.get().members) == 2


def test_the_lists_have_one_row_of_a_group(problem: Problem, path: Path) -> None:
    group = proposed(problem)
    assert Repair.listed(["proposed"]).count() == 1
    approve_all(group, "ann", dict(list(signed(group).items())[:2]), "unfixed", "")
    assert [Repair.listed([state]).count() for state in ("proposed", "approved", "rejected")] == [1, 1, 0]
    drift(path, "c1")
    bring(path)
    oid = group.current[0].conversation.oid
    again = planned(Conversation.objects.select_related("source").get(oid=oid), "MSG101", [RENUMBER], "in-place")
    propose_again(group, {oid: again}, WHO)
    # What was replaced is not listed by itself.
    assert Repair.listed(["rejected"]).count() == 0 and Repair.objects.filter(state="rejected").count() == 1


_KILLED = """
import os, signal, django
django.setup()
from inspector.actions import apply_repair, repair_groups
from inspector.models import RepairGroup
written = []
record_applied = apply_repair.record_applied
def record(repair, **detail):
    written.append(repair)
    if len(written) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    record_applied(repair, **detail)
apply_repair.record_applied = record
repair_groups.apply_all(RepairGroup.objects.get(), "tester", interactive=True)
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_killed_in_the_middle_of_the_second_of_three_it_goes_on(tmp_path: Path) -> None:
    """A real process with a database of its own: SIGKILL after the second write reached the store, and before it was recorded."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "inspector.settings",
        "INSPECTOR_DATABASE_URL": f"sqlite:///{tmp_path / 'inspector.db'}",
        "INSPECTOR_AUDIT_KEY_FILE": str(tmp_path / "audit-key"),
        "INSPECTOR_WRITE_BACK": "1",
    }

    def python(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)

    prepared = f"""
import django; django.setup()
from pathlib import Path
from django.core.management import call_command
call_command("migrate", verbosity=0)
from tests.actions.test_repair_groups import approved, three
approved(three(Path({str(tmp_path / "a.db")!r})))
"""
    answer = python(prepared)
    assert answer.returncode == 0, answer.stderr
    store = tmp_path / "a.db"
    assert python(_KILLED).returncode == -signal.SIGKILL
    looked = """
import django; django.setup()
from inspector.models import RepairGroup
from inspector.actions.repair_groups import apply_all, undo_all
group = RepairGroup.objects.get()
print([(repair.state, repair.intent) for repair in group.current])
print(apply_all(group, "tester", interactive=True))
print([(repair.state, repair.intent) for repair in group.current])
"""
    written = pairs(store)
    answer = python(looked)
    lines = answer.stdout.splitlines()
    assert lines == [
        "[('verified', ''), ('approved', 'apply'), ('approved', '')]",
        "2 of 2 applied.",
        "[('verified', ''), ('verified', ''), ('verified', '')]",
    ], answer.stderr
    now = pairs(store)
    assert {key.split(":")[1] for key in now if now[key] != written[key]} == {"c3"}
    undone = python(looked.replace("print(apply_all", "print(undo_all"))
    assert "3 of 3 undone." in undone.stdout, undone.stderr
