"""What the kernel believed and what was sent, aligned with the store: the incident's own step, half-recorded steps, hostile bodies."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from inspector.conversation.model import Chunk, Kind
from inspector.demo.dispatch_incident import CONVERSATION, store_rows, trace_records
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Record
from inspector.projections.catalogue import projection
from inspector.projections.observed import NO_PROMPT, NO_REQUEST, ObservedStep, observed
from inspector.text import jsontext
from inspector.traces.log_record import record_of
from inspector.traces.model import Trace
from inspector.traces.tree import build
from tests.folding import in_one_test

SHAPE = projection("dispatch-openai")
SYSTEM = {"role": "system", "content": "be good"}
HELLO, HI = {"type": "text", "text": "hello"}, {"type": "text", "text": "hi"}


def trace_of(records: Iterable[dict[str, Any]], conversation: str) -> Trace:
    """Bodies are named by their own text."""
    read = [record_of(fields, str(order), order, fields.get("body"), pytest.fail) for order, fields in enumerate(records)]
    return build(conversation, read, lambda name: name.encode("utf-8", "surrogatepass"))


def incident_step(index: int) -> ObservedStep:
    rows = [Record(key, Cell(jsontext.encode(value))) for _, key, value in store_rows() if key.startswith(f"conv:{CONVERSATION}:chunk:")]
    trace = trace_of(trace_records(), CONVERSATION)
    found = observed(trace, trace.steps()[index], next(DISPATCH.read(rows)).conversation.chunks, SHAPE)
    assert found
    return found


def chunk(seq: int, payload: dict[str, Any], role: str = "user") -> Chunk:
    return Chunk(f"k{seq}", seq, role, Kind(payload["type"]), payload, 0, 0)


def step_of(prompt: str | None, request: str | None, *chunks: Chunk, attempts: int = 1, **noted: Any) -> ObservedStep | None:
    def opened(span: str, name: str, parent: str, body: str | None = None, **attributes: Any) -> dict[str, Any]:
        record = {
            "kind": "span-open",
            "spanId": span,
            "name": name,
            "timestamp": 1,
            "extensionId": "e",
            "conversationId": "c",
            "turnId": "t",
        }
        return {**record, "parentSpanId": parent, "attributes": attributes, **({} if body is None else {"body": body})}

    records = [opened("s", "step", "")]
    records += [opened("p", "prompt", "s", prompt, **noted)] if prompt is not None else []
    records += [
        opened(f"r{number}", "provider.request", "s", request, model="noted") for number in range(attempts if request is not None else 0)
    ]
    trace = trace_of(records, "c")
    return observed(trace, trace.steps()[0], chunks, SHAPE)


def believed(*messages: tuple[str, list[Any]], **more: Any) -> str:
    return json.dumps({"messages": [{"role": role, "chunks": chunks} for role, chunks in messages], "tools": [], **more})


def sent(*messages: Any, **more: Any) -> str:
    return json.dumps({"model": "m", "messages": list(messages), **more})


def shown(found: ObservedStep | None) -> list[tuple[str, tuple[int, ...]]]:
    assert found
    return [(message.role, message.seqs) for message in found.prompt_messages]


def test_the_buggy_step_believed_one_user_message_of_six_chunks_and_the_rest_intact() -> None:
    assert shown(incident_step(-1)) == [
        ("user", (1, 2, 3, 4, 5, 6)),
        ("user", (7,)),
        ("assistant", (8, 9, 10, 11)),
        ("tool", (12,)),
        ("tool", (13,)),
    ]


def test_the_buggy_step_sent_what_it_believed_with_the_thinking_of_the_merged_message_lost() -> None:
    found = incident_step(-1)
    assert found.prompt.sources()["messages.0"] == [1, 3, 4, 6]
    assert found.prompt.sources()["messages.2.tool_calls.1"] == [11]
    assert [message.value["role"] for message in found.prompt.messages] == ["user", "user", "assistant", "tool", "tool"]
    assert [dropped.seqs for dropped in found.prompt.lost] == [(2, 5)]
    assert found.system is not None and found.system["content"].startswith("You are")
    assert (found.model, found.tool_count, found.finish_reason, found.notes, found.computed) == ("umans-flash", 9, "stop", (), False)


def test_matched_chunks_are_the_stored_ones() -> None:
    stored = chunk(1, HELLO)
    found = step_of(believed(("user", [dict(reversed(HELLO.items()))])), None, stored)
    assert found and found.prompt_messages[0].chunks[0] is stored


def test_a_value_is_equal_as_json_is_and_true_is_not_one() -> None:
    one = {"type": "tool-call", "toolCallId": "a", "toolName": "ls", "input": 1}
    stored = chunk(1, {**one, "input": True}), chunk(2, {**one, "input": 1.0})
    assert shown(step_of(believed(("assistant", [one])), None, *stored)) == [("assistant", (2,))]


def test_equal_chunks_are_taken_in_order_each_once_and_the_next_before_an_earlier_one() -> None:
    stored = chunk(1, HI), chunk(2, HELLO), chunk(3, HI)
    assert shown(step_of(believed(("user", [HELLO, HI, HI, HI])), None, *stored)) == [("user", (2, 3, 1, 0))]


def test_a_chunk_that_the_store_does_not_hold_is_kept_and_named() -> None:
    found = step_of(believed(("user", [HELLO]), ("user", [HI, {"type": "new"}, 5])), None, chunk(1, HELLO))
    assert found
    assert [held.key for held in found.prompt_messages[1].chunks] == ["observed:1.0", "observed:1.1", "observed:1.2"]
    known, *others = found.prompt_messages[1].chunks
    assert (known.seq, known.kind, known.text) == (0, Kind.TEXT, "hi")
    assert {held.kind for held in others} == {Kind.UNREADABLE}
    assert found.notes[0] == "3 chunks of the prompt (1.0, 1.1, 1.2) are not in the store as they were sent"


def test_without_a_request_the_conversion_is_computed_and_said_to_be() -> None:
    found = step_of(believed(("user", [HELLO])), None, chunk(1, HELLO))
    assert found and found.computed
    assert found.prompt.values == [{"role": "user", "content": "hello"}]
    assert found.notes == (f"{NO_REQUEST}; what is shown as sent is computed from the prompt",)


def test_without_a_prompt_the_request_has_no_parts() -> None:
    user = {"role": "user", "content": "hello"}
    found = step_of(None, sent(SYSTEM, user, tools=[{}, {}]), chunk(1, HELLO))
    assert found
    assert (found.prompt_messages, found.system, found.prompt.values, found.prompt.sources()) == ((), SYSTEM, [user], {})
    assert (found.tool_count, found.notes) == (2, (NO_PROMPT,))


def test_without_either_there_is_nothing() -> None:
    assert step_of(None, None, chunk(1, HELLO)) is None


def test_a_message_that_differs_has_no_parts_and_those_around_it_keep_theirs() -> None:
    wire = [{"role": "user", "content": text} for text in ("hello", "changed", "hi")]
    found = step_of(
        believed(("user", [HELLO]), ("user", [HELLO]), ("user", [HI])), sent(*wire), chunk(1, HELLO), chunk(2, HELLO), chunk(3, HI)
    )
    assert found and found.prompt.values == wire
    assert found.prompt.sources() == {"messages.0": [1], "messages.0.content": [1], "messages.2": [3], "messages.2.content": [3]}
    assert found.notes == ("message 1 differs from what the converter makes of the prompt",)


def test_parts_count_from_their_place_in_the_request() -> None:
    extra = {"role": "user", "content": "put in between"}
    wire = [{"role": "user", "content": "hello"}, extra, {"role": "user", "content": "hi"}]
    found = step_of(believed(("user", [HELLO]), ("user", [HI])), sent(SYSTEM, *wire), chunk(1, HELLO), chunk(2, HI))
    assert found and found.prompt.sources()["messages.2.content"] == [2]
    assert "messages.1" not in found.prompt.sources()


def test_a_message_that_was_left_out_of_the_request_is_noted() -> None:
    found = step_of(believed(("user", [HELLO]), ("user", [HI])), sent({"role": "user", "content": "hi"}), chunk(1, HELLO), chunk(2, HI))
    assert found and found.prompt.sources()["messages.0"] == [2]
    assert found.notes == ("the converter makes 2 messages of the prompt, the request has 1",)


def test_a_system_message_that_the_kernel_had_stays_in_the_prompt() -> None:
    own = {"type": "system", "text": "be good"}
    found = step_of(believed(("system", [own])), sent(SYSTEM), chunk(1, own, "system"))
    assert found and (found.system, found.prompt.values) == (None, [SYSTEM])
    assert found.prompt.sources()["messages.0"] == [1]


def test_a_retried_request_and_tools_that_got_lost_are_noted() -> None:
    found = step_of(believed(("user", [HELLO])), sent({"role": "user", "content": "hello"}), chunk(1, HELLO), attempts=3, toolCount=9)
    assert found and found.tool_count == 9
    assert found.notes == ("the request was sent 3 times; this is the last", "the prompt offered 9 tools, the request carries 0")


DEEP = "[" * 600 + "]" * 600
HOSTILE = [
    "", "{", "[]", "null", "5", "\ud800", "NaN", "9" * 5000, DEEP, "[" * 99999,
    '{"messages":5}', '{"messages":null}', '{"messages":[]}', '{"messages":[5,null,"x",[],{},{"role":7,"chunks":{}}]}',
    '{"messages":[{"role":"user","chunks":[5,null,[],{},{"type":5},{"type":["text"]},{"type":"text","text":7}]}]}',
    '{"messages":[{"role":"assistant","chunks":[{"type":"tool-call","toolCallId":[],"toolName":{},"input":1e999}]}],"tools":7}',
    f'{{"messages":[{{"role":"assistant","chunks":[{{"type":"tool-call","input":{DEEP}}}]}}]}}',
    '{"messages":[{"role":"user","chunks":[{"type":"unreadable"},{"type":"text","text":"\\ud800"}]}],"model":5}',
    '{"messages":[{"role":"system","content":5},{"role":["user"],"tool_calls":{}}],"model":[],"tools":{}}',
]  # fmt: skip


@in_one_test("prompt", [None, *HOSTILE, believed(("user", [HELLO]))], ids=lambda text: repr(text)[:24])
@in_one_test("request_body", [None, *HOSTILE, sent({"role": "user", "content": "hello"})], ids=lambda text: repr(text)[:24])
def test_hostile_bodies_do_not_raise(prompt: str | None, request_body: str | None) -> None:
    found = step_of(prompt, request_body, chunk(1, HELLO))
    assert found is None or len(found.notes) <= 21


def test_notes_are_bounded() -> None:
    wire = [{"role": "user", "content": str(number)} for number in range(500)]
    found = step_of(believed(("user", [HELLO])), sent(*wire), chunk(1, HELLO))
    assert found and len(found.notes) == 21 and found.notes[-1] == "and 480 more notes"
