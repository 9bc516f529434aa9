"""The chat template that is judged: each of its refusals, with messages that it refuses and messages that it nearly does."""

from typing import Any

from inspector.profiles.base import ProviderRule
from inspector.profiles.templates import ALTERNATING_TEMPLATE as PROFILE
from inspector.profiles.templates import RULES
from tests.folding import in_one_test
from tests.profiles.asking import assert_knows_its_text, assert_table_is_whole, assert_takes_any_body, fired, violations

Msg = dict[str, Any]
ASK: Msg = {"role": "user", "content": "Why is the total off?"}
MORE: Msg = {"role": "user", "content": "Fix it."}
ANSWER: Msg = {"role": "assistant", "content": "Rounding."}
SYSTEM: Msg = {"role": "system", "content": "Be careful."}
CALL: Msg = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT: Msg = {"role": "tool", "tool_call_id": "a", "content": "text"}


def listed(message: Msg, *kinds: str) -> Msg:
    return {**message, "content": [{"type": kind} for kind in kinds]}


REFUSED = [
    ("TE-1", "messages.1", [ASK, MORE, ANSWER]),
    ("TE-1", "messages.0", [ANSWER, ASK, ANSWER]),
    ("TE-1", "messages.2", [ASK, ANSWER, ANSWER, MORE]),
    ("TE-1", "messages.3", [ASK, CALL, RESULT, MORE]),
    ("TE-1", "messages.2", [ASK, CALL, MORE, ANSWER]),
    ("TE-4", "messages.1", [ASK, {"role": "assistant", "content": ""}, MORE]),
    ("TE-4", "messages.1", [ASK, {"role": "assistant", "content": None, "reasoning_content": None}, MORE]),
    ("TE-4", "messages.1", [ASK, {"role": "assistant", "content": "", "tool_calls": []}, MORE]),
    ("TE-5", "messages.2", [ASK, ANSWER, SYSTEM, MORE]),
    ("TE-5", "messages.1", [SYSTEM, SYSTEM, ASK]),
    ("TE-6", "messages.0", [listed(ASK)]),
    ("TE-6", "messages.0.content.1", [listed(ASK, "text", "input_audio")]),
    ("TE-7", "messages.1.content.0", [ASK, listed(ANSWER, "image_url"), MORE]),
    ("TE-7", "messages.0.content.0", [listed(SYSTEM, "image_url"), ASK]),
]
TAKEN = [
    [SYSTEM, ASK, ANSWER, MORE],
    [ASK, CALL, RESULT, CALL, RESULT, ANSWER, MORE],
    [ASK, CALL, ANSWER, MORE],
    [ASK, RESULT, RESULT, ANSWER],
    [ASK, {"role": "assistant", "content": None, "reasoning_content": "Hm."}, MORE],
    [ASK, {"role": "assistant", "content": "", "reasoning_content": ""}, MORE],
    [ASK, listed(ANSWER, "thinking"), MORE],
    [ASK, {"role": "assistant", "content": " "}, {"role": "user", "content": ""}],
    [listed(ASK, "text", "image_url"), listed(ANSWER, "text", "thinking"), MORE],
    [listed(SYSTEM, "text"), ASK],
]


@in_one_test(("rule", "path", "messages"), REFUSED)
def test_what_is_refused(rule: str, path: str, messages: list[Msg]) -> None:
    assert fired(PROFILE, messages) == [(rule, path)]


@in_one_test("messages", TAKEN)
def test_what_is_nearly_refused(messages: list[Msg]) -> None:
    assert fired(PROFILE, messages) == []


def test_texts_are_those_of_the_template() -> None:
    assert [found.text for found in violations(PROFILE, [ASK, ANSWER, SYSTEM, ANSWER])] == [
        "Only user, assistant and tool roles are supported, got system.",
        "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
    ]


def test_any_body_is_judged() -> None:
    assert_takes_any_body(PROFILE, [SYSTEM, listed(ASK, "text"), CALL, RESULT, ANSWER, MORE])


@in_one_test("rule", RULES, ids=lambda rule: rule.id)
def test_texts_are_recognised(rule: ProviderRule) -> None:
    assert_knows_its_text(rule)


def test_every_row_is_there_and_the_template_is_named() -> None:
    assert [rule.id for rule in RULES] == [f"TE-{number}" for number in range(1, 9)]
    assert {rule.id for rule in RULES if rule.unjudged} == {"TE-2", "TE-3", "TE-8"}
    assert "Ministral 3" in PROFILE.title
    assert_table_is_whole(PROFILE)
