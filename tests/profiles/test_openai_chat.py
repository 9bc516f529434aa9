"""openai-chat and deepseek-thinking: a body that fires and one that nearly does for each rule that a body can decide."""

from typing import Any

import pytest

from inspector.profiles.base import Profile
from inspector.profiles.deepseek import DEEPSEEK_THINKING
from inspector.profiles.openai_chat import OPENAI_CHAT
from tests.folding import in_one_test
from tests.profiles.judged import found, said

GO = {"role": "user", "content": "words"}
ANSWER = {"role": "assistant", "content": "words", "reasoning_content": ""}


def calls(*ids: Any, **changed: Any) -> dict[str, Any]:
    made = [{"id": each, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, "reasoning_content": "hm"} | changed


def arguments(value: Any, name: Any = "ls") -> dict[str, Any]:
    return calls("a", tool_calls=[{"id": "a", "type": "function", "function": {"name": name, "arguments": value}}])


def result(identity: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": "done"}


Case = tuple[list[Any], str, list[Any]]
OPENAI: dict[str, Case] = {
    "OC-1": ([GO, calls("a", "b"), result("a"), GO], "messages.1", [GO, calls("a", "b"), result("b"), result("a"), GO]),
    "OC-2": ([GO, calls("a"), result("a"), GO, result("a")], "messages.4", [GO, calls("a"), result("a"), result("a"), GO]),
    "OC-3": ([GO, calls("a"), result("a"), result("b")], "messages.3", [GO, calls("b", "a"), result("a"), result("b")]),
    "OC-4": ([GO, calls("x" * 65), result("x" * 65)], "messages.1.tool_calls.0", [GO, calls("x" * 64), result("x" * 64)]),
    "OC-5": ([GO, ANSWER | {"tool_calls": []}], "messages.1.tool_calls", [GO, ANSWER | {"tool_calls": None}]),
    "OC-6": ([GO, ANSWER | {"content": None}], "messages.1", [GO, ANSWER | {"content": ""}]),
    "OC-8": ([GO, arguments({"path": "."}), result("a")], "messages.1.tool_calls.0", [GO, arguments("{"), result("a")]),
    "OC-10": (
        [GO, arguments("{}", "list files"), result("a")],
        "messages.1.tool_calls.0",
        [GO, arguments("{}", "fs.list-Files_2"), result("a")],
    ),
}
DEEPSEEK: dict[str, Case] = {
    "OV-1": ([GO, calls("a"), GO], "messages.1", [GO, calls("a"), result("a"), GO]),
    "OV-1r": ([GO, result("a")], "messages.1", [GO, calls("a"), result("a")]),
    "OV-4": (
        [GO, calls("a", reasoning_content=None), result("a"), GO],
        "messages.1",
        [GO, {"role": "assistant", "content": "words"}, GO, calls("a"), result("a"), ANSWER],
    ),
}
TABLES = [
    (profile, rule, case) for profile, cases in ((OPENAI_CHAT, OPENAI), (DEEPSEEK_THINKING, DEEPSEEK)) for rule, case in cases.items()
]


@in_one_test(("profile", "rule", "case"), TABLES, ids=[rule for _, rule, _ in TABLES])
def test_a_body_that_fires_and_one_that_nearly_does(profile: Profile, rule: str, case: Case) -> None:
    fires, path, nearly = case
    assert found(profile, fires) == [(rule, path)]
    assert found(profile, nearly) == []


@pytest.mark.parametrize(
    ("profile", "cases"), [(OPENAI_CHAT, OPENAI), (DEEPSEEK_THINKING, DEEPSEEK)], ids=lambda each: getattr(each, "name", "")
)
def test_every_judged_rule_has_a_case_here(profile: Profile, cases: dict[str, Case]) -> None:
    assert {rule.id for rule in profile.rules if not rule.unjudged and not rule.obsolete} == cases.keys()


def test_order_of_roles_and_second_results_are_not_held_against_a_history() -> None:
    assert found(OPENAI_CHAT, [ANSWER, GO, GO, {"role": "system", "content": "x"}, ANSWER, ANSWER]) == []
    assert found(OPENAI_CHAT, [GO, calls("a"), result("a"), result("a")]) == []


def test_every_unanswered_id_is_named_once() -> None:
    (told,) = said(OPENAI_CHAT, [GO, calls("a", "b", "c"), result("b"), GO])
    assert told.text.endswith("did not have response messages: a, c") and not told.open_ended


@pytest.mark.parametrize("profile", [OPENAI_CHAT, DEEPSEEK_THINKING], ids=lambda each: each.name)
def test_calls_that_only_wait_for_results_are_open_ended(profile: Profile) -> None:
    for messages in ([GO, calls("a")], [GO, calls("a", "b"), result("b")]):
        (told,) = said(profile, messages)
        assert told.open_ended and told.path == "messages.1"


@pytest.mark.parametrize("instead", ["refusal", "function_call", "audio"])
def test_what_an_assistant_may_say_instead_of_content(instead: str) -> None:
    assert found(OPENAI_CHAT, [GO, {"role": "assistant", "content": None, instead: {"id": "x"}}]) == []
    assert found(OPENAI_CHAT, [{"role": "user", "content": None, instead: {"id": "x"}}]) == [("OC-6", "messages.0")]


@in_one_test(
    ("value", "kind"), [({}, "an object"), ([], "an array"), (None, "null"), (1, "an integer"), (1.5, "a decimal"), (True, "a boolean")]
)
def test_arguments_that_are_no_string_are_told_by_what_they_are(value: Any, kind: str) -> None:
    (told,) = said(OPENAI_CHAT, [GO, arguments(value), result("a")])
    assert told.text == f"Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got {kind} instead."


def test_reasoning_is_asked_of_every_answer_of_a_turn_with_calls_unless_thinking_is_off() -> None:
    bare = {"role": "assistant", "content": "words"}
    messages = [GO, bare, GO, bare, calls("a"), result("a"), bare | {"reasoning_content": None}, GO, ANSWER, bare]
    for thinking in (None, True):
        assert found(DEEPSEEK_THINKING, messages, thinking=thinking) == [("OV-4", "messages.3"), ("OV-4", "messages.6")]
    assert found(DEEPSEEK_THINKING, messages, thinking=False) == []
