"""A repair appends one line, in the form that 0.61.0 sends once at each resume; undo is the file as it was."""

import json
from typing import Any

import pytest

from inspector.programs.formats import WriteRefused
from inspector.programs.gemini_cli.format import GEMINI_CLI
from inspector.programs.gemini_cli.program import PROGRAM
from inspector.programs.gemini_cli.reader import PROJECTION
from tests.programs.gemini_cli.chats import (
    CLEAN,
    HEADER,
    ID,
    TWO_CALLS,
    answer,
    call,
    lines,
    of_bytes,
    response,
    stored,
    tool_call,
    user,
)  # fmt: skip
from tests.programs.gemini_cli.repairing import last_list, repaired, written
from tests.programs.gemini_cli.test_reading import codes, reading, verdict


def test_a_call_without_a_result_is_answered() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=[tool_call("a")]), user("u2", "and?"))
    result = repaired(chat, "insert-interrupted-result")
    assert codes(result) == [] and verdict(result) == []
    assert last_list(result)[2]["content"][0]["functionResponse"]["id"] == "a"


def test_a_line_that_cannot_be_read_stays_where_it_is() -> None:
    chat = stored(*CLEAN[:-1], '{"id":"m2","ty', CLEAN[-1])
    result = repaired(chat, "record-results-once")
    assert codes(result) == ["STORE801/error"]


def test_who_repaired_it_is_told_how_to_resume_it() -> None:
    chat = stored(*CLEAN)
    assert PROGRAM.repairs.follow_up(chat.conversation) == (f"Resume it in the folder of its project: gemini --resume {ID}",)


def test_numbers_that_json_cannot_write_again_are_refused() -> None:
    data = lines(HEADER, user("u1", "go"), answer("m1", toolCalls=TWO_CALLS)).replace(b'"path":"."', b'"path":1e999')
    with pytest.raises(WriteRefused, match="would not read back as planned"):
        repaired(of_bytes(data), "record-results-once")


def with_image(id_: str, data: str = "aGVsbG8=", **more: Any) -> dict[str, Any]:
    """A result with an image inside it, as Gemini 3 takes one."""
    image = {"inlineData": {"mimeType": "image/png", "data": data}}
    return {"functionResponse": {**response(id_, "see image")["functionResponse"], "parts": [image], **more}}


def test_a_result_keeps_its_image_and_what_else_it_has_when_its_id_changes() -> None:
    result = with_image("ls__a!", willContinue=False, scheduling="SILENT")
    chat = stored(HEADER, user("u1", "go"), answer("m1", [call("ls__a!")]), user("r1", result), answer("m2", "ok"))
    _, answered, results, _ = last_list(repaired(chat, "rename-invalid-ids"))
    fresh = answered["content"][0]["functionCall"]["id"]
    assert fresh != "ls__a!" and results["content"] == [with_image(fresh, willContinue=False, scheduling="SILENT")]


def test_a_result_without_more_gets_none() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", [call("ls__a!")]), user("r1", response("ls__a!", "x")), answer("m2", "ok"))
    (result,) = last_list(repaired(chat, "rename-invalid-ids"))[2]["content"]
    assert set(result["functionResponse"]) == {"id", "name", "response"}


def test_the_next_request_has_the_image_of_a_result() -> None:
    chat = stored(HEADER, user("u1", "go"), answer("m1", [call("ls__a")]), user("r1", with_image("ls__a")), answer("m2", "ok"))
    assert PROJECTION.project(reading(chat).messages).values[2]["parts"] == [with_image("a")]


def test_a_chat_that_is_one_object_gets_its_messages_replaced_and_the_mode_says_so() -> None:
    """It has no lines: what was written to it at its end would be no JSON any more."""
    messages = [user("u1", "go"), answer("m1", toolCalls=TWO_CALLS), answer("m2", "ok")]
    chat = of_bytes(json.dumps({**HEADER, "messages": messages, "summary": "Files"}, indent=2).encode(), "session-1.json")
    before, after = chat.records[0].value.data, written(chat, "record-results-once")
    start, end = before.index(b'"messages"'), before.rindex(b'"summary"')
    assert after[:start] == before[:start] and after.endswith(before[end:]) and b"$set" not in after
    assert [message["id"] for message in json.loads(after)["messages"]] == ["u1", "m1", "m1_response", "m2"]
    (mode,) = GEMINI_CLI.modes
    assert "appends one $set line" in mode.summary and "in a .json file of one object, replaces its messages" in mode.summary
