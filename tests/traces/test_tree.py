"""Turns, steps, the lane, and what a trace says about itself when parts of it are missing."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.traces.model import Span, Trace, TraceRecord
from inspector.traces.spans import MAX_DEPTH
from inspector.traces.tree import build
from tests.folding import in_one_test
from tests.traces.stores import EXAMPLES, both, closed, opened, read_database, read_journal, write_database, write_journal

STEP = [
    *both("t", "turn", 0, 100),
    *both("s1", "step", 10, 40, "t"),
    *both("p1", "prompt", 11, 12, "s1", toolCount=2),
    *both("r1", "provider.request", 13, 30, "s1"),
    *both("c1", "tool-call", 31, 39, "s1"),
    *both("s2", "step", 50, 90, "t"),
]


def everything(trace: Trace) -> list[Span]:
    """Every span that a page can reach, each once."""
    found: dict[int, Span] = {}
    waiting = [*trace.lane, *(step.span for step in trace.steps())]
    for turn in trace.turns:
        waiting += [*turn.other, *([turn.span] if turn.span else [])]
    while waiting:
        span = waiting.pop()
        if id(span) not in found:
            found[id(span)] = span
            waiting += span.children
    return list(found.values())


def names(spans: list[Span]) -> list[str]:
    return [span.span_id for span in spans]


def said(trace: Trace) -> str:
    return "\n".join(trace.problems)


def test_a_turn_has_its_steps_in_order_with_prompt_request_and_tool_calls() -> None:
    trace = build("c1", reversed(STEP))
    (turn,) = trace.turns
    assert turn.span and turn.span.span_id == "t" and turn.other == []
    first, second = turn.steps
    assert (first.step_id, second.step_id, second.span.span_id) == ("t1#0", "t1#1", "s2")
    assert first.prompt and first.request
    assert (first.prompt.span_id, first.request.span_id, names(first.tool_calls)) == ("p1", "r1", ["c1"])
    assert trace.step("t1#1") is second and trace.problems == ()


def test_turns_come_in_order_of_their_start() -> None:
    later = [replace(record, turn_id="t0", span_id="late", timestamp=record.timestamp + 500, id="late" + record.id) for record in STEP[:2]]
    assert [turn.turn_id for turn in build("c1", [*later, *STEP]).turns] == ["t1", "t0"]


def test_steps_of_one_millisecond_are_counted_in_stored_order() -> None:
    records = [opened("b", "step", 5, order=2), opened("a", "step", 5, order=1)]
    assert [step.span.span_id for step in build("c1", records).steps()] == ["a", "b"]


def test_retries_are_several_requests_of_one_step_and_the_last_one_counts() -> None:
    records = [*STEP, *both("r2", "provider.request", 33, 36, "s1"), opened("r3", "provider.request", 37, "s1")]
    step = build("c1", records).steps()[0]
    assert names(step.requests) == ["r1", "r2", "r3"]
    assert step.request and step.request.state == "never closed"


@pytest.mark.parametrize("mark", ["warm", "compaction"])
def test_side_calls_stand_in_the_lane_and_never_in_a_step(mark: str) -> None:
    marked: dict[str, Any] = {mark: True}
    apart = both("w", "provider.request", 35, 36, "", "", **marked)
    inside = both("w2", "provider.request", 37, 38, "s1", "t1", **marked)
    with_turn = both("w3", "provider.request", 39, 40, "", "t1", **marked)
    trace = build("c1", [*STEP, *apart, *inside, *with_turn])
    assert names(trace.lane) == ["w", "w3"] and trace.turns[0].other == []
    assert names(trace.steps()[0].requests) == ["r1"]
    assert "w2" in names(everything(trace))


def test_a_repair_on_load_stands_in_the_lane() -> None:
    repair = both("x", "reconcile.repair", 5, 6, turn="", droppedEmptyMessages=1)
    trace = build("c1", [*STEP, *repair])
    assert names(trace.lane) == ["x"] and trace.lane[0].attributes == {"droppedEmptyMessages": 1}


def test_a_close_without_open_is_still_a_step_and_stands_where_it_started() -> None:
    records = [closed("s0", "step", 45, "t", duration_ms=43), *(record for record in STEP if record.id != "span-open s2 step 50")]
    trace = build("c1", records)
    assert [step.span.span_id for step in trace.steps()] == ["s0", "s1", "s2"]
    assert trace.steps()[0].span.state == "open record missing"
    assert "2 spans have a close record but no open record" in said(trace) and "unknown, not absent" in said(trace)


def test_an_open_without_close_says_that_its_end_is_unknown() -> None:
    trace = build("c1", [record for record in STEP if record.id != "span-close r1 provider.request 30"])
    request = trace.steps()[0].request
    assert request and request.state == "never closed" and request.end is None
    assert "1 span was opened and never closed" in said(trace)


def test_a_missing_parent_loses_nothing_and_warns_of_step_numbers() -> None:
    trace = build("c1", [record for record in STEP if record.span_id not in ("t", "s1")])
    (turn,) = trace.turns
    assert turn.span is None and names(turn.other) == ["p1", "r1", "c1"]
    assert [step.step_id for step in turn.steps] == ["t1#0"] and turn.steps[0].span.span_id == "s2"
    assert "4 spans name a parent that is not recorded" in said(trace) and "step numbers" in said(trace)


def test_spans_of_a_turn_that_hang_under_no_step_are_kept_beside_them() -> None:
    trace = build("c1", [*STEP, *both("o", "tool-call", 60, 61, "t")])
    assert names(trace.turns[0].other) == ["o"]


def test_loops_of_parents_are_cut_and_lose_nothing() -> None:
    records = [
        *both("a", "step", 1, 9, "c"), *both("b", "prompt", 2, 8, "a"), *both("c", "tool-call", 3, 7, "b"),
        *both("self", "decode", 4, 5, "self"), *both("x", "prompt", 1, 2, "y", turn=""), *both("y", "prompt", 2, 3, "x", turn=""),
    ]  # fmt: skip
    trace = build("c1", records)
    assert sorted(names(everything(trace))) == ["a", "b", "c", "self", "x", "y"]
    assert [step.span.span_id for step in trace.steps()] == ["a"] and names(trace.lane) == ["x"]
    assert "3 chains of parents led back" in said(trace)


def test_what_hangs_under_a_loop_stays_there() -> None:
    trace = build("c1", [*both("z", "decode", 0, 1, "a"), *both("a", "prompt", 1, 9, "b"), *both("b", "ttft", 2, 8, "a")])
    (root,) = trace.turns[0].other
    assert root.span_id == "a" and names(root.children) == ["z", "b"]
    assert "1 chain of parents led back" in said(trace)


def test_a_chain_without_end_does_not_become_a_tree_without_end() -> None:
    trace = build("c1", [record for n in range(1000) for record in both(f"n{n}", "decode", n, n + 1, f"n{n - 1}" if n else "")])
    assert len(everything(trace)) == 1000

    def depth(span: Span) -> int:
        return 1 + max(map(depth, span.children), default=0)

    assert max(map(depth, trace.turns[0].other)) == MAX_DEPTH + 1
    assert "nested too deep" in said(trace)


def test_one_span_id_with_two_names_makes_two_spans() -> None:
    records = [*both("t", "turn", 0, 100), opened("d", "prompt", 10, "t"), closed("d", "step", 30, "t", duration_ms=10)]
    trace = build("c1", records)
    halves = {(span.name, span.state) for span in everything(trace) if span.span_id == "d"}
    assert halves == {("prompt", "never closed"), ("step", "open record missing")}
    assert "1 span used the id of another span" in said(trace)


def test_one_span_id_used_again_later_makes_two_spans_with_their_own_children_and_logs() -> None:
    records = [*both("d", "step", 10, 20), *both("d", "step", 50, 60), *both("k", "prompt", 52, 53, "d"), *both("j", "prompt", 12, 13, "d")]
    log = replace(records[0], id="log", kind="log", timestamp=55, name="", message="second")
    first, second = build("c1", [*records, log]).steps()
    assert (first.span.end, second.span.end) == (20, 60)
    assert (names(first.span.children), names(second.span.children)) == (["j"], ["k"])
    assert (first.span.logs, second.span.logs) == ([], [log])


def test_a_reused_span_id_prefers_the_parent_of_its_own_turn() -> None:
    records = [*both("d", "step", 10, 90), *both("d", "step", 20, 80, turn="t2"), *both("k", "prompt", 30, 40, "d")]
    assert names(build("c1", records).turns[0].steps[0].span.children) == ["k"]


def test_log_lines_stand_in_their_span_or_in_the_trace() -> None:
    inside = replace(opened("r1", "", 20), id="l1", kind="log", message="inside")
    loose = replace(opened("gone", "", 21), id="l2", kind="log", message="loose")
    plain = replace(opened("", "", 22, turn=""), id="l3", kind="log", message="plain")
    trace = build("c1", [*STEP, loose, inside, plain])
    request = trace.steps()[0].request
    assert request and request.logs == [inside] and trace.logs == [loose, plain]


def test_records_of_unknown_kind_are_listed_and_named() -> None:
    odd = replace(opened("r1", "x", 20), id="odd", kind="metric")
    trace = build("c1", [*STEP, odd])
    assert odd in [log for span in everything(trace) for log in span.logs] and "1 record of an unknown kind" in said(trace)


def test_a_turn_of_which_only_a_log_line_is_left_is_still_a_turn() -> None:
    trace = build("c1", [replace(opened("gone", "", 1, turn="t9"), kind="log")])
    assert [(turn.turn_id, turn.span, turn.steps) for turn in trace.turns] == [("t9", None, [])]


def test_other_conversations_are_left_out_and_unnamed_records_of_this_one_kept() -> None:
    foreign = [replace(record, conversation_id="c2", id="f" + record.id, turn_id="t2", span_id="f" + record.span_id) for record in STEP]
    unnamed = replace(closed("s2", "step", 95, "t", status="error"), conversation_id="", turn_id="")
    stranger = opened("z", "boot", 1, turn="", conversation_id="")
    kept = [record for record in STEP if record.id != "span-close s2 step 90"]
    by_turn = opened("late", "ttft", 96, conversation_id="")
    trace = build("c1", [*foreign, *kept, unnamed, stranger, by_turn])
    assert [turn.turn_id for turn in trace.turns] == ["t1"] and trace.lane == []
    assert trace.steps()[1].span.closed == unnamed and names(trace.turns[0].other) == ["late"]


def test_one_record_of_several_sources_counts_once_and_takes_the_body_where_it_still_is() -> None:
    request = opened("r1", "provider.request", 13, "s1", id="same")
    trace = build("c1", [*STEP[:4], request, replace(request, body="name", order=99), request])
    (only,) = trace.steps()[0].requests
    assert only.body == "name" and only.opened and only.opened.order == 13


def test_two_different_records_with_one_id_are_both_kept() -> None:
    trace = build("c1", [opened("a", "step", 1, id="same"), opened("b", "step", 2, id="same")])
    assert [step.span.span_id for step in trace.steps()] == ["a", "b"] and "had the id of a different record" in said(trace)


def test_database_journal_and_rotated_journal_merge_without_duplicates(tmp_path: Path) -> None:
    records = list(EXAMPLES.values())
    sources = [
        read_database(write_database(tmp_path / "traces.db", records[:3])),
        read_journal(write_journal(tmp_path / "app.ndjson.1", records[1:])),
        read_journal(write_journal(tmp_path / "app.ndjson", records[2:] + records[:1]), 10_000),
    ]
    trace = build("conv-1", [record for source in sources for record in source.records])
    (step,) = trace.steps()
    assert step.span.state == "complete"
    assert [span.span_id for span in everything(trace)].count("span-3") == 1 and [log.message for log in trace.logs] == ["hello"]
    assert {body for source in sources for body in source.bodies.values()} == {b"the full prompt text"}


def test_many_uses_of_one_span_id_do_not_take_quadratic_time() -> None:
    records = [opened("same", "decode", n, "same", id=str(n)) for n in range(20_000)]
    assert len(everything(build("c1", records))) == 20_000


@in_one_test("seed", range(40))
def test_no_span_and_no_log_is_ever_lost(seed: int) -> None:
    chance = random.Random(seed)
    kinds = ["turn", "step", "prompt", "provider.request", "tool-call"]
    ids = [f"s{n}" for n in range(12)]
    records = [
        TraceRecord(
            str(n), chance.choice(["span-open", "span-close", "log"]), chance.randrange(50), n, "e", chance.choice(kinds),
            span_id=chance.choice([*ids, ""]), parent_span_id=chance.choice([*ids, "", "gone"]), conversation_id="c1",
            turn_id=chance.choice(["t1", "t2", ""]), duration_ms=chance.choice([None, 3]),
            attributes={"warm": True} if chance.random() < 0.1 else {},
        )
        for n in range(60)
    ]  # fmt: skip
    trace = build("c1", records)
    spans = everything(trace)
    found = [record.id for span in spans for record in (span.opened, span.closed, *span.logs) if record]
    assert sorted([*found, *(log.id for log in trace.logs)], key=int) == [record.id for record in records]
    shuffled = records[:]
    chance.shuffle(shuffled)
    assert build("c1", shuffled).problems == trace.problems
