"""A repair appends one line, in the form that 0.61.0 sends once at each resume; undo is the file as it was."""

import pytest

from inspector.programs.formats import WriteRefused
from inspector.programs.gemini_cli.program import PROGRAM
from tests.programs.gemini_cli.chats import (
    CLEAN,
    HEADER,
    ID,
    TWO_CALLS,
    answer,
    lines,
    of_bytes,
    stored,
    tool_call,
    user,
)  # fmt: skip
from tests.programs.gemini_cli.repairing import last_list, repaired
from tests.programs.gemini_cli.test_reading import codes, verdict


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
