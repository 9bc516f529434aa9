"""AI SDK: each rule that is judged, with messages that it refuses and messages that it nearly does, for ai 6 and ai 7."""

from typing import Any

import pytest

from inspector.profiles.ai_sdk import AI_SDK_6_PROFILE, AI_SDK_7_PROFILE, RULES_6, RULES_7
from inspector.profiles.base import Profile, ProviderRule
from tests.profiles.asking import assert_knows_its_text, assert_table_is_whole, assert_takes_any_body, fired, violations

Msg = dict[str, Any]
BOTH = [AI_SDK_6_PROFILE, AI_SDK_7_PROFILE]


def call(name: str = "a", **beside: Any) -> Msg:
    return {"type": "tool-call", "toolCallId": name, "toolName": "read_file", "input": {"path": "a.py"}, **beside}


def result(name: str = "a", **beside: Any) -> Msg:
    return {"type": "tool-result", "toolCallId": name, "toolName": "read_file", "output": {"type": "text", "value": "text"}, **beside}


def user(text: str = "Fix it.") -> Msg:
    return {"role": "user", "content": text}


def assistant(*parts: Any) -> Msg:
    return {"role": "assistant", "content": [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]}


def tool(*parts: Any) -> Msg:
    return {"role": "tool", "content": list(parts)}


APPROVAL = {"type": "tool-approval-request", "approvalId": "p1", "toolCallId": "a"}
APPROVED = {"type": "tool-approval-response", "approvalId": "p1", "approved": True}

BOTH_REFUSE = [
    ("SDK-1", "messages.1.content.1", [user(), assistant("Reading.", call()), user()]),
    ("SDK-1", "messages.1.content.0", [user(), assistant(call()), assistant("Rounding.")]),
    ("SDK-1", "messages.1", [user(), assistant(call("a"), call("b")), user(), tool(result("a"), result("b"))]),
    ("SDK-1", "messages.1.content.1", [user(), assistant(call("a"), call("b")), tool(result("a")), user()]),
    ("SDK-1", "messages.1.content.0", [user(), assistant(call(), result())]),
    ("SDK-1", "messages.1.content.0", [user(), assistant(call(), APPROVAL), tool(APPROVED)]),
    ("SDK-2", "messages", []),
    ("SDK-5", "messages.2.content.1", [user(), assistant(call()), tool(result(), APPROVED)]),
]
BOTH_TAKE = [
    [user(), assistant("Reading.", call()), tool(result()), user()],
    [user(), assistant(call()), assistant("One moment."), tool(result()), user()],
    [user(), assistant(call("a"), call("b")), tool(result("b")), tool(result("a"))],
    [user(), assistant(call(providerExecuted=True)), user()],
    [user(), tool(result()), user()],
    [user(), assistant(call()), tool(result(), result()), user()],
    [assistant("Hello."), assistant(), user(), user("")],
    [user(), assistant("Done.")],
    [user(), assistant(call(), APPROVAL), tool(result(), APPROVED)],
    [user(), tool(APPROVED), user()],
]


@pytest.mark.parametrize("profile", BOTH, ids=lambda profile: profile.name)
@pytest.mark.parametrize(("rule", "path", "messages"), BOTH_REFUSE)
def test_what_is_refused(profile: Profile, rule: str, path: str, messages: list[Msg]) -> None:
    assert fired(profile, messages) == [(rule, path)]


@pytest.mark.parametrize("profile", BOTH, ids=lambda profile: profile.name)
@pytest.mark.parametrize("messages", BOTH_TAKE)
def test_what_is_nearly_refused(profile: Profile, messages: list[Msg]) -> None:
    assert fired(profile, messages) == []


NOT_OF_THE_SCHEMA = [
    {"role": "user", "content": None},
    {"role": "user", "content": [{"type": "text", "text": None}]},
    {"role": "user", "content": [result()]},
    {"role": "user", "parts": [{"type": "text", "text": "a UIMessage"}]},
    {"role": "tool", "content": "text"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]},
    tool({"type": "tool-result", "toolCallId": "a", "toolName": "read_file", "output": "bare"}),
    tool({"type": "tool-result", "toolCallId": "a", "toolName": "read_file", "result": "of ai 4"}),
    tool(result(toolName=None)),
    {"role": "system", "content": [{"type": "text", "text": "x"}]},
]


@pytest.mark.parametrize("message", NOT_OF_THE_SCHEMA)
def test_ai_6_holds_messages_to_its_schema(message: Msg) -> None:
    assert ("SDK-3", "messages.1") in fired(AI_SDK_6_PROFILE, [user(), message, user()])
    assert "SDK-3" not in {rule for rule, _ in fired(AI_SDK_7_PROFILE, [user(), message, user()])}


def test_ai_7_wants_the_system_prompt_outside_of_the_list() -> None:
    messages = [{"role": "system", "content": "Be careful."}, user()]
    assert fired(AI_SDK_7_PROFILE, messages) == [("SDK-4", "messages.0")]
    assert fired(AI_SDK_6_PROFILE, messages) == []


def test_an_unknown_role() -> None:
    messages = [user(), {"role": "function", "content": "x"}]
    assert fired(AI_SDK_7_PROFILE, messages) == [("SDK-6", "messages.1")]
    assert fired(AI_SDK_6_PROFILE, messages) == [("SDK-3", "messages.1")]


NO_CONTENT = [
    ([user(), {"role": "assistant", "content": None}, user()], "Cannot read properties of null (reading 'filter')"),
    ([user(), {"role": "assistant"}, user()], "Cannot read properties of undefined (reading 'filter')"),
    ([user(), {"role": "user", "content": None}], "Cannot read properties of null (reading 'map')"),
    ([user(), {"role": "assistant"}, tool(result())], "content is not iterable"),
]


@pytest.mark.parametrize(("messages", "text"), NO_CONTENT)
def test_ai_7_breaks_on_a_message_without_content(messages: list[Msg], text: str) -> None:
    assert [(found.id, found.path, found.text) for found in violations(AI_SDK_7_PROFILE, messages)] == [("SDK-7", "messages.1", text)]
    assert fired(AI_SDK_6_PROFILE, messages) == [("SDK-3", "messages.1")]


def test_texts_are_those_of_the_library() -> None:
    both = assistant(call("a"), call("b"))
    assert violations(AI_SDK_6_PROFILE, [user(), both, user()])[0].text == "Tool results are missing for tool calls a, b."
    assert violations(AI_SDK_6_PROFILE, [user(), both, tool(result("a")), user()])[0].text == "Tool result is missing for tool call b."


def test_only_the_end_is_missing_while_the_tool_runs() -> None:
    assert [found.open_ended for found in violations(AI_SDK_6_PROFILE, [user(), assistant(call())])] == [True]
    assert [found.open_ended for found in violations(AI_SDK_6_PROFILE, [user(), assistant(call()), user()])] == [False]


@pytest.mark.parametrize("profile", BOTH, ids=lambda profile: profile.name)
def test_any_body_is_judged(profile: Profile) -> None:
    assert_takes_any_body(profile, [user(), assistant("Reading.", call(), APPROVAL), tool(result(), APPROVED)])


@pytest.mark.parametrize("rule", RULES_6, ids=lambda rule: rule.id)
def test_texts_are_recognised(rule: ProviderRule) -> None:
    assert_knows_its_text(rule)


def test_every_row_is_there() -> None:
    for rules in (RULES_6, RULES_7):
        assert [rule.id for rule in rules] == [*(f"SDK-{number}" for number in range(1, 8)), "LG-1"]
    assert {rule.id for rule in RULES_6 if rule.unjudged} == {"SDK-4", "SDK-6", "SDK-7", "LG-1"}
    assert {rule.id for rule in RULES_7 if rule.unjudged or rule.obsolete} == {"SDK-3", "LG-1"}
    assert_table_is_whole(AI_SDK_6_PROFILE)
    assert_table_is_whole(AI_SDK_7_PROFILE)
