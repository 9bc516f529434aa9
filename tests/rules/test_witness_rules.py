"""Rules that lay store, archive, trace and metrics side by side: what a case file cannot say, and what the incident must not show."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.conversation.compacted import kept_for_certain
from inspector.demo.dispatch_incident import CONVERSATION, incident_rows, trace_records
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Record
from inspector.rules.base import Case, Severity, case_of, findings
from inspector.rules.case_notation import load_case
from inspector.rules.catalogue import rule
from inspector.text import jsontext
from inspector.traces.model import Trace
from inspector.traces.tree import build
from inspector.traces.witness import turn_of, turn_time, turn_witnesses
from tests.traces.stores import read_journal, write_journal

TURN = "turn-1782590000000-a"
CODES = ("MSG301", "MSG302", "STORE302", "TRACE101", "TRACE201", "TRACE301")
STEERED = rule("MSG302").example


def case(text: str) -> Case:
    return load_case(text, "dispatch-legacy")


def codes(looked_at: Case) -> set[str]:
    return {finding.code for finding in findings(looked_at, [rule(code) for code in CODES])}


def with_prompts(looked_at: Case, body: Any) -> Case:
    """The same case, every body of its trace being `body`."""
    assert looked_at.trace is not None
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return replace(looked_at, trace=replace(looked_at.trace, bodies=lambda name: data, worked_out={}))


def test_the_incident_with_its_whole_trace_shows_none_of_them(tmp_path: Path) -> None:
    observed = read_journal(write_journal(tmp_path / "app.ndjson", trace_records()))
    trace = build(CONVERSATION, observed.records, observed.bodies.get)
    rows = [Record(key, Cell(value.encode() if isinstance(value, str) else jsontext.encode(value))) for _, key, value in incident_rows()]
    conversation = next(stored.conversation for stored in DISPATCH.read(rows) if stored.conversation.native_id == CONVERSATION)
    assert len(turn_witnesses(trace)) == len(conversation.metrics) == 3
    assert codes(case_of(conversation, "dispatch-legacy", trace, taken_at=1_790_000_000_000)) == set()


@pytest.mark.parametrize("code", CODES)
def test_an_example_shows_its_own_state_and_none_of_the_others(code: str) -> None:
    assert codes(case(rule(code).example)) == {code}


@pytest.mark.parametrize("code", ["MSG302", "TRACE101", "TRACE201"])
def test_without_a_trace_nothing_is_claimed_of_it(code: str) -> None:
    assert codes(replace(case(rule(code).example), trace=None)) == set()


def test_every_prompt_is_parsed_once_however_many_rules_and_plans_ask() -> None:
    asked: list[str] = []
    looked_at = case(STEERED)
    assert looked_at.trace is not None
    bodies = looked_at.trace.bodies

    def counted(name: str) -> bytes | None:
        asked.append(name)
        return bodies(name)

    counting = replace(looked_at, trace=replace(looked_at.trace, bodies=counted, worked_out={}))
    for _ in range(3):
        assert codes(counting.with_conversation(counting.conversation)) == {"MSG302"}
    assert len(asked) == len(set(asked)) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"\xff",
        b"[" * 100_000,
        [],
        {"messages": 5},
        {"messages": [None, 5, "x", {"role": 5, "chunks": 5}, {"role": "user", "chunks": [None, {"type": "text", "text": 5}]}]},
        {"messages": [{"role": "user", "chunks": [{"type": "text", "text": "\ud800", "stepId": "#" * 9000}]}] * 3},
        {"messages": [{"role": "user", "chunks": [{"stepId": f"{TURN}#{'9' * 5000}"}]}]},
    ],
)
def test_a_hostile_body_is_no_witness_and_raises_nothing(body: Any) -> None:
    for code in ("MSG302", "TRACE201"):
        assert codes(with_prompts(case(rule(code).example), body)) <= {"TRACE201"}
    compacted = case(STEERED + "\n@compactedFrom x\n@lastActivityAt 1782599999999")
    assert "STORE302" not in codes(with_prompts(compacted, body))


def test_steering_is_found_where_only_the_count_of_the_first_prompt_tells_where_the_turn_begins() -> None:
    witness = turn_witnesses(_trace(STEERED))
    assert [(said.texts, said.after) for said in witness[0].between] == [(("stop",), f"{TURN}#0")]
    assert witness[0].question is not None and witness[0].question.texts == ("go",)


def test_a_turn_of_which_no_prompt_tells_the_beginning_says_nothing() -> None:
    text = f"1 user 0.0 text go\nstep {TURN}#0\nstep {TURN}#1\nprompt {TURN}#1 1 user 0.0 text go\nprompt {TURN}#1 2 user 0.0 text stop"
    (witness,) = turn_witnesses(_trace(text))
    assert (witness.question, witness.between) == (None, ())


def test_a_later_note_in_the_same_turn_is_told_apart_from_the_first() -> None:
    more = "\n".join(
        [
            STEERED,
            f"step {TURN}#2",
            *(f"prompt {TURN}#2 {row}" for row in ("1 user 0.0 text go", f'2 assistant 0.0 tool-call a ls {{}} step="{TURN}#0"')),
            f'prompt {TURN}#2 3 tool 1.0 tool-result a f name=ls step="{TURN}#0"',
            f"prompt {TURN}#2 4 user 0.0 text stop",
            f"prompt {TURN}#2 5 user 0.0 text and go on",
        ]
    )
    found = findings(case(more), (rule("MSG302"),))
    assert [finding.evidence[0][1] for finding in found] == ["stop", "and go on"]


def test_only_the_last_step_gone_is_a_note_as_an_empty_answer_leaves_no_row() -> None:
    text = f'1 user 0.0 text go\n2 assistant 0.0 tool-call a ls {{}} step="{TURN}#0"\n3 tool 1.0 tool-result a f name=ls step="{TURN}#0"\nmetrics {TURN} 2'
    (found,) = findings(case(text), (rule("TRACE301"),))
    assert found.severity is Severity.NOTE
    assert "answered with nothing" in found.ruled_out[0][0]


def test_a_loop_says_how_many_how_long_and_what_it_cost() -> None:
    (found,) = findings(case(rule("TRACE201").example), (rule("TRACE201"),))
    assert "4 requests in a row" in found.message and "4 s, 3,600 tokens in and 80 out" in found.message


def test_a_trace_gap_never_says_that_there_was_no_request() -> None:
    (found,) = findings(case(rule("TRACE101").example), (rule("TRACE101"),))
    assert dict(found.ruled_out)["there was no request"].startswith("not to be concluded")


def test_a_renumbered_history_keeps_only_what_step_ids_prove() -> None:
    text = (
        f'1 user 1.0 text summary\n2 user 2.0 text hello\n3 assistant 3.0 text hi\n4 tool 4.0 tool-result a f name=ls step="{TURN}#0"\n'
        f'archive 1 user 0.0 text hello\narchive 2 assistant 0.0 text hi\narchive 3 tool 1.0 tool-result a f name=ls step="{TURN}#0"'
    )
    looked_at = case(text)
    assert looked_at.archive is not None
    assert kept_for_certain(looked_at.conversation, looked_at.archive) == {"4": 2}


@pytest.mark.parametrize(
    ("step", "known"),
    [
        (f"{TURN}#3", (TURN, 3)),
        ("x", ("x", None)),
        ("", ("", None)),
        ("a#-1", ("a#-1", None)),
        ("a#٣", ("a#٣", None)),
        ("a#b#2", ("a#b", 2)),
    ],
)
def test_step_ids_are_taken_apart_without_raising(step: str, known: tuple[str, int | None]) -> None:
    assert turn_of(step) == known


def test_the_time_of_a_turn_is_read_from_its_id() -> None:
    assert (turn_time(TURN), turn_time("turn-x"), turn_time("turn-١٢٣٤٥٦٧٨٩٠١٢-a")) == (1782590000000, None, None)


def _trace(text: str) -> Trace:
    trace = case(text).trace
    assert trace is not None
    return trace
