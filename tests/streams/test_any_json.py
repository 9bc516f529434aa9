"""Captures are hostile: no JSON, in any member and any order, makes a machine or a rule raise."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.streams.catalogue import PROTOCOLS
from inspector.streams.model import Frame, Framing, How
from inspector.streams.records import record as record_of
from inspector.streams.request_rules import request_facts
from inspector.streams.violations import BY_NAME

from .spoken import (
    ASKED,
    CALLED,
    ITEM,
    LAST,
    ROLE,
    SPOKEN,
    START,
    STOP,
    USED,
    call,
    completed,
    exchange,
    finish,
    judged,
    line,
    ndjson,
    sse,
)
from .violation_cases import HI

_WORDS = st.sampled_from(
    [
        "type",
        "index",
        "id",
        "name",
        "delta",
        "content",
        "content_block",
        "message",
        "choices",
        "role",
        "tool_calls",
        "function",
        "arguments",
        "finish_reason",
        "usage",
        "error",
        "done",
        "done_reason",
        "thinking",
        "signature",
        "response",
        "output",
        "item",
        "output_index",
        "sequence_number",
        "text",
        "part",
        "created",
        "model",
        "event",
        "stop_reason",
        "partial_json",
        "summary_index",
        "encrypted_content",
        "created_at",
        "reasoning_details",
        "custom",
    ]
)
_TYPES = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
        "text",
        "tool_use",
        "thinking",
        "text_delta",
        "input_json_delta",
        "signature_delta",
        "response.created",
        "response.output_item.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.output_item.done",
        "response.completed",
        "response.failed",
        "function_call",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "reasoning",
        "function",
        "stop",
        "tool_calls",
        "end_turn",
    ]
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TYPES
    | st.text(max_size=5)
    | st.just('{"a":1}')
)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=5), max_leaves=12)
_RECORDS = st.dictionaries(_WORDS, _VALUES, max_size=6) | st.builds(
    lambda kind, rest: {**rest, "type": kind}, _TYPES, st.dictionaries(_WORDS, _VALUES, max_size=6)
)
_ANY = (
    _RECORDS
    | _VALUES
    | st.sampled_from([START, STOP, ROLE, HI, call(), finish(), LAST, line("Hi"), *USED, *SPOKEN, *CALLED, completed(ITEM), "[DONE]", "{"])
)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@settings(max_examples=150, deadline=None)
@given(records=st.lists(_ANY, max_size=12), how=st.sampled_from(How))
def test_no_machine_raises_on_any_json(protocol: str, records: list[Any], how: How) -> None:
    machine = PROTOCOLS[protocol].machine(request_facts(ASKED), frozenset())
    violations = []
    for index, record in enumerate(records):
        data = sse(record) if isinstance(record, str | dict) else sse(json.dumps(record))
        frame = Frame(index, 0, 0, Framing.SSE, data[6:-2])
        observed = machine.take(frame, record_of(frame))
        violations += observed.violations
        assert observed.state == machine.state
    violations += machine.end(how)

    assert {each.name for each in violations} <= set(BY_NAME)
    assert {name for name in (each.name for each in violations) if protocol not in BY_NAME[name].protocols} == set()
    assert len(machine.assembled().blocks) >= 0


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(records=st.lists(_ANY, max_size=12), lines=st.booleans())
def test_no_side_raises_on_any_json(records: list[Any], lines: bool) -> None:
    spelled = [record if isinstance(record, str | dict) else json.dumps(record) for record in records]
    found = judged(
        exchange(ndjson(*spelled) if lines else sse(*spelled), request={"tools": records, "messages": records, "tool_choice": records[:1]})
    )

    assert all(each.total >= len(each.first) > 0 for each in found.evidence)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "-0.0", "9" * 400, "true"])
def test_numbers_that_are_none(number: str) -> None:
    record = json.dumps(HI).replace("1750000000", number).replace('"index": 0', f'"index": {number}')

    assert judged(sse(record)).protocol == "openai-chat"
