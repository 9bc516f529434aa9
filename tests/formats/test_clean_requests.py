"""Bodies as the official clients build them raise no alarm, and their less usual blocks are judged and repaired as the usual ones are."""

import json
from typing import Any

import pytest

from inspector.conversation.edits import Plan, apply
from inspector.conversation.model import Kind
from inspector.detectors.base import Case, Severity, at_least, case_of, findings
from inspector.detectors.catalogue import RULES
from inspector.formats.base import Cell, Record, Stored
from inspector.formats.catalogue import format_named
from inspector.profiles.judging import judged
from inspector.projections.catalogue import projection
from inspector.repairs.catalogue import strategy

CHAT, RESPONSES, AI = "openai-chat-request", "openai-responses-request", "ai-sdk-messages"


def stored(name: str, body: Any) -> Stored:
    return next(iter(format_named(name).read([Record("request.json", Cell(json.dumps(body).encode(), "file"))])))


def case(name: str, body: Any) -> Case:
    return case_of(stored(name, body).conversation, format_named(name).default_reader)


def violations(name: str, body: Any, profile: str) -> list[tuple[str, str]]:
    found = case(name, body)
    return [
        (each.id, each.path)
        for each in judged(found.reading, found.conversation, profile, format_named(name).default_projection)[1].violations
    ]


def alarms(name: str, body: Any) -> list[str]:
    return [found.code for found in findings(case(name, body), RULES) if at_least(found.severity, Severity.WARNING)]


def repaired(name: str, body: Any, *strategies: str) -> Any:
    format_, held = format_named(name), stored(name, body)
    edits: list[Any] = []
    now = case(name, body)
    for each in strategies:
        made = list(strategy(each).propose(now))
        edits += made
        now = now.again(apply(now.conversation, made))
    plan = Plan("request.json", held.conversation.native_id, "same-file", strategies, frozenset(), "", tuple(edits), {})
    changes = format_.write(plan, held)
    assert changes and changes[0].after is not None
    return json.loads(changes[0].after.data)


def user(words: Any = "go") -> dict[str, Any]:
    return {"role": "user", "content": words}


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def called(call: str, **more: Any) -> dict[str, Any]:
    return item("function_call", id=f"fc_{call}", call_id=call, name="shell", arguments="{}", **more)


def output(call: str) -> dict[str, Any]:
    return item("function_call_output", call_id=call, output="ok")


CUSTOM_CHAT = {"id": "call_c", "type": "custom", "custom": {"name": "code", "input": "print(1)"}}
CUSTOM = item("custom_tool_call", id="ctc_1", call_id="call_3", name="apply_patch", input="*** Begin")
APPROVED = [
    user(),
    {
        "role": "assistant",
        "content": [
            {"type": "tool-call", "toolCallId": "c", "toolName": "rm", "input": {}},
            {"type": "tool-approval-request", "approvalId": "ap", "toolCallId": "c"},
        ],
    },
    {"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "ap", "approved": True}]},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "rm", "output": {"type": "text", "value": "ok"}}]},
    user("and?"),
]
CLEAN: dict[str, tuple[str, Any, str]] = {
    "a refusal": (CHAT, [user(), {"role": "assistant", "content": None, "refusal": "No."}, user("well")], "openai-chat"),
    "a spoken answer": (CHAT, [user(), {"role": "assistant", "audio": {"id": "audio_1"}}, user("well")], "openai-chat"),
    "an old function call": (
        CHAT,
        [
            user(),
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
        ],
        "openai-chat",
    ),
    "a call without arguments": (
        CHAT,
        [
            user(),
            {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]},
            {"role": "tool", "tool_call_id": "a", "content": ""},
        ],
        "openai-chat",
    ),
    "a custom tool": (
        CHAT,
        [
            user(),
            {"role": "assistant", "content": None, "tool_calls": [CUSTOM_CHAT]},
            {"role": "tool", "tool_call_id": "call_c", "content": "1"},
        ],
        "openai-chat",
    ),
    "parallel calls as items": (
        RESPONSES,
        {"input": [user(), called("a"), called("b"), output("a"), output("b"), user("and?")]},
        "openai-responses",
    ),
    "a custom tool's items": (
        RESPONSES,
        {
            "input": [
                user(),
                item("reasoning", id="rs_1", summary=[]),
                CUSTOM,
                item("custom_tool_call_output", call_id="call_3", output="ok"),
            ]
        },
        "openai-responses",
    ),
    "an output to a stored response": (RESPONSES, {"previous_response_id": "resp_1", "input": [output("a")]}, "openai-responses"),
    "an output to a conversation": (RESPONSES, {"conversation": {"id": "conv_1"}, "input": [output("a")]}, "openai-responses"),
    "an output to a stored call": (RESPONSES, {"input": [user(), item("item_reference", id="fc_9"), output("a")]}, "openai-responses"),
    "an approval before its result": (AI, APPROVED, "ai-sdk-6"),
}


@pytest.mark.parametrize("body", CLEAN)
def test_what_a_client_sends_raises_no_alarm(body: str) -> None:
    name, said, profile = CLEAN[body]
    assert alarms(name, said) == []
    assert violations(name, said, profile) == []


@pytest.mark.parametrize("body", [body for body in CLEAN if body != "a call without arguments"])
def test_it_goes_to_the_provider_as_it_came(body: str) -> None:
    name, said, _ = CLEAN[body]
    found = case(name, said)
    prompt = projection(format_named(name).default_projection).project(found.reading.messages)
    assert not prompt.lost
    for sent, wanted in zip(prompt.values, said if isinstance(said, list) else said[prompt.root], strict=True):
        assert sent == {**({"type": "message"} if name == RESPONSES and "role" in wanted else {}), **wanted}


def test_a_refusal_is_what_the_assistant_said() -> None:
    chunk = case(CHAT, [user(), {"role": "assistant", "content": None, "refusal": "No."}]).conversation.chunks[-1]
    assert (chunk.kind, chunk.text, chunk.role) == (Kind.TEXT, "No.", "assistant")


def test_an_output_is_still_missed_where_nothing_stored_is_referred_to() -> None:
    said = {"input": [user(), item("item_reference", id="msg_9"), output("a")]}
    assert violations(RESPONSES, said, "openai-responses") == [("OR-2", "input.2")]
    assert alarms(RESPONSES, said) == ["TOOL202"]


def test_a_custom_tool_without_its_output_is_found_and_gets_one_of_its_kind() -> None:
    said = {"input": [user(), CUSTOM, user("and?")]}
    found = case(RESPONSES, said)
    judgement = judged(found.reading, found.conversation, "openai-responses", "openai-responses+as-sent")[1]
    assert [(each.id, each.text) for each in judgement.violations] == [("OR-1", "No tool output found for custom tool call call_3.")]
    mended = repaired(RESPONSES, said, "insert-interrupted-result")
    assert [each.get("type", "message") for each in mended["input"]] == [
        "message",
        "custom_tool_call",
        "custom_tool_call_output",
        "message",
    ]
    assert violations(RESPONSES, mended, "openai-responses") == []


def test_a_custom_output_without_its_call_is_told_in_its_own_words() -> None:
    said = {"input": [user(), item("custom_tool_call_output", call_id="call_3", output="ok")]}
    found = case(RESPONSES, said)
    judgement = judged(found.reading, found.conversation, "openai-responses", "openai-responses+as-sent")[1]
    assert [each.text for each in judgement.violations] == ["No tool call found for custom tool call output with call_id call_3."]


def test_an_empty_part_is_taken_out() -> None:
    said = {"contents": [{"role": "user", "parts": [{"text": "go"}, {}]}]}
    assert violations("gemini-request", said, "gemini") == [("GE-5", "contents.0.parts.1")]
    assert repaired("gemini-request", said, "drop-empty-blocks") == {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}


def test_reasoning_that_was_dropped_comes_back_empty() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = [user(), {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "a", "content": "1"}]
    assert violations(CHAT, said, "deepseek-thinking") == [("OV-4", "messages.1")]
    mended = repaired(CHAT, said, "add-empty-thinking")
    assert mended[1] == {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": ""}
    assert violations(CHAT, mended, "deepseek-thinking") == []
