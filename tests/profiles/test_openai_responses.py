"""OpenAI Responses: each rule that is judged, with an input that it refuses and one that it nearly does."""

from typing import Any

import pytest

from inspector.profiles.base import ProviderRule
from inspector.profiles.openai_responses import OPENAI_RESPONSES_PROFILE as PROFILE
from inspector.profiles.openai_responses import RULES
from inspector.projections.openai_responses import CALL_TYPES
from tests.folding import in_one_test
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


def of_type(kind: str, name: str = "call_1", **more: Any) -> Item:
    return {"type": kind, "call_id": name, "status": "completed", **more}


HOSTED: Item = {"environment": {"type": "container_reference", "container_id": "cntr_1"}}


REFUSED = [
    ("OR-1", "input.1", [SAID, call(), MORE]),
    ("OR-1", "input.2", [SAID, call("call_0"), call(), output("call_0"), answer()]),
    ("OR-2", "input.1", [SAID, output(), answer()]),
    ("OR-3", "input.1", [SAID, thought(), MORE]),
    ("OR-3", "input.2", [SAID, thought("rs_0"), thought(), MORE]),
    ("OR-3", "input.1", [SAID, thought()]),
    ("OR-3", "input.1", [SAID, thought(), answer(None), MORE]),
    ("OR-3", "input.1", [SAID, thought(), {"role": "assistant", "content": "Rounding."}, MORE]),
    ("OR-3", "input.2", [SAID, of_type("shell_call"), thought(), of_type("shell_call_output")]),
    *(("OR-1", "input.1", [SAID, of_type(kind), MORE]) for kind in CALL_TYPES),
    *(("OR-2", "input.1", [SAID, of_type(each.output), MORE]) for each in CALL_TYPES.values()),
    ("OR-2", "input.2", [SAID, of_type("shell_call", **HOSTED), of_type("shell_call_output", "call_2"), MORE]),
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
    [SAID, {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, answer(None), MORE],
    [SAID, thought(), of_type("shell_call"), of_type("shell_call_output")],
    *([SAID, of_type(kind), of_type(each.output), MORE] for kind, each in CALL_TYPES.items()),
    [SAID, of_type("tool_search_call", execution="client"), output(), MORE],
    [SAID, {"type": "tool_search_call", "call_id": None, "execution": "server"}, MORE],
    [SAID, {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []}, MORE],
    [SAID, of_type("shell_call", **HOSTED), MORE],
    [SAID, of_type("shell_call", **HOSTED), of_type("shell_call_output"), MORE],
    [SAID, {"type": "web_search_call", "id": "ws_1", "status": "completed"}, {"type": "mcp_call", "id": "mcp_1", "output": "x"}, MORE],
]


@in_one_test(("rule", "path", "items"), REFUSED)
def test_what_is_refused(rule: str, path: str, items: list[Item]) -> None:
    assert fired(PROFILE, items) == [(rule, path)]


@in_one_test("items", TAKEN)
def test_what_is_nearly_refused(items: list[Item]) -> None:
    assert fired(PROFILE, items) == []


def test_a_long_call_id_is_refused_at_the_call_and_at_its_output() -> None:
    assert fired(PROFILE, [SAID, call("x" * 65), output("x" * 65)]) == [("OR-8", "input.1"), ("OR-8", "input.2")]
    assert violations(PROFILE, [call("x" * 70), output("x" * 70)])[0].text == (
        "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 70 instead."
    )


def test_an_empty_call_id_is_refused_at_the_call_and_at_its_output() -> None:
    assert fired(PROFILE, [SAID, call(""), output("")]) == [("OR-10", "input.1"), ("OR-10", "input.2")]
    assert violations(PROFILE, [SAID, of_type("local_shell_call", "")])[0].text == (
        "Invalid 'input[1].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead."
    )


@pytest.mark.parametrize(("name", "rules"), [("list files", ["OR-11"]), ("functions/read", ["OR-11"]), ("fs.list-Files_2", []), ("", [])])
def test_the_name_of_a_function_has_letters_digits_and_signs_that_are_taken(name: str, rules: list[str]) -> None:
    assert [rule for rule, _ in fired(PROFILE, [SAID, call() | {"name": name}, output(), MORE])] == rules


@in_one_test("kind", CALL_TYPES)
def test_a_call_and_an_output_are_named_as_the_provider_names_them(kind: str) -> None:
    words = CALL_TYPES[kind].words
    texts = [found.text for found in violations(PROFILE, [of_type(kind, "call_9"), of_type(CALL_TYPES[kind].output, "call_8"), MORE])]
    assert texts == [f"No tool output found for {words} call_9.", f"No tool call found for {words} output with call_id call_8."]
    for text, rule in zip(texts, RULES, strict=False):
        assert any(match["id"] in ("call_9", "call_8") for pattern in rule.patterns() if (match := pattern.search(text)))


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


@in_one_test("rule", RULES, ids=lambda rule: rule.id)
def test_texts_are_recognised(rule: ProviderRule) -> None:
    assert_knows_its_text(rule)


def test_every_row_is_there() -> None:
    assert [rule.id for rule in RULES] == [*(f"OR-{number}" for number in range(1, 12)), "OC-9"]
    assert {rule.id for rule in RULES if rule.unjudged} == {"OR-4", "OR-9", "OC-9"}
    assert_table_is_whole(PROFILE)
