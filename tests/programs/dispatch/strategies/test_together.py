"""Strategies for single rows, in one plan."""

from inspector.planning.recommend import recommended
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES
from tests.programs.dispatch.appended_stores import A, T, tc, th, tr
from tests.programs.dispatch.previews import ELSEWHERE, FOR_A_PROVIDER, plan_for
from tests.programs.dispatch.strategies.repaired_rows import CALL, FORK, codes, leaking, repaired, with_rows


def test_what_a_person_must_choose_is_not_recommended() -> None:
    store = with_rows(leaking(th(CALL)), {4: "{broken"})
    case = case_of(store.conversation(), "dispatch-legacy")
    names = {of.name for of in recommended(case, findings(case, RULES))}
    assert names == {"renumber-messages"}
    assert {of.name for of in STRATEGIES if of.manual_only} >= {"promote-leaked-call", "drop-leaked-call", "rename-in-fork"}


def test_a_plan_of_all_of_them_repairs_all_of_it() -> None:
    store = with_rows(leaking(th(CALL)), {1: "{broken"}).append(A(tc("b", input="{x")), T(tr("b")), T(tr("b")))
    names = [of.name for of in STRATEGIES if of.name not in {"rename-in-fork", *FOR_A_PROVIDER, *ELSEWHERE}]
    plan = plan_for(store.stored(), FORK, names)
    assert plan.edits
    left = set(codes(repaired(store, *names, mode=FORK)))
    assert not {"STORE101", "TOOL301", "TOOL206", "THINK301", "MSG101"} & left
