"""Runs of a ledger in the notation: what is written reads back as it was."""

import pytest

from inspector.conversation import notation
from inspector.conversation.model import Conversation, Execution, Fact
from tests.folding import in_one_test
from tests.programs.dispatch.random_histories import INPUTS, TEXTS
from tests.programs.gbrain.conformance_rows import ROWS, Case, conversation

RUNS = (
    Execution("execution:000001", 1, "a", "head", "complete", 0, {"n": 1}, {"h": 3}, None, 1780826460000, 1780826461000),
    Execution("execution:000002", 1, "", "", "", None),
    Execution("execution:000003", -1, "toolu_01", "a name", "failed", 7, None, "", "", 0),
    Execution("execution:000004", 2, "b", "body", "complete", 1, damage="too-deep", reason='output: "so" #! TOOL101', uuid="0197-7"),
)


def again(*runs: Execution) -> tuple[Execution, ...]:
    return notation.load(notation.dump(Conversation("case", "gbrain", (), ledger=runs)))[0].ledger


def test_every_member_comes_back() -> None:
    assert again(*RUNS) == RUNS


@in_one_test("text", TEXTS)
def test_whatever_an_id_a_name_or_an_error_says(text: str) -> None:
    run = Execution("execution:000001", 1, text, text, text, 0, text, text, text)
    assert again(run) == (run,)


@in_one_test("value", INPUTS, ids=str)
def test_whatever_a_value_is(value: object) -> None:
    run = Execution("execution:000001", 1, "a", "head", "complete", 0, value, value)
    assert again(run) == (run,)


@in_one_test("row", ROWS, ids=lambda row: row.number)
def test_a_job_comes_back_with_its_runs_and_its_facts(row: Case) -> None:
    found = conversation(row.number)
    loaded, _ = notation.load(notation.dump(found))
    assert [(run.message_idx, run.ordinal, run.call_id, run.status, run.output, run.error, run.started_at) for run in loaded.ledger] == [
        (run.message_idx, run.ordinal, run.call_id, run.status, run.output, run.error, run.started_at) for run in found.ledger
    ]
    assert {name: fact.value for name, fact in loaded.facts.items()} == {name: fact.value for name, fact in found.facts.items()}
    assert [chunk.payload for chunk in loaded.chunks] == [chunk.payload for chunk in found.chunks]


def test_a_fact_of_that_name_is_told_from_a_run() -> None:
    facts = {"execution": Fact("execution", "1.0 a head complete")}
    loaded, _ = notation.load(notation.dump(Conversation("case", "gbrain", (), facts, ledger=RUNS[:1])))
    assert (loaded.facts, loaded.ledger) == (facts, RUNS[:1])


@in_one_test(
    ("line", "said"),
    [
        ("@execution 1.0 a head", "a run needs: message.place call tool status"),
        ("@execution x.0 a head complete", "invalid literal"),
        ("@execution 1.x a head complete", "invalid literal"),
        ("@execution 1.0 a head complete output={", "not JSON where a value should be"),
        ("@execution 1.0 a head complete output", "cannot read 'output'"),
        ("@execution 1.0 a head complete colour=1", "a run has no colour"),
    ],
)
def test_a_line_that_is_none_is_refused_with_its_number(line: str, said: str) -> None:
    with pytest.raises(notation.NotationError, match="Line 2: .*" + said):
        notation.load("1 user 0.0 text go\n" + line)
