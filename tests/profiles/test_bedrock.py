"""bedrock: a body that fires and one that nearly does for each rule of Converse that a body can decide."""

from typing import Any

import pytest

from inspector.profiles.bedrock import BEDROCK_PROFILE as PROFILE
from tests.folding import in_one_test
from tests.profiles.judged import found, said


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def call(identity: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": identity, "name": "ls", "input": {}}}


def result(identity: str, **changed: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": identity, "content": [{"text": "done"}]} | changed}


WORDS = {"text": "words"}
GO = user(WORDS)
CASES: dict[str, tuple[list[Any], str, list[Any]]] = {
    "BR-1": (
        [GO, assistant(call("a"), call("b")), user(result("a"), WORDS)],
        "messages.1",
        [GO, assistant(call("a"), call("b")), user(result("b"), WORDS), user(result("a"))],
    ),
    "BR-2": (
        [GO, assistant(call("a")), user(result("a")), user(result("a"))],
        "messages.3",
        [GO, assistant(call("a"), call("b")), user(result("a"), result("b"))],
    ),
    "BR-3": (
        [GO, assistant(call("a"), call("a")), user(result("a"))],
        "messages.1",
        [GO, assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a"))],
    ),
    "BR-5": ([GO, assistant(), GO], "messages.1", [GO, assistant(WORDS), GO]),
    "BR-6": (
        [GO, assistant(call("a")), user(result("a", status="error", content=[]))],
        "messages.2.content.0.toolResult",
        [GO, assistant(call("a")), user(result("a", status="success", content=[]))],
    ),
    "BR-7": ([user(WORDS, {"text": ""})], "messages.0.content.1", [user(WORDS, {"text": "\n"})]),
}
NOVA = [
    {"toolUse": {"toolUseId": "t1", "name": "nova_code_interpreter", "input": {"snippet": "1"}, "type": "server_tool_use"}},
    {
        "toolResult": {
            "toolUseId": "t1",
            "content": [{"json": {"stdOut": "1"}}],
            "type": "nova_code_interpreter_result",
            "status": "success",
        }
    },
    WORDS,
]


@in_one_test("rule", CASES)
def test_a_body_that_fires_and_one_that_nearly_does(rule: str) -> None:
    fires, path, nearly = CASES[rule]
    assert found(PROFILE, fires) == [(rule, path)]
    assert found(PROFILE, nearly) == []


def test_every_judged_rule_has_a_case_here() -> None:
    assert {rule.id for rule in PROFILE.rules if not rule.unjudged and not rule.obsolete} == CASES.keys()


def test_a_call_that_the_provider_ran_wants_no_answer_of_the_user() -> None:
    """Nova's own tools: call and result stand in one message of the assistant, and the request was answered with 200."""
    assert found(PROFILE, [GO, assistant(*NOVA), GO]) == []
    assert found(PROFILE, [GO, assistant(*NOVA), user(result("t1"))]) == [("BR-2", "messages.2")]
    assert found(PROFILE, [GO, assistant(*NOVA, call("a")), user(result("a"))]) == []
    assert found(PROFILE, [GO, assistant(*NOVA, call("a")), GO]) == [("BR-1", "messages.1")]
    assert found(PROFILE, [GO, assistant(NOVA[0]), GO]) == [], "Nova's answer may be cut off, and no refusal of that is known"


def test_results_without_calls_are_too_many_wherever_they_stand() -> None:
    assert found(PROFILE, [user(result("a"))]) == [("BR-2", "messages.0")]
    assert found(PROFILE, [GO, assistant(WORDS), user(result("a"))]) == [("BR-2", "messages.2")]


def test_an_unknown_id_leaves_its_call_unanswered() -> None:
    (told,) = said(PROFILE, [GO, assistant(call("a")), user(result("b"), WORDS), assistant(WORDS)])
    assert (told.path, told.text) == ("messages.1", "Expected toolResult blocks at messages.2.content for the following Ids: a")


@pytest.mark.parametrize(
    ("rest", "open_ended"), [([], True), ([user(result("a"))], True), ([user(result("a"), WORDS)], False), ([GO, assistant(WORDS)], False)]
)
def test_calls_that_only_wait_for_results_are_open_ended(rest: list[Any], open_ended: bool) -> None:
    (told,) = said(PROFILE, [GO, assistant(call("a"), call("b")), *rest])
    assert (told.id, told.open_ended) == ("BR-1", open_ended)
