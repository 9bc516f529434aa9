"""A repair appends one line, in the form that 0.61.0 sends once at each resume; undo is the file as it was."""

import json
from typing import Any

import pytest

from inspector.programs.formats import Stored, WriteRefused
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
from tests.programs.gemini_cli.test_reading import codes, contents, reading, verdict


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


def two_results(kept_with_call: dict[str, Any], recorded: dict[str, Any], id_: str = "ls__a") -> Stored:
    """A call whose result is in its `toolCalls` and in the record after it."""
    return stored(
        HEADER, user("u1", "go"), answer("m1", toolCalls=[tool_call(id_, kept_with_call)]), user("r1", recorded), answer("m2", "ok")
    )


def results_of(chat: Stored) -> list[Any]:
    return [part for message in last_list(chat) if message["type"] == "user" for part in message["content"] if "functionResponse" in part]


@pytest.mark.parametrize("name", ["record-results-once", "shorten-ids", "end-with-user"])
def test_a_result_that_differs_from_the_one_in_the_record_is_kept_in_a_record_of_its_own(name: str) -> None:
    """A repair writes no `toolCalls`, which alone has it, and the loader sent both."""
    chat = two_results(response("ls__a", "REAL OUTPUT"), response("ls__a", "[Operation Cancelled]"))
    result = repaired(chat, name)
    assert [message["id"] for message in last_list(result)][:5] == ["u1", "m1", "m1_response", "r1", "m2"]
    assert [part["functionResponse"]["response"]["output"] for part in results_of(result)] == ["REAL OUTPUT", "[Operation Cancelled]"]
    if name == "record-results-once":
        assert contents(result) == contents(chat) and contents(chat)[2] == ("user", ["a=REAL OUTPUT", "a=[Operation Cancelled]"])


@pytest.mark.parametrize("name", ["record-results-once", "shorten-ids", "end-with-user"])
def test_a_result_that_is_the_one_in_the_record_is_written_once(name: str) -> None:
    once = {"functionResponse": dict(reversed(response("ls__a", "x")["functionResponse"].items()))}
    assert len(results_of(repaired(two_results(once, response("ls__a", "x")), name))) == 1


def test_results_that_differ_by_an_image_alone_are_two() -> None:
    chat = two_results(with_image("ls__a", "aGVsbG8="), with_image("ls__a", "d29ybGQ="))
    assert results_of(repaired(chat, "record-results-once")) == [with_image("ls__a", "aGVsbG8="), with_image("ls__a", "d29ybGQ=")]


def test_an_image_next_to_a_result_that_the_record_lacks_stays_with_it() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}
    for recorded, name in (([response("ls__a", "x")], "m1_response"), ([response("ls__a", "x"), image], "r1")):
        call_with_image = tool_call("ls__a", response("ls__a", "x"), image)
        chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=[call_with_image]), user("r1", *recorded), answer("m2", "ok"))
        _, _, results, _ = last_list(repaired(chat, "record-results-once"))
        assert results["id"] == name and results["content"] == [response("ls__a", "x"), image]


def test_a_result_that_differs_takes_no_name_that_a_record_has() -> None:
    calls = [tool_call("ls__a", response("ls__a", "REAL OUTPUT"))]
    chat = stored(HEADER, user("u1", "go"), answer("m1", toolCalls=calls), user("m1_response", response("ls__a", "y")), answer("m2", "ok"))
    written_list = last_list(repaired(chat, "record-results-once"))
    assert [message["id"] for message in written_list] == ["u1", "m1", "m1_response_response", "m1_response", "m2"]


def test_of_two_entries_of_one_call_both_results_stay() -> None:
    calls = [tool_call("ls__a", response("ls__a", "one")), tool_call("ls__a", response("ls__a", "two"))]
    chat = stored(HEADER, user("u1", "go"), answer("m1", [call("ls__a")], toolCalls=calls), answer("m2", "ok"))
    assert results_of(repaired(chat, "record-results-once")) == [response("ls__a", "one"), response("ls__a", "two")]


def test_results_of_a_call_that_differ_are_an_error_and_no_note() -> None:
    chat = two_results(response("ls__a", "REAL OUTPUT"), response("ls__a", "[Operation Cancelled]"))
    assert codes(chat) == ["TOOL701/error", "TOOL208/error"]
    assert contents(repaired(chat, "keep-first-result"))[2] == ("user", ["a=REAL OUTPUT"])
    assert codes(two_results(response("ls__a", "x"), response("ls__a", "x"))) == ["TOOL701/note"]
