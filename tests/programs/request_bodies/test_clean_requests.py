"""Bodies as the official clients build them raise no alarm, and their less usual blocks are judged and repaired as the usual ones are."""

import json
from typing import Any

import pytest

from inspector.conversation.edits import Plan, apply
from inspector.conversation.model import Kind
from inspector.profiles.judging import judged
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record, Stored
from inspector.projections.catalogue import projection
from inspector.rules.base import Case, Severity, at_least, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy
from tests.folding import in_one_test

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
        now = now.with_conversation(apply(now.conversation, made))
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


def use(call: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": call, "name": "ls", "input": {}}]


CUSTOM_CHAT = {"id": "call_c", "type": "custom", "custom": {"name": "code", "input": "print(1)"}}
CUSTOM = item("custom_tool_call", id="ctc_1", call_id="call_3", name="apply_patch", input="*** Begin")
SHELL = item(
    "shell_call",
    id="sh_1",
    call_id="call_4",
    action={"commands": ["ls"], "timeout_ms": 9},
    environment={"type": "local"},
    status="completed",
)
HOSTED = {**SHELL, "environment": {"type": "container_reference", "container_id": "cntr_1"}}
SHELL_SAID = item(
    "shell_call_output",
    call_id="call_4",
    max_output_length=99,
    output=[{"stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
)
LOCAL_SHELL = item(
    "local_shell_call", id="lsh_1", call_id="call_5", action={"type": "exec", "command": ["ls"], "env": {}}, status="completed"
)
PATCH = item(
    "apply_patch_call", id="apc_1", call_id="call_6", operation={"type": "update_file", "path": "a.py", "diff": "@@"}, status="completed"
)
SEARCH = item("tool_search_call", call_id="call_7", execution="client", arguments={"queries": ["q"]}, status="completed")
COMPUTER = item("computer_call", id="cu_1", call_id="call_8", action={"type": "screenshot"}, pending_safety_checks=[], status="completed")
SHOT = item("computer_call_output", call_id="call_8", output={"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="})
FOUND = item("tool_search_output", call_id="call_7", execution="client", tools=[{"type": "function", "name": "f"}], status="completed")
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
    "a shell's items": (
        RESPONSES,
        {"input": [user(), item("reasoning", id="rs_1", summary=[]), SHELL, SHELL_SAID, user("and?")]},
        "openai-responses",
    ),
    "a local shell's items": (
        RESPONSES,
        {"input": [user(), LOCAL_SHELL, item("local_shell_call_output", call_id="call_5", output="a.py")]},
        "openai-responses",
    ),
    "a patch's items": (
        RESPONSES,
        {"input": [user(), PATCH, item("apply_patch_call_output", call_id="call_6", status="failed", output="no such file")]},
        "openai-responses",
    ),
    "a search for tools": (RESPONSES, {"input": [user(), SEARCH, FOUND, user("and?")]}, "openai-responses"),
    "a search for tools that a function's output answers": (
        RESPONSES,
        {"input": [user(), SEARCH, output("call_7"), user("and?")]},
        "openai-responses",
    ),
    "a computer's items": (RESPONSES, {"input": [user(), COMPUTER, SHOT]}, "openai-responses"),
    "parallel calls of several types": (
        RESPONSES,
        {
            "input": [
                user(),
                called("a"),
                SHELL,
                PATCH,
                output("a"),
                SHELL_SAID,
                item("apply_patch_call_output", call_id="call_6", status="completed"),
            ]
        },
        "openai-responses",
    ),
    "a shell that the provider ran": (RESPONSES, {"input": [user(), HOSTED, SHELL_SAID, user("and?")]}, "openai-responses"),
    "tools that the provider ran": (
        RESPONSES,
        {
            "input": [
                user(),
                {**SEARCH, "execution": "server", "call_id": None},
                {**FOUND, "execution": "server", "call_id": None},
                item("web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "q"}),
                item("code_interpreter_call", id="ci_1", code="1", container_id="cntr_1", outputs=[], status="completed"),
                item("mcp_call", id="mcp_1", name="f", arguments="{}", server_label="s", output="x"),
                user("and?"),
            ]
        },
        "openai-responses",
    ),
    "an answer of an empty text": (
        "gemini-request",
        {"contents": [{"role": role, "parts": [{"text": words}]} for role, words in (("user", "go"), ("model", ""), ("user", "and?"))]},
        "gemini",
    ),
    "a thought of a signature alone": (
        "gemini-request",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [{"thought": True, "thoughtSignature": "QUJD"}, {"text": "ok"}]},
                {"role": "user", "parts": [{"text": "and?"}]},
            ]
        },
        "gemini-3",
    ),
    "calls in two contents, their results in one": (
        "gemini-request",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, "id": "1"}, "thoughtSignature": "QUJD"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, "id": "2"}, "thoughtSignature": "QUJD"}]},
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "f", "id": "1", "response": {"r": 1}}},
                        {"functionResponse": {"name": "f", "id": "2", "response": {"r": 1}}},
                    ],
                },
            ]
        },
        "gemini-3",
    ),
    "calls in two messages, their results in one": (
        "anthropic-request",
        {
            "messages": [
                user([{"type": "text", "text": "go"}]),
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, *use("a")]},
                {"role": "assistant", "content": use("b")},
                user([{"type": "tool_result", "tool_use_id": each, "content": "r"} for each in ("b", "a")]),
            ]
        },
        "anthropic-2026-07",
    ),
    "Nova's own tool": (
        "bedrock-request",
        {
            "messages": [
                user([{"text": "go"}]),
                {
                    "role": "assistant",
                    "content": [
                        {
                            "toolUse": {
                                "toolUseId": "t1",
                                "name": "nova_code_interpreter",
                                "input": {"snippet": "1"},
                                "type": "server_tool_use",
                            }
                        },
                        {
                            "toolResult": {
                                "toolUseId": "t1",
                                "content": [{"json": {"stdOut": "1"}}],
                                "type": "nova_code_interpreter_result",
                                "status": "success",
                            }
                        },
                        {"text": "1"},
                    ],
                },
                user([{"text": "and?"}, {"text": "\n"}, {"text": "why?"}]),
            ]
        },
        "bedrock",
    ),
    "an output to a stored response": (RESPONSES, {"previous_response_id": "resp_1", "input": [output("a")]}, "openai-responses"),
    "an output to a conversation": (RESPONSES, {"conversation": {"id": "conv_1"}, "input": [output("a")]}, "openai-responses"),
    "an output to a stored call": (RESPONSES, {"input": [user(), item("item_reference", id="fc_9"), output("a")]}, "openai-responses"),
    "an approval before its result": (AI, APPROVED, "ai-sdk-6"),
}


@in_one_test("body", CLEAN)
def test_what_a_client_sends_raises_no_alarm(body: str) -> None:
    name, said, profile = CLEAN[body]
    assert alarms(name, said) == []
    assert violations(name, said, profile) == []


@in_one_test("body", [body for body in CLEAN if body != "a call without arguments"])
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
    changed = repaired(RESPONSES, said, "insert-interrupted-result")
    assert [each.get("type", "message") for each in changed["input"]] == [
        "message",
        "custom_tool_call",
        "custom_tool_call_output",
        "message",
    ]
    assert violations(RESPONSES, changed, "openai-responses") == []


INTERRUPTED = "The tool call was interrupted before a result was recorded."
WITHOUT_OUTPUT = {
    "shell": (SHELL, {"output": [{"stdout": "", "stderr": INTERRUPTED, "outcome": {"type": "exit", "exit_code": 1}}]}),
    "local shell": (LOCAL_SHELL, {"output": INTERRUPTED}),
    "apply patch": (PATCH, {"status": "failed", "output": INTERRUPTED}),
    "tool search": (SEARCH, {"type": "function_call_output", "output": INTERRUPTED}),
}


@pytest.mark.parametrize("words", WITHOUT_OUTPUT)
def test_a_call_of_the_clients_own_tools_is_missed_and_gets_an_output_of_its_kind(words: str) -> None:
    call, members = WITHOUT_OUTPUT[words]
    said = {"input": [user(), call, user("and?")]}
    found = case(RESPONSES, said)
    judgement = judged(found.reading, found.conversation, "openai-responses", "openai-responses+as-sent")[1]
    assert [each.text for each in judgement.violations] == [f"No tool output found for {words} call {call['call_id']}."]
    assert alarms(RESPONSES, said) == ["TOOL102"]
    changed = repaired(RESPONSES, said, "insert-interrupted-result")
    assert changed["input"][2] == {"type": f"{call['type']}_output", "call_id": call["call_id"], **members}
    assert violations(RESPONSES, changed, "openai-responses") == [] and alarms(RESPONSES, changed) == []


def test_an_output_without_its_call_is_missed_whatever_its_type() -> None:
    for each in (SHELL_SAID, FOUND, SHOT):
        assert violations(RESPONSES, {"input": [user(), each, user("and?")]}, "openai-responses") == [("OR-2", "input.1")]
        assert alarms(RESPONSES, {"input": [user(), each, user("and?")]}) == ["TOOL202"]


def test_a_custom_output_without_its_call_is_told_in_its_own_words() -> None:
    said = {"input": [user(), item("custom_tool_call_output", call_id="call_3", output="ok")]}
    found = case(RESPONSES, said)
    judgement = judged(found.reading, found.conversation, "openai-responses", "openai-responses+as-sent")[1]
    assert [each.text for each in judgement.violations] == ["No tool call found for custom tool call output with call_id call_3."]


def test_an_empty_part_is_taken_out() -> None:
    said = {"contents": [{"role": "user", "parts": [{"text": "go"}, {}]}]}
    assert violations("gemini-request", said, "gemini") == [("GE-5", "contents.0.parts.1")]
    assert repaired("gemini-request", said, "drop-empty-blocks") == {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}


def test_a_call_and_a_result_of_gemini_keep_what_they_have_in_addition_when_their_id_changes() -> None:
    def body(call_id: str) -> dict[str, Any]:
        image = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
        result = {"id": call_id, "name": "ls", "response": {"output": "see"}, "parts": [image], "willContinue": False}
        call = {"functionCall": {"id": call_id, "name": "ls", "args": {}, "willContinue": True}, "thoughtSignature": "S"}
        return {"contents": [{"role": "model", "parts": [call]}, {"role": "user", "parts": [{"functionResponse": result, "note": 1}]}]}

    changed = repaired("gemini-request", body("a!"), "rename-invalid-ids")
    fresh = changed["contents"][0]["parts"][0]["functionCall"]["id"]
    assert fresh != "a!" and changed == body(fresh)


def test_reasoning_that_was_dropped_comes_back_empty() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = [user(), {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "a", "content": "1"}]
    assert violations(CHAT, said, "deepseek-thinking") == [("OV-4", "messages.1")]
    changed = repaired(CHAT, said, "add-empty-thinking")
    assert changed[1] == {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": ""}
    assert violations(CHAT, changed, "deepseek-thinking") == []


def calling(arguments: Any = "{}", name: str = "f") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_0001", "type": "function", "function": {"name": name, "arguments": arguments}}],
    }


def tool(**more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "call_0001", **more}


MISTRAL = "mistral-request"
NOVA_CALL = {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}
NOVA_RESULT = {"toolResult": {"toolUseId": "a", "content": [{"text": "r"}]}}
# A body that its own provider refuses for what it says, and for nothing that our reading put into it or left out.
AS_IT_IS: dict[str, tuple[str, str, list[Any], list[tuple[str, str]]]] = {
    "null as the content of a result": (CHAT, "openai-chat", [user(), calling(), tool(content=None)], [("OC-6", "messages.2")]),
    "null as the content of a result for Mistral": (MISTRAL, "mistral", [user(), calling(), tool(content=None)], [("MI-12", "messages.2")]),
    "a result without content": (MISTRAL, "mistral", [user(), calling(), tool()], [("MI-12", "messages.2")]),
    "a result without a name, of a call with a bad one": (
        MISTRAL,
        "mistral",
        [user(), calling(name="a b"), tool(content="r")],
        [("MI-8", "messages.1.tool_calls.0")],
    ),
    "a result with an empty name": (MISTRAL, "mistral", [user(), calling(), tool(content="r", name="")], [("MI-8", "messages.2")]),
    "a role that Mistral does not know": (MISTRAL, "mistral", [{"role": "developer", "content": "x"}, user()], [("MI-10", "messages.0")]),
    "a chunk without a type is no call": (
        MISTRAL,
        "mistral",
        [user(), {"role": "assistant", "content": [{"text": "x"}, {"type": "text", "text": "y"}]}, user()],
        [],
    ),
    "arguments that are an object": (
        CHAT,
        "openai-chat",
        [user(), calling({"path": "a"}), tool(content="r")],
        [("OC-8", "messages.1.tool_calls.0")],
    ),
    "reasoning beside null": (
        CHAT,
        "openai-chat",
        [user(), {"role": "assistant", "content": None, "reasoning_content": "hm"}, user()],
        [("OC-6", "messages.1")],
    ),
    "reasoning beside an empty text": (
        CHAT,
        "openai-chat",
        [user(), {"role": "assistant", "content": "", "reasoning_content": "hm"}, user()],
        [],
    ),
    "a result that the assistant says": (
        "anthropic-request",
        "anthropic-2026-07",
        [
            user([{"type": "text", "text": "go"}]),
            {"role": "assistant", "content": use("a")},
            {"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]},
            user([{"type": "text", "text": "and?"}]),
        ],
        [("AN-1", "messages.1")],
    ),
    "a result that the assistant says to Bedrock": (
        "bedrock-request",
        "bedrock",
        [user([{"text": "go"}]), {"role": "assistant", "content": [NOVA_CALL]}, {"role": "assistant", "content": [NOVA_RESULT]}],
        [("BR-1", "messages.1")],
    ),
    "an empty text instead of a list": (
        "bedrock-request",
        "bedrock",
        [user([{"text": "go"}]), {"role": "assistant", "content": ""}, user([{"text": "go"}])],
        [("BR-5", "messages.1")],
    ),
}


@pytest.mark.parametrize("what", AS_IT_IS)
def test_a_body_is_judged_as_it_is(what: str) -> None:
    name, profile, messages, refused = AS_IT_IS[what]
    body = {"messages": messages}
    found = case(name, body)
    prompt, judgement = judged(found.reading, found.conversation, profile, format_named(name).default_projection)
    assert prompt.values == messages
    assert [(each.id, each.path) for each in judgement.violations] == refused


def test_arguments_that_are_an_object_become_text() -> None:
    said = [user(), calling({"path": "a"}), tool(content="r")]
    changed = repaired(CHAT, {"messages": said}, "sanitize-arguments")
    assert changed["messages"] == [user(), calling('{"path":"a"}'), tool(content="r")]
    assert violations(CHAT, changed, "openai-chat") == []


def test_a_result_that_moves_out_of_an_answer_is_the_users() -> None:
    messages = AS_IT_IS["a result that the assistant says"][2]
    late = [
        messages[0],
        messages[1],
        messages[3],
        {"role": "assistant", "content": [*messages[2]["content"], {"type": "text", "text": "so"}]},
    ]
    changed = repaired("anthropic-request", {"messages": [*late, messages[3]]}, "move-results")
    assert violations("anthropic-request", changed, "anthropic-2026-07") == []
    assert [each["role"] for each in changed["messages"]] == ["user", "assistant", "user", "assistant", "user"]
