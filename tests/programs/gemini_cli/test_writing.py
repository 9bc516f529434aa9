"""A repair appends one line, in the form that 0.61.0 sends once at each resume; undo is the file as it was."""

import json
from typing import Any

import pytest

from inspector.conversation.edits import Plan
from inspector.planning.preview import compose
from inspector.programs.formats import Stored, WriteRefused
from inspector.programs.gemini_cli.format import GEMINI_CLI
from inspector.programs.gemini_cli.reader import NAME
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.programs.gemini_cli.chats import (
    CLEAN,
    HEADER,
    TWO_CALLS,
    answer,
    call,
    lines,
    of_bytes,
    response,
    resumed,
    rewind,
    stored,
    tool_call,
    user,
)  # fmt: skip
from tests.programs.gemini_cli.test_reading import codes, contents, verdict


def repaired(chat: Stored, *names: str) -> Stored:
    edits = compose(case_of(chat.conversation, NAME), [strategy(name) for name in names])
    plan = Plan("chat", chat.conversation.native_id, "append-set", names, frozenset(), "", edits)
    (change,) = GEMINI_CLI.write(plan, chat)
    assert change.before is not None and change.after is not None
    assert change.after.data.startswith(change.before.data), "a line that was there changed"
    assert change.after.data.count(b"\n") == change.before.data.count(b"\n") + 1
    return of_bytes(change.after.data)


def last_list(chat: Stored) -> list[dict[str, Any]]:
    line = chat.records[0].value.data.splitlines()[-1]
    messages: list[dict[str, Any]] = json.loads(line)["$set"]["messages"]
    return messages


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


def test_what_a_rewind_cleared_comes_back_before_what_came_after_it() -> None:
    chat = stored(HEADER, user("u1", "one"), answer("m1", "aye"), rewind("u9"), user("u3", "three"))
    result = repaired(chat, "restore-cleared-messages")
    assert contents(result) == [("user", ["one"]), ("model", ["aye"]), ("user", ["three"])] and codes(result) == []


def test_a_call_without_a_result_is_answered() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=[tool_call("a")]), user("u2", "and?"))
    result = repaired(chat, "insert-interrupted-result")
    assert codes(result) == [] and verdict(result) == []
    assert last_list(result)[2]["content"][0]["functionResponse"]["id"] == "a"


def test_a_line_that_cannot_be_read_stays_where_it_is() -> None:
    chat = stored(*CLEAN[:-1], '{"id":"m2","ty', CLEAN[-1])
    result = repaired(chat, "record-results-once")
    assert codes(result) == ["STORE801/error"]


def test_numbers_that_json_cannot_write_again_are_refused() -> None:
    data = lines(HEADER, user("u1", "go"), answer("m1", toolCalls=TWO_CALLS)).replace(b'"path":"."', b'"path":1e999')
    with pytest.raises(WriteRefused, match="would not read back as planned"):
        repaired(of_bytes(data), "record-results-once")


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
