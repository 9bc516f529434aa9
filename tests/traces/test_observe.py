"""What pages and rules ask of a trace, and that they get None where nothing is known."""

import json
from dataclasses import replace
from typing import Any

import pytest

from inspector.traces import observe
from inspector.traces.model import Step, Trace, TraceRecord
from inspector.traces.tree import build
from tests.traces.stores import both, closed, opened

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True, "tools": [{}, {}, {}]}
PROMPT = {"messages": [{"role": "user", "chunks": []}], "tools": [{"name": "a"}]}
BODIES = {
    "P": json.dumps(PROMPT).encode(),
    "R": json.dumps(REQUEST).encode(),
    "R0": b"{}",
    "bad": b"\xff{",
    "list": b"[1]",
    "deep": b"[" * 99999,
}


def trace_with(prompt: str | None = "P", request: str | None = "R", *more: TraceRecord, **prompt_attributes: object) -> Trace:
    records = [
        *both("t", "turn", 0, 100), *both("s", "step", 10, 40, "t"),
        opened("p", "prompt", 11, "s", body=prompt, attributes=prompt_attributes),
        *both("r0", "provider.request", 13, 14, "s"), opened("r", "provider.request", 15, "s", body=request), *more,
    ]  # fmt: skip
    return build(
        "c1", [replace(record, body="R0") if record.id == "span-open r0 provider.request 13" else record for record in records], BODIES.get
    )


def step_of(trace: Trace) -> Step:
    return trace.steps()[0]


def test_prompt_and_request_of_the_last_try_are_given_as_sent() -> None:
    trace = trace_with()
    assert observe.prompt_body(trace, step_of(trace)) == PROMPT
    assert observe.request_body(trace, step_of(trace)) == BODIES["R"]
    assert observe.parsed_request(trace, step_of(trace)) == REQUEST


def test_a_body_may_stand_on_the_close_record() -> None:
    trace = build("c1", [opened("s", "step", 1), opened("p", "prompt", 2, "s"), closed("p", "prompt", 3, "s", body="P")], BODIES.get)
    assert observe.prompt_body(trace, step_of(trace)) == PROMPT


@pytest.mark.parametrize("body", [None, "bad", "list", "deep", "removed"])
def test_bodies_that_cannot_be_read_are_unknown(body: str | None) -> None:
    trace = trace_with(body, body)
    step = step_of(trace)
    assert observe.prompt_body(trace, step) is None and observe.parsed_request(trace, step) is None
    assert observe.tool_count(trace, step) is None
    assert observe.request_body(trace, step) == BODIES.get(body or "")


def test_a_prompt_without_tools_has_an_empty_list_and_without_messages_is_none() -> None:
    trace = trace_with("p")
    for content, expected in ((b'{"messages":[],"tools":7}', []), (b'{"messages":{}}', None), (b'{"tools":[]}', None)):
        trace.bodies = {"p": content}.get
        prompt = observe.prompt_body(trace, step_of(trace))
        assert (prompt and prompt["tools"]) == expected


def test_tools_are_counted_by_the_prompt_span_then_the_request_then_the_prompt() -> None:
    def count(trace: Trace) -> int | None:
        return observe.tool_count(trace, step_of(trace))

    assert count(trace_with(toolCount=9)) == 9
    assert (
        count(trace_with(toolCount=-1)) == count(trace_with(toolCount="9")) == count(trace_with(toolCount=True)) == count(trace_with()) == 3
    )
    assert count(trace_with(request="bad")) == 1
    assert count(trace_with(request="R0")) == 0


def test_the_finish_reason_is_the_providers_word_or_error_or_unknown() -> None:
    def reason(**close: Any) -> str | None:
        return observe.finish_reason(build("c1", [opened("s", "step", 1), closed("s", "step", 2, **close)]).steps()[0])

    assert reason(attributes={"finishReason": "tool_calls"}) == "tool_calls"
    assert reason(status="error", attributes={"error.message": "401"}) == "error"
    assert reason() is None and reason(attributes={"finishReason": 3}) is None
    assert observe.finish_reason(build("c1", [opened("s", "step", 1)]).steps()[0]) is None


def test_only_a_last_turn_may_still_be_running() -> None:
    trace = build("c1", [opened("a", "turn", 1, turn="a"), *both("b", "turn", 2, 3, turn="b"), opened("c", "turn", 4, turn="c")])
    assert [turn.turn_id for turn in observe.open_turns(trace)] == ["c"]
    ended = build("c1", [opened("a", "turn", 1, turn="a"), *both("b", "turn", 2, 3, turn="b")])
    assert observe.open_turns(ended) == [] and observe.open_turns(Trace("none")) == []
