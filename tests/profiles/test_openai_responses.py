"""OpenAI Responses: each rule that is judged, with an input that it refuses and one that it nearly does."""

from typing import Any

import pytest

from inspector.profiles.base import ProviderRule
from inspector.profiles.openai_responses import OPENAI_RESPONSES_PROFILE as PROFILE
from inspector.profiles.openai_responses import RULES
from tests.profiles.asking import assert_knows_its_text, assert_table_is_whole, assert_takes_any_body, fired, violations

Item = dict[str, Any]
SAID: Item = {"role": "user", "content": "Why is the total off?"}
MORE: Item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}


def call(name: str = "call_1", **beside: Any) -> Item:
    return {"type": "function_call", "call_id": name, "name": "read_file", "arguments": "{}", **beside}


def output(name: str = "call_1") -> Item:
    return {"type": "function_call_output", "call_id": name, "output": "text"}


def thought(name: str = "rs_1") -> Item:
    return {"type": "reasoning", "id": name, "summary": []}


def answer(name: str | None = "msg_1") -> Item:
    return {"type": "message", "role": "assistant", "id": name, "content": [{"type": "output_text", "text": "Rounding."}]}


REFUSED = [
    ("OR-1", "input.1", [SAID, call(), MORE]),
    ("OR-1", "input.2", [SAID, call("call_0"), call(), output("call_0"), answer()]),
    ("OR-2", "input.1", [SAID, output(), answer()]),
    ("OR-3", "input.1", [SAID, thought(), MORE]),
    ("OR-3", "input.2", [SAID, thought("rs_0"), thought(), MORE]),
    ("OR-3", "input.1", [SAID, thought()]),
    ("OR-5", "input.3", [SAID, answer(), MORE, answer()]),
    ("OR-6", "input.1", [SAID, answer("fc_1"), MORE]),
    ("OR-6", "input.1", [SAID, call(id="call_1"), output()]),
    ("OR-7", "input.1", [SAID, answer(""), MORE]),
    ("OR-7", "input.1", [SAID, answer("msg_1|fc_2"), MORE]),
]
TAKEN = [
    [SAID, call(), output(), answer(), MORE],
    [SAID, call("call_0"), call(), output(), output("call_0")],
    [SAID, thought(), answer(), MORE],
    [SAID, thought(), call(id="fc_1"), output()],
    [SAID, thought("rs_0"), thought(), answer()],
    [SAID, answer(None), MORE, answer(None)],
    [SAID, answer("msg_1"), MORE, answer("msg_2")],
    [SAID, call("x" * 64), output("x" * 64)],
    [SAID, {"type": "item_reference", "id": "rs_1"}, MORE],
]


@pytest.mark.parametrize(("rule", "path", "items"), REFUSED)
def test_what_is_refused(rule: str, path: str, items: list[Item]) -> None:
    assert fired(PROFILE, items) == [(rule, path)]


@pytest.mark.parametrize("items", TAKEN)
def test_what_is_nearly_refused(items: list[Item]) -> None:
    assert fired(PROFILE, items) == []


def test_a_long_call_id_is_refused_at_the_call_and_at_its_output() -> None:
    assert fired(PROFILE, [SAID, call("x" * 65), output("x" * 65)]) == [("OR-8", "input.1"), ("OR-8", "input.2")]
    assert violations(PROFILE, [call("x" * 70), output("x" * 70)])[0].text == (
        "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 70 instead."
    )


def test_an_output_before_its_call_answers_nothing() -> None:
    assert fired(PROFILE, [SAID, output(), call(), MORE]) == [("OR-2", "input.1"), ("OR-1", "input.2")]


def test_only_the_end_is_missing_while_the_tool_runs_or_the_model_thinks() -> None:
    assert [found.open_ended for found in violations(PROFILE, [SAID, call()])] == [True]
    assert [found.open_ended for found in violations(PROFILE, [SAID, thought()])] == [True]
    assert [found.open_ended for found in violations(PROFILE, [SAID, call(), MORE])] == [False]


def test_a_violation_says_what_the_provider_says() -> None:
    assert violations(PROFILE, [SAID, call()])[0].text == "No tool output found for function call call_1."
    assert violations(PROFILE, [answer("fc_1"), MORE])[0].text == "Invalid 'input[0].id': 'fc_1'. Expected an ID that begins with 'msg'."


def test_any_body_is_judged() -> None:
    assert_takes_any_body(PROFILE, [SAID, thought(), call(id="fc_1"), output(), answer(), MORE])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_texts_are_recognised(rule: ProviderRule) -> None:
    assert_knows_its_text(rule)


def test_every_row_is_there() -> None:
    assert [rule.id for rule in RULES] == [f"OR-{number}" for number in range(1, 10)]
    assert {rule.id for rule in RULES if rule.unjudged} == {"OR-4", "OR-9"}
    assert_table_is_whole(PROFILE)
