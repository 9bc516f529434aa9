"""Each rule recognizes its own text, plain and as it is pasted, with its numbers and ids; and hostile bodies are judged without a fault."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.profiles.anthropic import ANTHROPIC_PROFILE
from inspector.profiles.base import EVIDENCE, Profile, ProviderRule, Request
from inspector.profiles.bedrock import BEDROCK_PROFILE
from inspector.profiles.deepseek import DEEPSEEK_THINKING
from inspector.profiles.openai_chat import OPENAI_CHAT
from inspector.strategies.catalogue import STRATEGIES
from tests.folding import in_one_test
from tests.profiles.judged import anthropic

PROFILES = (ANTHROPIC_PROFILE, BEDROCK_PROFILE, OPENAI_CHAT, DEEPSEEK_THINKING)
RULES = [rule for profile in PROFILES for rule in profile.rules]
VALUES = {
    "n": "12",
    "m": "3",
    "id": "toolu_01-A",
    "ids": "toolu_01-A, call_2",
    "count": "5",
    "tokens": "9",
    "output": "2",
    "limit": "4",
    "length": "70",
} | {
    "documents": "1",
    "column": "14",
    "char": "13",
    "kind": "tool_use",
    "role": "user",
    "what": "",
}


def json_error(text: str) -> str:
    return json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": text}})


WRAPPED = {
    "plain": str,
    "json": json_error,
    "log line": lambda text: f"2026-07-25T03:00:00Z ERROR [llm] request failed: BadRequestError: 400 {text} (request_id: req_1)",
    "broken over lines": lambda text: text.replace(" ", "\n    "),
    "quotes lost in a terminal": lambda text: text.replace("`", ""),
}


@in_one_test("wrapped", WRAPPED)
@in_one_test("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_recognises_its_own_text_and_takes_out_what_it_names(rule: ProviderRule, wrapped: str) -> None:
    matched = rule.patterns()[0].search(WRAPPED[wrapped](rule.say(**VALUES)))
    assert matched
    for name, value in matched.groupdict().items():
        if name in ("n", "m", "count", "limit", "length", "id"):
            assert value == VALUES[name], name
        if name == "ids":
            assert [each.strip() for each in value.rstrip(".").split(",")] == ["toolu_01-A", "call_2"]


@in_one_test("rule", RULES, ids=lambda rule: rule.id)
def test_no_rule_recognises_what_is_no_error(rule: ProviderRule) -> None:
    for text in ("", "hello", "HTTP 429: slow down", "messages.5", "tool_use tool_result thinking signature"):
        assert not any(pattern.search(text) for pattern in rule.patterns())


@in_one_test(
    ("text", "ids"),
    [
        ("API Error: 400 due to tool use concurrency issues. Run /rewind to recover the conversation.", {"AN-1", "AN-2", "AN-3", "AN-4", "AN-4t"}),
        ("messages: `tool_use` ids must be unique", {"AN-5"}),
        ("messages.1.content.0.thinking.signature: Field required", {"AN-18"}),
        ("messages.7.content.0.thinking.thinking: Field required", {"AN-23"}),
        ("Too much media: 0 document pages + 102 images > 100", {"AN-20n"}),
        ("messages.3.content.0: Invalid `signature` in `thinking` block", {"AN-17", "AN-17e", "AN-17m"}),
        ("messages.23.content.2: Invalid `data` in `redacted_thinking` block", {"AN-17r"}),
        ("messages.87.content.1.text: cache_control cannot be set for empty text blocks", {"AN-24"}),
        ("user messages must have non-empty content", {"AN-12"}),
        ("messages.2: Did not find 1 `tool_result` block(s) at the beginning of this message. Messages following `tool_use` blocks "
         "must begin with a matching number of `tool_result` blocks.", {"AN-1b", "BR-1"}),
        ("tool_call_id  is not found", {"OV-3r"}),
        ("Missing `reasoning_content` field in the assistant message at message index 4. For more information, see", {"OV-4"}),
    ],
)  # fmt: skip
def test_other_wordings_are_recognised(text: str, ids: set[str]) -> None:
    assert {rule.id for rule in RULES if any(pattern.search(text) for pattern in rule.patterns())} == ids


def test_one_text_may_have_several_causes() -> None:
    text = "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: t1. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    assert {rule.id for rule in RULES if rule.patterns()[0].search(text)} == {"AN-1", "AN-3", "AN-4", "AN-4t"}


def test_the_tables_are_whole() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    known = {strategy.name for strategy in STRATEGIES}
    for rule in RULES:
        assert rule.summary and not rule.summary.endswith(".") and rule.evidence and set(rule.evidence) <= EVIDENCE.keys() and rule.date
        assert rule.references or rule.evidence == "U"
        assert set(rule.repaired_by) <= known, rule.id
        assert not (rule.unjudged and rule.obsolete)


HOSTILE: tuple[Any, ...] = (
    None,
    0,
    True,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    [None],
    [[]],
    [{}],
    ["x"],
    {"type": None},
    {"type": ["text"]},
    {"type": {}},
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(["user", "assistant", "tool", "text", "tool_use", "thinking"])
)
names = st.sampled_from(
    ["role", "content", "type", "text", "id", "tool_use_id", "tool_call_id", "tool_calls", "function", "toolUse", "toolResult", "toolUseId",
     "thinking", "signature", "input", "name", "arguments", "cache_control", "status"]
)  # fmt: skip
bodies = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5), max_leaves=20)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_anything_in_any_place_is_judged(profile: Profile) -> None:
    kinds = ("text", "tool_use", "tool_result", "thinking", "redacted_thinking", "x_tool_result", "server_tool_use")
    fields = ("text", "id", "tool_use_id", "name", "input", "thinking", "signature", "content", "cache_control", "toolUse", "toolResult")
    for value in HOSTILE:
        messages: list[Any] = [value, {"role": value, "content": value}]
        messages += [{"role": role, "content": value, "tool_calls": value, "tool_call_id": value} for role in ("user", "assistant", "tool")]
        messages += [
            {"role": role, "content": [{"type": kind} | dict.fromkeys(fields, value)]} for kind in kinds for role in ("assistant", "user")
        ]
        messages += [{"role": "assistant", "tool_calls": [{"id": value, "function": value}, {"function": {"arguments": value}}]}]
        for thinking in (None, True, False):
            for violation in profile.check(Request(messages, value, "claude-opus-4-6", thinking)):
                assert violation.id in {rule.id for rule in profile.rules} and violation.text


@settings(max_examples=60, deadline=None)
@given(st.lists(bodies, max_size=6), bodies)
def test_any_body_is_judged_and_told_in_the_order_of_its_messages(messages: list[Any], system: Any) -> None:
    for profile in PROFILES:
        told = [violation.path.split(".") for violation in profile.check(Request(messages, system, None, True))]
        places = [int(path[1]) if len(path) > 1 else -1 for path in told]
        assert places == sorted(places)


def test_a_body_as_deep_as_can_be_made_is_judged() -> None:
    deep: Any = "\ud800"
    for _ in range(100_000):
        deep = [deep]
    messages = [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {"x": deep}}]}]
    assert "AN-21" in [violation.id for violation in ANTHROPIC_PROFILE.check(Request(messages))]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_ten_thousand_messages_and_ten_thousand_calls_in_one_take_no_time(profile: Profile) -> None:
    messages = anthropic("u a[K U] u[R]") * 3000
    blocks = [{"type": "tool_use", "id": f"c{n}", "name": "ls", "input": {}, "toolUse": {"toolUseId": f"c{n}"}} for n in range(10_000)]
    answers = [{"type": "tool_result", "tool_use_id": f"c{n}", "toolResult": {"toolUseId": f"c{n}"}} for n in reversed(range(1, 10_000))]
    tools = [{"role": "tool", "tool_call_id": f"c{n}", "content": ""} for n in reversed(range(10_000))]
    messages += [{"role": "assistant", "content": blocks, "tool_calls": blocks}, {"role": "user", "content": answers}, *tools]
    started = time.process_time()
    assert list(profile.check(Request(messages, None, None, True)))
    assert time.process_time() - started < 5
