"""`record-results-once`: doubled results go, differing ones stay."""

import pytest

from inspector.planning.recommend import sequence
from inspector.programs.formats import Stored
from inspector.programs.gemini_cli.format import GEMINI_CLI
from inspector.programs.gemini_cli.reader import NAME
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings
from tests.programs.gemini_cli.chats import (
    CLEAN,
    HEADER,
    TWO_CALLS,
    answer,
    call,
    response,
    resumed,
    stored,
    tool_call,
    user,
)  # fmt: skip
from tests.programs.gemini_cli.repairing import last_list, repaired
from tests.programs.gemini_cli.test_reading import codes, contents, verdict


@pytest.mark.parametrize("chat", [stored(*CLEAN), stored(*resumed())], ids=["never resumed", "resumed"])
def test_each_result_is_recorded_once(chat: Stored) -> None:
    result = repaired(chat, "record-results-once")
    assert contents(result)[:4] == [
        ("user", ["List the files."]),
        ("model", ["I look.", "ls(a)*", "ls(b)"]),
        ("user", ["a=x", "b=y"]),
        ("model", ["Two files."]),
    ]
    assert codes(result) == [] and verdict(result) == []


def test_an_answer_keeps_all_but_its_tool_calls() -> None:
    answered = next(message for message in last_list(repaired(stored(*CLEAN), "record-results-once")) if message["id"] == "m1")
    assert answered["content"] == [{"text": "I think.", "thought": True}, {"text": "I look."}, call("ls__a"), call("ls__b")]
    assert "toolCalls" not in answered and answered["thoughts"] == CLEAN[5]["thoughts"] and answered["model"] == "gemini-2.5-pro"


def test_results_that_only_the_calls_keep_get_the_record_that_a_resume_would_give_them() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=TWO_CALLS), answer("m2", "Done."))
    result = repaired(chat, "record-results-once")
    assert [message["id"] for message in last_list(result)] == ["u1", "m1", "m1_response", "m2"]
    assert contents(result) == contents(chat)


def test_a_result_that_the_program_gave_twice_in_one_record_is_kept_once() -> None:
    chat = stored(
        HEADER, user("u1", "go"), answer("m1", [call("a")]), user("r1", response("a", "x"), response("a", "x")), answer("m2", "ok")
    )
    assert contents(repaired(chat, "record-results-once"))[2] == ("user", ["a=x"])


def test_results_of_one_call_that_differ_are_left() -> None:
    chat = stored(
        HEADER,
        user("u1", "go"),
        answer("m1", toolCalls=TWO_CALLS[:1]),
        user("r1", response("ls__a", "x")),
        user("r2", response("ls__a", "z")),
    )
    result = repaired(chat, "record-results-once")
    assert contents(result)[2] == ("user", ["a=x", "a=z"]) and codes(result) == ["TOOL701/error", "TOOL208/error"]
    assert contents(repaired(chat, "record-results-once", "keep-first-result"))[2] == ("user", ["a=x"])


def recommended(chat: Stored) -> tuple[list[str], str]:
    case = case_of(chat.conversation, NAME)
    recommendation = sequence(case, all_findings(case), "gemini", GEMINI_CLI.default_projection)
    return [strategy.name for strategy in recommendation.candidate.strategies], recommendation.why_not


@pytest.mark.parametrize("chat", [stored(*CLEAN), stored(*resumed())], ids=["never resumed", "resumed"])
def test_a_repair_for_the_provider_is_the_one_that_the_rule_names(chat: Stored) -> None:
    """Of a chat that was never resumed only a note says what the next resume does; the provider rule alone names strategies that change nothing there."""
    assert recommended(chat) == (["record-results-once"], "")


def test_a_chat_that_a_resume_sends_as_it_is_needs_no_repair_for_the_provider() -> None:
    assert recommended(repaired(stored(*CLEAN), "record-results-once")) == ([], "")


def test_a_call_without_a_result_is_no_doubled_one() -> None:
    """The same provider rule refuses it: what is recommended then answers the call, and records each result once."""
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=[tool_call("ls__a")]), user("u2", "go on"))
    names, why_not = recommended(chat)
    assert "insert-interrupted-result" in names and not why_not
