"""An answer that was not streamed says as events what it says whole, and is judged by the same rules."""

import json
from typing import Any

import pytest

from inspector.presentation.diagnose.stream import pasted_stream
from inspector.presentation.stream.report import StreamAnalysis, analysed
from inspector.rules.base import Severity
from inspector.sources import captures
from inspector.streams.corrected_answers import corrected_answer
from inspector.streams.whole_answers import as_stream

CALL = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "/"}'}}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def chat(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1790000000, "model": "gpt-5", "choices": [choice], "usage": USAGE}


def anthropic(*blocks: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    around = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6", "stop_sequence": None}
    return {**around, "content": list(blocks), "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 2}}


def responses(*items: dict[str, Any], **members: Any) -> dict[str, Any]:
    around = {"id": "resp_1", "object": "response", "created_at": 1790000000, "status": "completed", "model": "gpt-5"}
    return {**around, "output": list(items), "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, **members}


def read(answer: dict[str, Any]) -> StreamAnalysis:
    stream = as_stream(answer)
    assert stream is not None
    (exchange,) = captures.read_bytes(stream[1], "answer").exchanges
    return analysed(exchange)


TEXT = {"type": "text", "text": "I look."}
USE = {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "/"}}
THOUGHT = {"type": "thinking", "thinking": "Where?", "signature": "EqQBCkgI"}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
}
WHOLE = {
    "chat: text": chat({"content": "I look."}),
    "chat: calls that say their place, and one without its type": chat(
        {"content": "", "tool_calls": [CALL | {"index": 0}, {"id": "call_2", "index": 0, "function": CALL["function"]}]}, "tool_calls"
    ),
    "chat: a call": chat({"content": None, "tool_calls": [CALL]}, "tool_calls"),
    "anthropic: text": anthropic(TEXT),
    "anthropic: thinking and a call": anthropic(THOUGHT, TEXT, USE, stop="tool_use"),
    "anthropic: a block that comes whole": anthropic({"type": "redacted_thinking", "data": "EqQB"}, TEXT),
    "responses": responses({"type": "reasoning", "id": "rs_1", "summary": []}, MESSAGE),
    "responses: a call": responses(
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": "{}", "status": "completed"}
    ),
}


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE)
def test_a_right_answer_is_accused_of_nothing(answer: dict[str, Any]) -> None:
    analysis = read(answer)
    assert not analysis.findings and "it ended as it should, and nothing is wrong" in analysis.verdict


@pytest.mark.parametrize(
    "answer",
    [
        chat({"content": "I lo"}, "length"),
        chat({"content": None, "tool_calls": [CALL | {"function": {"name": "ls", "arguments": '{"pa'}}]}, "length"),
        anthropic(TEXT, stop="max_tokens"),
        responses(MESSAGE, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ],
)
def test_one_that_stopped_at_its_limit_says_so(answer: dict[str, Any]) -> None:
    assert "it stopped at the limit of its tokens (" in read(answer).verdict


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE)
def test_the_events_of_an_answer_are_that_answer_again(answer: dict[str, Any]) -> None:
    stream = as_stream(answer)
    assert stream is not None
    assert corrected_answer(answer, stream[1].decode()) == answer


LEAKED = 'I look. <tool_call>{"name": "ls", "arguments": {"path": "/"}}</tool_call>'


def corrected(answer: dict[str, Any]) -> dict[str, Any]:
    shown = pasted_stream(read(answer), answer)
    assert shown.is_json, shown
    value: dict[str, Any] = json.loads(shown.corrected)
    assert not [finding for finding in read(value).findings if finding.severity is not Severity.NOTE], "nothing is wrong with it any more"
    return value


@pytest.mark.parametrize(
    "answer",
    [
        chat({"content": LEAKED, "refusal": None, "name": "bob", "reasoning": "Where?"}) | {"system_fingerprint": "fp_1"},
        chat({"content": f"a\u2028{LEAKED}"}),
        anthropic(THOUGHT, {"type": "text", "text": LEAKED}),
        responses(
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {**MESSAGE, "content": [{"type": "output_text", "text": LEAKED, "annotations": []}]},
        ),
    ],
    ids=["chat", "line separator", "anthropic", "responses"],
)
def test_a_corrected_answer_is_one_again_with_all_that_the_correction_leaves_alone(answer: dict[str, Any]) -> None:
    """The corrected body was shown as events, with the first second of 2020 for its time."""
    value = corrected(answer)
    changed = {name for name in answer if value[name] != answer[name]}
    assert value.keys() == answer.keys() and changed <= {"choices", "content", "stop_reason", "output"}
    text = json.dumps(value)
    assert "tool_call>" not in text and '"ls"' in text and "I look." in text
    if "choices" in answer:
        before, after = answer["choices"][0]["message"], value["choices"][0]["message"]
        assert {name: part for name, part in after.items() if name not in ("content", "tool_calls")} == {
            name: part for name, part in before.items() if name != "content"
        }
    if "output" in answer:
        assert [item.get("id") for item in value["output"][:2]] == ["rs_1", "msg_1"], "ids that go with what is encrypted"


def test_parts_that_are_right_keep_what_no_stream_would_write() -> None:
    signed = CALL | {"extra_content": {"google": {"thought_signature": "sig"}}}
    value = corrected(chat({"content": None, "tool_calls": [signed, CALL]}, "tool_calls"))
    first, second = value["choices"][0]["message"]["tool_calls"]
    assert first == signed and second["id"] != "call_1" and second["function"] == CALL["function"]
    cited = {"type": "text", "text": "B", "citations": [{"type": "char_location", "cited_text": "x"}]}
    blocks = [TEXT, cited, USE | {"caller": {"type": "direct"}}]
    value = corrected(anthropic(*blocks))
    assert (value["content"], value["stop_reason"]) == (blocks, "tool_use")
    items = [
        MESSAGE | {"phase": "commentary"},
        MESSAGE | {"id": "msg_2"},
        {"type": "function_call", "id": "fc_1", "name": "ls", "arguments": "{}"},
    ]
    value = corrected(responses(*items))
    assert value["output"][:2] == items[:2] and value["output"][2] == items[2] | {"call_id": value["output"][2]["call_id"]}


SECOND = {"index": 1, "message": {"role": "assistant", "content": "second"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    "choices",
    [
        lambda first: [first, SECOND],
        lambda first: [first | {"index": 1}],
        lambda first: [first | {"index": "0"}],
        lambda first: [first, first],
        lambda first: [first | {"message": first["message"] | {"tool_calls": [3]}}],
    ],
)
def test_what_a_stream_cannot_give_back_is_shown_as_events(choices: Any) -> None:
    """Of several choices the others would be empty."""
    answer = chat({"content": LEAKED})
    answer["choices"] = choices(answer["choices"][0])
    shown = pasted_stream(read(answer), answer)
    assert not shown.is_json and (not shown.corrected or shown.corrected.startswith("data: "))


def test_a_corrected_answer_that_is_long_is_not_shown() -> None:
    answer = chat({"content": LEAKED}) | {"metadata": "x" * 30_000}
    shown = pasted_stream(read(answer), answer)
    assert not shown.corrected and shown.why_not == "The corrected answer is too long to be shown here."


def test_the_events_of_many_choices_hold_the_rest_of_the_answer_once() -> None:
    stream = as_stream(chat({"content": "x"}) | {"choices": [{}] * 200, "metadata": "x" * 10_000})
    assert stream is not None and len(stream[1]) < 200_000


def test_what_is_wrong_with_it_is_found() -> None:
    leaked = read(chat({"content": '<tool_call>{"name": "ls", "arguments": {}}</tool_call>'}))
    assert "STREAM125" in {finding.code for finding in leaked.findings}
    torn = read(chat({"content": None, "tool_calls": [CALL | {"function": {"name": "ls", "arguments": '{"pa'}}]}, "tool_calls"))
    assert "STREAM120" in {finding.code for finding in torn.findings}


@pytest.mark.parametrize(
    "other",
    [
        None,
        [],
        "x",
        {},
        {"object": "list"},
        {"type": "message", "content": "x"},
        {"object": "chat.completion", "choices": None},
        chat({"content": None, "audio": {"id": "a"}}),
        responses(status="queued"),
        responses(status=["x"]),
    ],
)
def test_what_is_no_answer_is_none(other: Any) -> None:
    assert as_stream(other) is None


@pytest.mark.parametrize(
    "hostile",
    [
        anthropic(None, 3, {"type": ["text"]}, {"type": "text", "text": None}),  # type: ignore[arg-type]
        {"object": "chat.completion", "choices": [None, {"message": 3}, {"message": {"tool_calls": [None, {"function": 3}]}}]},
        {"object": "response", "output": [None, {"type": 3}], "status": "completed"},
    ],
)
def test_hostile_answers_are_read(hostile: dict[str, Any]) -> None:
    assert read(json.loads(json.dumps(hostile))).verdict
