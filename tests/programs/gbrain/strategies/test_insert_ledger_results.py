"""What `insert-ledger-results` changes in the rows of a job, and what is refused in a sentence."""

from typing import Any

import pytest

from inspector.planning.preview import NothingToDo, Preview, compose
from inspector.programs.formats import WriteRefused
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.readers import UNAVAILABLE, VERSIONS, counters
from inspector.programs.gbrain.tables import MESSAGES
from inspector.programs.relation_rows import record_of, relation_of, row_of
from inspector.rules.synthetic_texts import OURS
from inspector.strategies.catalogue import strategy
from inspector.text import jsonb
from tests.programs.gbrain.conformance_rows import ASKED, BY_NUMBER, Case, Run, call, records, stored
from tests.programs.gbrain.strategies.repaired_jobs import (
    JOBS,
    assert_where_the_index_is_taken_it_is_refused_and_what_to_do_is_said,
    case,
    recommended,
    rows,
    said,
    tried,
)


def test_each_call_gets_the_output_of_its_own_run_in_the_order_of_the_calls() -> None:
    made = tried(JOBS["row 1"], "insert-ledger-results")
    assert said(made, 2) == [("a", '{"h":3}', False), ("b", '{"b":1}', False)]
    assert said(tried(JOBS["row 9"], "insert-ledger-results"), 2) == [("a", "first", False), ("a", "second", False)]
    every_turn = tried(JOBS["one id in every turn"], "insert-ledger-results")
    assert (said(every_turn, 4), said(every_turn, 6)) == ([("a", "2", False)], [("a", "late", True)])
    assert rows(JOBS["one id in every turn"], every_turn)[2] == rows(JOBS["one id in every turn"])[2]


def test_a_run_is_found_by_place_and_id_then_by_id_then_by_place_alone_and_goes_to_one_call() -> None:
    assert said(tried(JOBS["an older ledger without places"], "insert-ledger-results"), 2) == [("a", "x", False), ("b", "y", False)]
    # By place alone the first call would have it; the second has its id.
    assert said(tried(JOBS["one old run for two calls"], "insert-ledger-results"), 2) == [("y", "of y", False)]
    assert not compose(case(JOBS["row 7"]), [strategy("insert-ledger-results")])


def test_a_failed_run_is_an_error_with_its_text_and_no_output_is_null() -> None:
    assert said(tried(JOBS["row 2"], "insert-ledger-results"), 2) == [("a", "boom", True)]
    assert said(tried(JOBS["row 3"], "insert-ledger-results"), 2) == [("a", "tool failed", True)]
    assert jsonb.parse(rows(JOBS["row 5"], tried(JOBS["row 5"], "insert-ledger-results"))[2])[0]["output"] is None


def test_a_number_of_the_ledger_keeps_its_digits() -> None:
    exact = "12345678901234567890.100"
    made = [
        record_of(relation, {**row_of(record.value), "output": f'{{"n": {exact}}}'})
        if (relation := relation_of(GBRAIN.relations, record.key)) and record.key.startswith("subagent_tool_executions")
        else record
        for record in records(BY_NUMBER["3"])
    ]
    (job,) = GBRAIN.read([record_of(relation, {**row_of(record.value), "status": "complete"}) if relation and "executions" in record.key else record for record in made for relation in [relation_of(GBRAIN.relations, record.key)]])  # fmt: skip
    assert exact in rows(job, tried(job, "insert-ledger-results"))[2]


def test_what_is_composed_makes_one_row_for_a_turn() -> None:
    for names in (("insert-ledger-results", "insert-replay-result"), ("insert-replay-result", "insert-ledger-results")):
        made = tried(JOBS["row 2"], *names)
        assert [change.key for change in made.changes] == [f"{MESSAGES}:0000000001:0000000002"]
        assert said(made, 2) == [("a", "boom", True), ("b", UNAVAILABLE, True)]


def test_a_row_that_answers_a_part_is_completed_in_the_order_of_the_calls_and_keeps_its_bytes() -> None:
    job = JOBS["only the second is answered"]
    made = tried(job, "insert-ledger-results")
    assert [call_id for call_id, _, _ in said(made, 2)] == ["a", "b"]
    assert rows(job)[2][1:-1] in rows(job, made)[2]


def test_a_gapped_job_ends_as_a_row_at_every_index_and_all_readers_count_alike() -> None:
    job = JOBS["a job from before #2820"]
    assert list(rows(job)) == [0, 1, 3, 5]
    made = tried(job, *recommended(job))
    assert made.plan.strategies == ("insert-ledger-results",) and not made.plan.safety
    assert list(rows(job, made)) == [0, 1, 2, 3, 4, 5, 6]
    assert [counters(version, job.conversation)["nextMessageIdx"] for version in VERSIONS] == [4, 4, 6]
    repaired = made.after.case.conversation
    assert [counters(version, repaired)["nextMessageIdx"] for version in VERSIONS] == [7, 7, 7]
    assert not any(counters(version, repaired)["collides"] for version in VERSIONS)
    assert {found.rule for found in made.before.findings} >= {"gapped-indexes", "result-only-in-ledger"}
    assert not {found.rule for found in made.after.findings} & {"gapped-indexes", "result-only-in-ledger"}


def test_filling_the_gaps_repairs_the_index_that_was_taken() -> None:
    made = tried(JOBS["row 10"], "insert-ledger-results")
    assert "taken-index" in {found.rule for found in made.before.findings}
    assert not made.after.findings


def test_results_of_the_direct_path_stand_before_the_words_at_their_index_in_its_own_spelling() -> None:
    job = JOBS["words at the index, direct path"]
    made = tried(job, "insert-ledger-results")
    assert jsonb.parse(rows(job, made)[2]) == [
        {"type": "tool_result", "tool_use_id": "t1", "content": '{"h":3}'},
        {"type": "text", "text": "[system] go on"},
    ]


@pytest.mark.parametrize(
    ("name", "strategy", "words"),
    [
        ("words at the index, gateway", "insert-ledger-results", "holds words of the user"),
        ("an answer at the index", "insert-ledger-results", "is taken by an answer"),
        ("no list", "insert-ledger-results", "cannot be read"),
    ],
)
def test_where_the_index_is_taken_it_is_refused_and_what_to_do_is_said(name: str, strategy: str, words: str) -> None:
    assert_where_the_index_is_taken_it_is_refused_and_what_to_do_is_said(name, strategy, words)


def test_an_empty_row_takes_the_results() -> None:
    assert said(tried(JOBS["nothing at the index"], "insert-ledger-results"), 2) == [("a", '{"h":3}', False)]


@pytest.mark.parametrize("status", ["active", "delayed", "waiting-children"])
def test_a_job_that_somebody_may_take_up_is_refused(status: str) -> None:
    (job,) = GBRAIN.read(records(BY_NUMBER["1"], status=status))
    with pytest.raises(WriteRefused, match=f"The job is {status}"):
        tried(job, "insert-ledger-results")


@pytest.mark.parametrize("status", ["failed", "dead", "paused", "cancelled", "completed", "waiting"])
def test_a_job_at_rest_is_not(status: str) -> None:
    (job,) = GBRAIN.read(records(BY_NUMBER["1"], status=status))
    assert tried(job, "insert-ledger-results").changes


def test_of_two_calls_of_one_id_the_second_never_lends_its_output_to_the_first() -> None:
    """The first is pending: a result put in for the second would be read as the answer of the first, and be put in again by the next repair."""
    same = ("assistant", [call("a", "head", n=1), call("a", "body", n=2)])
    job = stored(Case("", "", {0: ASKED, 1: same}, (Run(1, 0, "a", "head", "pending"), Run(1, 1, "a", "body", output="second"))))
    with pytest.raises(NothingToDo):
        tried(job, "insert-ledger-results")
    made = tried(job, "insert-plain-result")
    assert [(call_id, words) for call_id, words, _ in said_in(made, 2)] == [("a", OURS)]
    other = stored(Case("", "", {0: ASKED, 1: same}, (Run(1, 0, "a", "head", output="first"), Run(1, 1, "a", "body", "pending"))))
    with pytest.raises(NothingToDo):
        tried(other, "insert-plain-result")
    both = tried(other, "insert-ledger-results", "insert-plain-result")
    assert [words for _, words, _ in said_in(both, 2)] == ["first", OURS]


def said_in(made: Preview, index: int) -> list[Any]:
    return [
        (chunk.call_id, chunk.text, chunk.is_error)
        for chunk in made.after.case.conversation.chunks
        if chunk.msg_idx == index and chunk.role == "tool"
    ]
