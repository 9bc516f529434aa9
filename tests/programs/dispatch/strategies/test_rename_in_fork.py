"""What `rename-in-fork` writes in stored rows, what stays byte for byte, and what it leaves alone."""

import pytest

from inspector.conversation.edits import EditMismatch, Plan, Set, apply
from inspector.planning import preview as previews
from inspector.planning.preview import NothingToDo, compose
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.strategies.rename_in_fork import FRESH
from inspector.programs.formats import Stored, WriteRefused
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy
from tests.programs.dispatch.appended_stores import A, Store, U, appended
from tests.programs.dispatch.previews import OPTIONS, preview_of
from tests.programs.dispatch.strategies.repaired_rows import FORK, IN_PLACE, MODES


def named(native_id: str) -> Stored:
    return Store().append(U("go"), A("done"), to=native_id).stored(native_id)


@pytest.mark.parametrize("native_id", ["a_b", "50%"])
def test_an_id_with_wildcards_becomes_a_fresh_one_in_a_fork(native_id: str) -> None:
    stored = named(native_id)
    preview = preview_of(stored, FORK, ["rename-in-fork"])
    assert preview.plan.edits == (Set("conversation", "id", native_id, FRESH),)
    renamed = preview.after.case.conversation
    assert renamed.native_id == OPTIONS["fork_id"]
    assert [chunk.raw for chunk in renamed.chunks] == [chunk.raw for chunk in stored.conversation.chunks]
    assert all(change.before is None for change in preview.changes)


def test_what_bled_into_the_old_id_does_not_bleed_into_the_new_one() -> None:
    stored = named("C1")
    case = case_of(stored.conversation, "exact", bleeding=("c1",))
    assert [finding.code for finding in findings(case, RULES)] == ["STORE303"]
    chosen = [strategy("rename-in-fork")]
    plan = Plan("source", "C1", FORK, ("rename-in-fork",), frozenset(), "", compose(case, chosen), OPTIONS)
    later = previews.preview(case, stored, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat").after
    assert later.findings == ()


def test_an_id_cannot_be_renamed_in_place() -> None:
    with pytest.raises(WriteRefused, match=r"cannot be renamed in place; repair into a new conversation \(--mode fork\)\.$"):
        preview_of(named("a_b"), IN_PLACE, ["rename-in-fork"])


@MODES
def test_an_id_without_wildcards_needs_no_other_and_a_plan_for_another_id_is_refused(mode: str) -> None:
    store = appended([U("go")])
    with pytest.raises(NothingToDo):
        preview_of(store.stored(), mode, ["rename-in-fork"])
    with pytest.raises(EditMismatch, match="fact id"):
        apply(store.conversation(), [Set("conversation", "id", "c2", FRESH)])
