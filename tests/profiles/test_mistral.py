"""Mistral: each rule that is judged, with messages that it refuses and messages that it nearly does, for both versions."""

from typing import Any

import pytest

from inspector.profiles.base import Profile, ProviderRule
from inspector.profiles.mistral import MISTRAL_PROFILE, MISTRAL_STRICT_PROFILE, RULES, STRICT_RULES
from tests.folding import in_one_test
from tests.profiles.asking import assert_knows_its_text, assert_table_is_whole, assert_takes_any_body, fired, violations

Msg = dict[str, Any]
A, B = "k3Vd0QxZ1", "p9Lm2RtY7"
ASK: Msg = {"role": "user", "content": "Why is the total off?"}
MORE: Msg = {"role": "user", "content": "Fix it."}
SYSTEM: Msg = {"role": "system", "content": "Be careful."}
ANSWER: Msg = {"role": "assistant", "content": "Rounding."}


def calls(*names: str, tool: str = "read_file") -> Msg:
    made = [{"id": name, "type": "function", "function": {"name": tool, "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": "Reading.", "tool_calls": made}


def result(name: str = A) -> Msg:
    return {"role": "tool", "tool_call_id": name, "content": "text"}


def chunked(message: Msg, *kinds: str) -> Msg:
    return {**message, "content": [{"type": kind} for kind in kinds]}


BOTH_REFUSE = [
    ("MI-1", "messages.1", [ASK, calls(A), MORE]),
    ("MI-1", "messages.1", [ASK, calls(A), ANSWER, MORE]),
    ("MI-1", "messages.1", [ASK, calls(A, B), result(A), ANSWER, MORE]),
    ("MI-2", "messages.3", [ASK, calls(A), MORE, result(), ANSWER, MORE]),
    ("MI-3", "messages.1", [ASK, ANSWER]),
    ("MI-6", "messages.3", [ASK, calls(A), result(), result()]),
    ("MI-6", "messages.3", [ASK, calls(A), result(), result(B)]),
    ("MI-6", "messages.1.tool_calls.1", [ASK, calls(A, A), result()]),
    ("MI-7", "messages.2", [ASK, ANSWER, SYSTEM, MORE]),
    ("MI-8", "messages.1.tool_calls.0", [ASK, calls(A, tool="read file"), result()]),
    ("MI-8", "messages.2", [ASK, calls(A), {**result(), "name": "n" * 65}]),
    ("MI-9", "messages", []),
    ("MI-9", "messages.0", [ANSWER]),
    ("MI-12", "messages.0", [{"role": "user", "content": None}, ANSWER, MORE]),
    ("MI-13", "messages.0.content.1", [chunked(ASK, "text", "thinking"), ANSWER, MORE]),
    ("MI-13", "messages.1.content.0", [ASK, chunked(ANSWER, "image_url"), MORE]),
    ("MI-13", "messages.0.content.0", [chunked(SYSTEM, "image_url"), ASK]),
    ("MI-13", "messages.2.content.0", [ASK, calls(A), chunked(result(), "thinking")]),
    ("MI-12", "messages.2", [ASK, calls(A), {"role": "tool", "tool_call_id": A}]),
    ("MI-10", "messages.1", [ASK, {"role": "developer", "content": "x"}, MORE]),
]
BOTH_TAKE = [
    [ASK],
    [SYSTEM],
    [{"role": "user", "content": []}, {"role": "assistant", "content": None}, MORE],
    [SYSTEM, SYSTEM, ASK, ANSWER, MORE],
    [ASK, SYSTEM, ANSWER, MORE],
    [ASK, calls(A, B), result(B), result(A), ANSWER, MORE],
    [ASK, calls(A), result(), ANSWER, MORE, calls(A), result()],
    [ASK, ANSWER, ANSWER, MORE, MORE],
    [ANSWER, ASK],
    [ASK, {**ANSWER, "prefix": True}],
    [chunked(SYSTEM, "text", "thinking"), chunked(ASK, "text", "image", "image_url", "input_audio", "audio_url"), ANSWER, MORE],
    [ASK, chunked(ANSWER, "thinking", "text"), MORE],
    [chunked(ASK, "document_url", "reference"), ANSWER, MORE],
    [ASK, calls(A), chunked(result(), "text")],
    [ASK, calls(A, tool="n" * 64), result()],
]
BOTH = [MISTRAL_STRICT_PROFILE, MISTRAL_PROFILE]


@in_one_test("profile", BOTH, ids=lambda profile: profile.name)
@in_one_test(("rule", "path", "messages"), BOTH_REFUSE)
def test_what_is_refused(profile: Profile, rule: str, path: str, messages: list[Msg]) -> None:
    assert fired(profile, messages) == [(rule, path)]


@in_one_test("profile", BOTH, ids=lambda profile: profile.name)
@in_one_test("messages", BOTH_TAKE)
def test_what_is_nearly_refused(profile: Profile, messages: list[Msg]) -> None:
    assert fired(profile, messages) == []


OF_ONE_VERSION = [
    ("a picture in a result", [ASK, calls(A), chunked(result(), "image_url")], [("MI-13", "messages.2.content.0")], []),
    ("sound in the system prompt", [chunked(SYSTEM, "input_audio"), ASK], [("MI-13", "messages.0.content.0")], []),
    ("a user message after a result", [ASK, calls(A), result(), MORE], [("MI-2", "messages.3")], []),
    ("an id of eight", [ASK, calls(A[1:]), result(A[1:])], [("MI-4", "messages.1.tool_calls.0"), ("MI-4", "messages.2")], []),
    (
        "an id of another provider",
        [ASK, calls("call-0001"), result("call-0001")],
        [("MI-4", "messages.1.tool_calls.0"), ("MI-4", "messages.2")],
        [],
    ),
    (
        "an empty id",
        [ASK, calls(""), result("")],
        [("MI-4", "messages.1.tool_calls.0"), ("MI-4", "messages.2")],
        [("MI-11", "messages.1.tool_calls.0"), ("MI-11", "messages.2")],
    ),
    (
        "the id null",
        [ASK, calls("null"), result("null")],
        [("MI-4", "messages.1.tool_calls.0"), ("MI-4", "messages.2")],
        [("MI-11", "messages.1.tool_calls.0"), ("MI-11", "messages.2")],
    ),
]


@in_one_test(("what", "messages", "strict", "now"), OF_ONE_VERSION)
def test_versions_differ(what: str, messages: list[Msg], strict: list[tuple[str, str]], now: list[tuple[str, str]]) -> None:
    assert fired(MISTRAL_STRICT_PROFILE, messages) == strict
    assert fired(MISTRAL_PROFILE, messages) == now


def test_texts_are_those_of_the_validator() -> None:
    said = [
        found.text for found in violations(MISTRAL_STRICT_PROFILE, [ASK, calls("x"), result("x"), MORE, result("x"), result(B), SYSTEM])
    ]
    assert said == [
        "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.",
        "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.",
        "Unexpected role 'user' after role 'tool'",
        "Unexpected role 'tool' after role 'user'",
        "Duplicate tool call id x in tool results",
        "Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.",
        f"Unexpected tool call id {B} in tool results",
        "Unexpected role 'system' after role 'tool'",
    ]


def test_only_the_end_is_missing_while_a_tool_runs_or_after_an_answer() -> None:
    for messages in ([ASK, ANSWER], [ASK, calls(A)], [ASK, calls(A, B), result(A)]):
        assert {found.open_ended for found in violations(MISTRAL_PROFILE, messages)} == {True}
    assert [found.open_ended for found in violations(MISTRAL_PROFILE, [ASK, calls(A), MORE])] == [False]


@pytest.mark.parametrize("profile", BOTH, ids=lambda profile: profile.name)
def test_any_body_is_judged(profile: Profile) -> None:
    assert_takes_any_body(profile, [SYSTEM, ASK, calls(A, B), {**result(A), "name": "read_file"}, result(B), ANSWER, MORE])


@in_one_test("rule", {rule.id: rule for rule in (*STRICT_RULES, *RULES)}.values(), ids=lambda rule: rule.id)
def test_texts_are_recognised(rule: ProviderRule) -> None:
    assert_knows_its_text(rule)


def test_every_row_is_there() -> None:
    for rules in (STRICT_RULES, RULES):
        assert [rule.id for rule in rules] == [f"MI-{number}" for number in range(1, 14)]
    assert {rule.id for rule in STRICT_RULES if rule.unjudged} == {"MI-5", "MI-11"}
    assert {rule.id for rule in RULES if rule.unjudged} == {"MI-5"} and {rule.id for rule in RULES if rule.obsolete} == {"MI-4"}
    assert_table_is_whole(MISTRAL_PROFILE)
    assert_table_is_whole(MISTRAL_STRICT_PROFILE)
