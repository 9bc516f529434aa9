"""The line that sums a plan up is counted from its rows and bytes, and each cost belongs to a strategy that changes something."""

import re
from random import Random

from inspector.actions.planning import preview_of, request_for
from inspector.actions.problems import Refused
from inspector.conversation.edits import Insert, Remove, Safety
from inspector.models import Source
from inspector.planning.preview import Preview
from inspector.presentation.repair.plan import records_summary, summary
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Change, Element, after
from inspector.rules.base import case_of
from inspector.strategies.catalogue import STRATEGIES
from tests.actions.building import broken, merged
from tests.folding import in_one_test
from tests.programs.dispatch.appended_stores import Store
from tests.programs.dispatch.test_simulated_server import DAMAGES, Damage

RENUMBER, INSERT, STRIP = "renumber-messages", "insert-interrupted-result", "strip-error-chunks"
NUMBERS_ONLY = "No content changes: only the number of each row. A server that is not fixed merges again on its next turn."


def planned(store: Store, *names: str, mode: str = "in-place") -> Preview:
    """As commands and pages plan it."""
    stored = store.stored()
    source = Source(format=DISPATCH.name, reader="dispatch-legacy", projection="dispatch-openai", profile="openai-chat")
    return preview_of(case_of(stored.conversation, "dispatch-legacy"), stored, DISPATCH, "/a.db", request_for(source, stored, names, mode))


def test_one_strategy_has_its_cost_as_a_plain_sentence() -> None:
    plan = planned(merged(), RENUMBER)
    assert plan.cost == (NUMBERS_ONLY,)
    assert summary(plan).startswith("4 chunks renumbered (content identical); 4 records replaced, ")


def test_the_costs_of_a_composition_name_their_strategies() -> None:
    """`No content changes` was printed above an inserted row: it is true of one strategy, and false of the plan."""
    plan = planned(broken(), RENUMBER, INSERT, STRIP)
    assert [cost.partition(": ")[0] for cost in plan.cost] == [RENUMBER, INSERT, STRIP]
    assert plan.cost[0] == f"{RENUMBER}: {NUMBERS_ONLY}" and summary(plan).startswith("1 chunk inserted, 1 removed, ")
    assert not [warning for warning in plan.warnings if "changes nothing" in warning]


def test_a_strategy_that_changes_nothing_has_neither_cost_nor_mark_and_is_named() -> None:
    plan = planned(merged(), STRIP, RENUMBER)
    assert plan.plan.strategies == (STRIP, RENUMBER) and plan.cost == (f"{RENUMBER}: {NUMBERS_ONLY}",)
    assert not plan.plan.safety and f"{STRIP} changes nothing in this plan: leave it out." in plan.warnings
    assert Safety.LOSSY in planned(broken(), STRIP, RENUMBER).plan.safety


def test_a_strategy_that_comes_after_one_that_did_its_work_has_no_cost() -> None:
    """Inserting gives each message a number of its own along the way."""
    plan = planned(broken(), INSERT, RENUMBER)
    assert [cost.strategy for cost in plan.costs] == [INSERT] and summary(plan).startswith("1 chunk inserted, ")


def test_a_value_that_is_set_is_part_of_the_summary() -> None:
    store = merged()
    store.values["conv:c1:seq"] = "9"
    assert summary(planned(store, "fix-counter")).startswith(
        "4 chunks unchanged, 1 value of the conversation set (counter); 1 record replaced, "
    )


def test_parts_of_records_that_conversations_share_count_by_themselves() -> None:
    cell = Cell(b"12345")
    changes = [Change("a", None, cell), Change("b", cell, None), Change("list", None, cell, Element.STRING)]
    assert records_summary(changes) == "1 record inserted, 1 removed, 1 part of a shared record inserted, 10 B new"


@in_one_test("mode", [mode.name for mode in DISPATCH.modes])
@in_one_test("damage", DAMAGES, ids=lambda damage: damage.name)
def test_the_summary_says_what_the_edits_and_the_bytes_do(damage: Damage, mode: str) -> None:
    server, _ = damage.make(Random(3))
    try:
        plan = planned(server.store, *(each.name for each in STRATEGIES if each.write_kind != "id"), mode=mode)
    except Refused as refused:
        assert "Nothing to do" in str(refused) or "--mode fork" in str(refused)
        return
    chunks, _, records = summary(plan).partition("; ")
    for word, kind in (("inserted", Insert), ("removed", Remove)):
        assert _number(chunks, word) == len([edit for edit in plan.plan.edits if isinstance(edit, kind)])
    assert sum(int(each) for each in re.findall(r"\d+(?= (?:chunks? )?(?:inserted|removed|changed|renumbered|unchanged))", chunks)) == len(
        plan.rows
    )
    before = {record.key: record.value for record in server.store.records()}
    now = {record.key: record.value for record in after(server.store.records(), plan.changes)}
    own = records.partition(" of a shared")[0].partition("of shared")[0]
    assert _number(own, "inserted") == len(now.keys() - before.keys())
    assert _number(own, "removed") == len(before.keys() - now.keys())
    assert _number(own, "replaced") == len([key for key in before.keys() & now.keys() if before[key] != now[key]])


def _number(text: str, word: str) -> int:
    """The number before a word, 0 where the word is not there."""
    match = re.search(rf"(\d[\d,]*) (?:\w+ )?{word}", text)
    return int(match[1].replace(",", "")) if match else 0
