"""Laws of all strategies, alone and as recommended, on every damage that the simulation knows: nothing is lost in silence, undo gives every byte back."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from inspector.conversation.edits import Plan, Safety
from inspector.conversation.model import Conversation
from inspector.planning.preview import NothingToDo, Preview, compose, digest, preview, safety_of
from inspector.planning.recommend import recommended
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Record, WriteRefused, after
from inspector.rules.base import Case, Severity, at_least, case_of, findings
from inspector.rules.catalogue import RULES, rule
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.text.jsontext import compact
from tests.programs.dispatch.appended_stores import A, U, appended, er
from tests.programs.dispatch.previews import FOR_A_PROVIDER, OPTIONS, preview_of
from tests.programs.dispatch.simulated_server import Server
from tests.programs.dispatch.test_simulated_server import DAMAGES, Damage

RENAMING = {"rename-repeated-ids", "rename-invalid-ids", "shorten-ids"}
MODES = tuple(mode.name for mode in DISPATCH.modes)


def tried(server: Server, case: Case, chosen: Sequence[Strategy], mode: str) -> Preview | None:
    """None where there is nothing to do, or the mode refuses it in a sentence."""
    stored = server.store.stored()
    plan = Plan(
        "source", "c1", mode, tuple(each.name for each in chosen), safety_of(chosen), digest(stored), compose(case, chosen), OPTIONS
    )
    try:
        return preview(case, stored, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat")
    except NothingToDo:
        return None
    except WriteRefused as refused:
        assert "--mode fork" in refused.reason
        return None


def said(conversation: Conversation, with_ids: bool = True) -> Counter[str]:
    payloads = [dict(chunk.payload) for chunk in conversation.chunks if not chunk.damage]
    return Counter(compact(payload if with_ids else {**payload, "toolCallId": ""}) for payload in payloads)


def repairs(server: Server, reader: str) -> Iterator[tuple[Case, Preview]]:
    case = server.case(reader)
    sequences: list[Sequence[Strategy]] = [(each,) for each in STRATEGIES]
    every = [each for each in STRATEGIES if each.name not in FOR_A_PROVIDER]
    for chosen in (*sequences, recommended(case, findings(case, RULES)), every):
        for mode in MODES:
            made = tried(server, case, chosen, mode)
            if made is not None:
                yield case, made


@pytest.mark.parametrize("reader", ["dispatch-legacy", pytest.param("exact", marks=pytest.mark.slow)])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_every_repair_of_every_damage_keeps_what_was_said_and_can_be_undone(damage: Damage, reader: str) -> None:
    server, _ = damage.make(Random(7))
    records = server.store.records()
    for case, made in repairs(server, reader):
        names = f"{made.plan.strategies} {made.plan.mode}"
        written = after(records, made.changes)
        assert after(written, [change.reversed() for change in reversed(made.changes)]) == sorted(records, key=_key), names
        others = {record.key: record.value for record in records if not record.key.startswith("conv:c1:")}
        assert others.items() <= {record.key: record.value for record in written}.items(), names
        result = made.after.case
        assert not compose(result, [strategy(name) for name in made.plan.strategies]), f"{names}: a second run finds something to do"
        with_ids = not RENAMING & set(made.plan.strategies)
        lost = said(case.conversation, with_ids) - said(result.conversation, with_ids)
        assert not lost or Safety.LOSSY in made.plan.safety, f"{names} loses {lost}"


@pytest.mark.parametrize("reader", ["dispatch-legacy", "exact"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_what_is_recommended_leaves_nothing_to_recommend_and_no_new_error(damage: Damage, reader: str) -> None:
    for number in range(3):
        server, _ = damage.make(Random(number))
        case = server.case(reader)
        chosen = recommended(case, findings(case, RULES))
        made = tried(server, case, chosen, "new-conversation") if chosen else None
        if made is None:
            continue
        assert not recommended(made.after.case, made.after.findings), f"history {number}, after {made.plan.strategies}"
        errors = [
            Counter(found.code for found in side.findings if at_least(found.severity, Severity.ERROR)) for side in (made.before, made.after)
        ]
        assert errors[1] <= errors[0], f"history {number}, after {made.plan.strategies}: {errors[1] - errors[0]}"


def test_a_row_that_goes_may_have_parted_two_messages_of_one_number() -> None:
    store = appended([U("go"), A(er())], [U("again")])
    store.values["conv:c1:chunk:0000000002"] = store.values["conv:c1:chunk:0000000002"].replace('"msgIdx":1', '"msgIdx":4')
    case = case_of(store.conversation(), "dispatch-legacy")
    assert not {found.code for found in findings(case, RULES)} & {"MSG101", "MSG104"}
    chosen = recommended(case, findings(case, RULES))
    assert [each.name for each in chosen] == ["strip-error-chunks", "renumber-messages"]
    made = preview_of(store.stored(), "same-rows", [each.name for each in chosen])
    assert [message.role for message in made.after.case.reading.messages] == ["user", "user"]
    assert not made.after.findings or {found.code for found in made.after.findings} == {"STORE203"}


def test_the_error_chunk_in_place_of_a_lost_row_is_hidden_only_by_a_merge_that_was_there_and_its_cost_says_so() -> None:
    store = appended([U("go")], [A("one", "two", "three")])
    store.values["conv:c1:chunk:0000000003"] = "{"
    alone = preview_of(store.stored(), "same-rows", ["replace-unreadable-row"])
    assert {"MSG101", "MSG203"} <= {found.code for found in alone.after.findings}
    assert any("MSG203 is found 1 time after the repair" in warning for warning in alone.warnings)
    assert "MSG203" in strategy("replace-unreadable-row").cost and "MSG201" in strategy("replace-unreadable-row").cost
    parted = preview_of(store.stored(), "same-rows", ["replace-unreadable-row", "renumber-messages"])
    assert "MSG203" not in {found.code for found in parted.after.findings}
    gone = preview_of(store.stored(), "same-rows", ["replace-unreadable-row", "strip-error-chunks", "renumber-messages"])
    assert {found.code for found in gone.after.findings} == {"STORE203"}


def test_what_is_said_of_a_damaged_row_is_true_of_either_store() -> None:
    for code in ("STORE101", "STORE102"):
        assert "In dispatch.db of today" in rule(code).why and "In the old store" in rule(code).why


def _key(record: Record) -> bytes:
    return record.key.encode("utf-8", "surrogateescape")
