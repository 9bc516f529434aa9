"""Laws of the strategies that need an archive, a trace or older rows, alone and with each other strategy."""

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from inspector.conversation.edits import apply
from inspector.conversation.queries import true_messages
from inspector.planning.preview import NothingToDo
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import after
from inspector.rules import orphaned_tool_result, unanswered_tail_call
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES
from tests.folding import in_one_test
from tests.programs.dispatch.appended_stores import A, Store, T, U, appended, tr
from tests.programs.dispatch.strategies.incidents import ASKED, FOUND_A, Incident, aborted, baked, cut, legacy, lost_result, steered


def lost_tail() -> Incident:
    return replace(lost_result(), store=appended([U("go")], [ASKED, FOUND_A]), rule=unanswered_tail_call.RULE)


def orphaned() -> Incident:
    store = appended([U("go"), A("let me see")], [T(tr("gone", "found")), A("there")])
    return Incident(store, "drop-orphaned-results", orphaned_tool_result.RULE)


INCIDENTS = {made.__name__: made() for made in (baked, cut, lost_result, lost_tail, steered, legacy, aborted, orphaned)}


def choices(name: str) -> list[tuple[str, ...]]:
    """The strategy alone, with each other one, all of them, and some in between."""
    every = [each.name for each in STRATEGIES if each.name not in ("convert-legacy-messages", "rename-in-fork") or each.name == name]
    random = Random(name)
    some = [tuple(each for each in every if each == name or random.random() < 0.5) for _ in range(4)]
    pairs = [pair for pair in combinations(every, 2) if name in pair]
    return [(name,), *pairs, tuple(every), *some]


WAYS = [
    pytest.param(incident, mode, names, id=f"{key}-{mode}-{number}")
    for key, incident in INCIDENTS.items()
    for mode in incident.modes
    for number, names in enumerate(choices(incident.repaired_by))
]


@in_one_test(("incident", "mode", "names"), WAYS, most=100)
def test_the_laws_of_every_repair_hold(incident: Incident, mode: str, names: tuple[str, ...]) -> None:
    preview, before = incident.preview(mode, *names), incident.store.records()
    planned, result = apply(incident.stored().conversation, preview.plan.edits), preview.after.case.conversation
    assert [(chunk.role, chunk.payload, chunk.msg_idx) for chunk in result.chunks] == [
        (chunk.role, chunk.payload, chunk.msg_idx) for chunk in planned.chunks
    ]
    assert [len(message.chunks) for message in true_messages(result.chunks)] == [
        len(message.chunks) for message in true_messages(planned.chunks)
    ]
    there = {record.key: record.value for record in before}
    assert all(change.before == there.get(change.key) for change in preview.changes if not change.element)
    done = after(before, preview.changes)
    assert done != before
    assert after(done, [change.reversed() for change in preview.changes]) == before
    assert not findings(preview.after.case, (incident.rule,))
    written = next(found for found in DISPATCH.read(done) if found.conversation.native_id == result.native_id)
    with pytest.raises(NothingToDo):
        incident.preview(mode, *names, stored=written)


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=INCIDENTS)
def test_each_incident_is_found_by_the_rule_that_names_its_strategy(incident: Incident) -> None:
    assert incident.repaired_by in incident.rule.repaired_by
    archive = incident.store.conversation(incident.archive) if incident.archive else None
    assert findings(case_of(incident.store.conversation(), "exact", incident.trace, archive=archive), (incident.rule,))


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=INCIDENTS)
def test_what_is_not_there_is_not_guessed(incident: Incident) -> None:
    if incident.archive or incident.trace:
        with pytest.raises(NothingToDo):
            replace(incident, archive=None, trace=None).preview("same-rows")


def test_rows_that_are_not_touched_keep_their_bytes() -> None:
    for incident in INCIDENTS.values():
        spaced = incident.stored().conversation.chunks[0]
        wide = Store({**incident.store.values, spaced.key: f" {spaced.raw.decode()} "})
        for mode in incident.modes:
            first = replace(incident, store=wide).repaired(mode).chunks
            kept = next(chunk for chunk in first if chunk.payload == spaced.payload)
            assert kept.raw.startswith(b" ") and kept.raw.endswith(b" ")


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=INCIDENTS)
def test_after_a_repair_rows_and_trace_agree_as_before(incident: Incident) -> None:
    preview = incident.preview(incident.modes[0], incident.repaired_by)
    before, repaired = (
        {found.code for found in findings(case, RULES) if found.code.startswith("TRACE")}
        for case in (preview.before.case, preview.after.case)
    )
    assert repaired <= before
