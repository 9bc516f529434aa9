"""`record-results-once`: doubled results go, differing ones stay."""

import pytest

from inspector.programs.formats import Stored
from tests.programs.gemini_cli.chats import (
    CLEAN,
    HEADER,
    TWO_CALLS,
    answer,
    call,
    response,
    resumed,
    stored,
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
