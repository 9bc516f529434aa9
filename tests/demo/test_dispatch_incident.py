"""The example store says what the incident report says."""

import json
from typing import Any

import pytest

from inspector.demo import dispatch_others as others
from inspector.demo.dispatch_incident import CONVERSATION, store_rows, trace_records
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Record
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.text import jsontext
from inspector.traces.record_id import record_id

# seq, role, msgIdx, chunkIdx, type, and the words that the report prints; it cuts those that end in an ellipsis.
REPORT = """
1 user 0 0 text hello
2 assistant 0 0 thinking The user simply said hello...
3 assistant 0 1 text Hello! How can I help you today?
4 user 0 0 text Can you read some files in this project
5 assistant 0 0 thinking The user is asking me to read files...
6 assistant 0 1 text I'd be happy to read files...
7 user 0 0 text the caching, there are 3 different percentages displayed
8 assistant 0 0 thinking The user wants to look at files related to caching...
9 assistant 0 1 text Let me explore the project structure...
10 assistant 0 2 tool-call find ...
11 assistant 0 3 tool-call grep ...
12 tool 1 0 tool-result ...
13 tool 2 0 tool-result
14 assistant 0 0 thinking <function=run_shell>...
"""
BUGGY = 1
"""Step 1 of turn 3."""


def stored() -> dict[str, str]:
    return {key: value for namespace, key, value in store_rows() if namespace == "conversation-store"}


def bodies(name: str) -> list[dict[str, Any]]:
    """Of the spans of that name in turn 3."""
    turn = last_turn()
    return [
        json.loads(record["body"])
        for record in trace_records()
        if record["name"] == name and record.get("turnId") == turn and "body" in record
    ]


def last_turn() -> str:
    return str(next(record["turnId"] for record in reversed(trace_records()) if record["name"] == "turn"))


def words(chunk: dict[str, Any]) -> str:
    return str(chunk["input"]["command"] if chunk["type"] == "tool-call" else chunk.get("text", chunk.get("content")))


@pytest.mark.parametrize("line", REPORT.strip().splitlines())
def test_a_row_is_as_the_report_prints_it(line: str) -> None:
    seq, role, msg_idx, chunk_idx, kind, *printed = line.split(" ", 5)
    row = json.loads(stored()[f"conv:{CONVERSATION}:chunk:{int(seq):010d}"])
    assert (row["role"], row["msgIdx"], row["chunkIdx"], row["chunk"]["type"]) == (role, int(msg_idx), int(chunk_idx), kind)
    told = "".join(printed)
    if told.endswith("..."):
        assert words(row["chunk"]).startswith(told[:-3])
    else:
        assert words(row["chunk"]) == told


def test_the_counter_is_at_the_last_of_14_rows() -> None:
    rows = [key for key in stored() if key.startswith(f"conv:{CONVERSATION}:chunk:")]
    assert (len(rows), stored()[f"conv:{CONVERSATION}:seq"]) == (14, "14")


def test_rows_are_spelled_as_upstream_spells_them() -> None:
    rows = stored()
    assert rows[f"conv:{CONVERSATION}:chunk:0000000001"] == '{"chunk":{"type":"text","text":"hello"},"role":"user","msgIdx":0,"chunkIdx":0}'
    turn = last_turn()
    assert rows[f"conv:{CONVERSATION}:chunk:0000000013"] == (
        '{"chunk":{"type":"tool-result","toolCallId":"call_c17e05aa3d6f4c92","toolName":"run_shell","content":"","isError":true,'
        f'"stepId":"{turn}#0"}},"role":"tool","msgIdx":2,"chunkIdx":0}}'
    )
    assert rows[f"conv:{CONVERSATION}:meta"].startswith('{"createdAt":17826')


def test_no_key_is_written_twice() -> None:
    keys = [(namespace, key) for namespace, key, _ in store_rows()]
    assert len(keys) == len(set(keys))


def test_the_index_lists_every_conversation_and_the_incident_was_active_last() -> None:
    rows = stored()
    ids = json.loads(rows["conv-index"])
    assert len(ids) == 6
    active = {native_id: json.loads(rows[f"conv:{native_id}:meta"])["lastActivityAt"] for native_id in ids}
    assert max(active, key=lambda native_id: active[native_id]) == CONVERSATION
    assert f"resolved:{CONVERSATION}" in {key for namespace, key, _ in store_rows() if namespace == "system-prompt"}


def test_metrics_tell_as_many_steps_as_the_trace() -> None:
    metrics = [json.loads(value) for key, value in sorted(stored().items()) if ":metrics:" in key]
    steps = [record["turnId"] for record in trace_records() if record["kind"] == "span-open" and record["name"] == "step"]
    assert [step["stepId"].split("#")[0] for turn in metrics for step in turn["steps"]] == steps
    assert [len(turn["steps"]) for turn in metrics] == [1, 1, 2]


def test_the_buggy_step_got_five_messages_and_nine_tools() -> None:
    prompt = bodies("prompt")[BUGGY]
    assert [(message["role"], len(message["chunks"])) for message in prompt["messages"]] == [
        ("user", 6),
        ("user", 1),
        ("assistant", 4),
        ("tool", 1),
        ("tool", 1),
    ]
    assert [chunk["type"] for chunk in prompt["messages"][0]["chunks"]] == ["text", "thinking", "text", "text", "thinking", "text"]
    assert prompt["messages"][4]["chunks"][0]["isError"] is True
    assert len(prompt["tools"]) == 9


def test_the_request_of_the_buggy_step_glues_the_first_two_turns_and_still_holds_its_calls() -> None:
    request = bodies("provider.request")[BUGGY]
    assert list(request) == ["model", "messages", "stream", "stream_options", "tools"]
    system, merged, user, assistant, *results = request["messages"]
    assert system["role"] == "system"
    assert merged["content"].startswith(
        "helloHello! How can I help you today?Can you read some files in this projectI'd be happy to read files"
    )
    assert user == {"role": "user", "content": "the caching, there are 3 different percentages displayed"}
    assert [tool_call["id"] for tool_call in assistant["tool_calls"]] == [message["tool_call_id"] for message in results]
    assert [tool["type"] for tool in request["tools"]] == ["function"] * 9


def test_the_turn_before_started_from_one_merged_message() -> None:
    first = bodies("prompt")[0]
    assert [(message["role"], len(message["chunks"])) for message in first["messages"]] == [("user", 6), ("user", 1)]


def test_the_turn_ends_with_stop_although_nothing_was_called() -> None:
    closes = [record for record in trace_records() if record["kind"] == "span-close" and record.get("turnId") == last_turn()]
    assert [record["attributes"]["finishReason"] for record in closes if record["name"] == "step"] == ["tool_calls", "stop"]
    assert [record["attributes"]["finishReason"] for record in closes if record["name"] == "turn"] == ["stop"]
    assert [record["attributes"]["isError"] for record in closes if record["name"] == "tool-call"] == [False, True]


def test_a_later_load_reports_the_dropped_message() -> None:
    opened = next(record for record in trace_records() if record["name"] == "reconcile.repair")
    assert json.dumps(opened["attributes"], separators=(",", ":")) == (
        '{"repairedCount":0,"firstRepairedToolCallId":null,"strippedErrorChunks":0,"droppedEmptyMessages":1}'
    )
    assert "turnId" not in opened and "parentSpanId" not in opened
    ends = [record["timestamp"] for record in trace_records() if record["name"] == "turn" and record["kind"] == "span-close"]
    assert opened["timestamp"] > max(ends)


def test_one_warming_is_left_open_and_everything_else_is_closed() -> None:
    records = trace_records()
    closed = {record["spanId"] for record in records if record["kind"] == "span-close"}
    left = [record for record in records if record["kind"] == "span-open" and record["spanId"] not in closed]
    assert [(record["name"], record["attributes"]["warm"]) for record in left] == [("provider.request", True)]
    warming = json.loads(left[0]["body"])
    assert warming["messages"][-1]["content"] == "reply with just a ." and warming["max_tokens"] == 1


def test_spans_lie_inside_their_parents() -> None:
    records = trace_records()
    opened = {record["spanId"]: record["timestamp"] for record in records if record["kind"] == "span-open"}
    closed = {record["spanId"]: record["timestamp"] for record in records if record["kind"] == "span-close"}
    inner = [record for record in records if record["kind"] == "span-open" and "parentSpanId" in record]
    assert inner
    for record in inner:
        span, parent = record["spanId"], record["parentSpanId"]
        assert opened[parent] <= opened[span] <= closed[span] <= closed[parent], record["name"]


def test_a_step_begins_when_the_one_before_is_closed() -> None:
    steps = [(record["spanId"], record["kind"]) for record in trace_records() if record["name"] == "step"]
    assert len(steps) == 8
    for (first, opening), (second, closing) in zip(steps[::2], steps[1::2], strict=True):
        assert (first, opening, closing) == (second, "span-open", "span-close")


def test_records_have_ids_of_their_own_and_stay_the_same() -> None:
    ids = [record_id(record) for record in trace_records()]
    assert len(ids) == len(set(ids)) == 55
    assert ids == [record_id(record) for record in trace_records()]


def test_every_state_beside_the_incident_is_found_and_the_healthy_one_is_clean() -> None:
    records = [Record(key, Cell(jsontext.encode(value))) for key, value in sorted(stored().items())]
    found = {
        stored.conversation.native_id: {finding.code for finding in findings(case_of(stored.conversation, "dispatch-legacy"), RULES)}
        for stored in DISPATCH.read(records)
    }
    assert found[others.HEALTHY] == set()
    assert "MSG102" in found[others.MERGED_INTO_ASSISTANT]
    assert "TOOL102" in found[others.UNANSWERED_CALL]
    assert found[others.TRAILING_ERROR] == {"MSG201"}
    assert "STORE101" in found[others.UNREADABLE_ROW]
    assert {"MSG101", "THINK301", "THINK101", "TOOL202"} <= found[CONVERSATION]
