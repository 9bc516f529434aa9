"""What `make-blocks-loadable` changes in the bytes of a session that does not load."""

import json
from typing import Any

import pytest

from tests.folding import in_one_test
from tests.programs.rollouts.strategies.repaired_sessions import (
    AS_CHILD,
    IN_PLACE,
    PARENT,
    TURN,
    call,
    codes,
    line,
    loads,
    repaired,
    session,
    text,
)


@in_one_test(
    ("content", "wanted"),
    [
        ([{"type": "redacted_thinking", "data": "x"}, text("so")], [text("so")]),
        ([{"type": "redacted_thinking", "data": "x"}], [text("[redacted thinking]")]),
        ([call("a", arguments='{"cmd": "ls"}')], [call("a")]),
        ([call("a", arguments=[1])], [call("a", arguments={}, parse_error="the arguments are no object", raw_arguments="[1]")]),
        ([call("a", arguments=None)], [call("a", arguments={})]),
        (
            [{"type": "thinking", "thinking": "hm", "thinking_signature": 7}],
            [{"type": "thinking", "thinking": "hm", "thinking_signature": None}],
        ),
        ({"type": "text", "text": "so"}, [{"type": "text", "text": "so"}]),
        ({"a": 1}, '{"a":1}'),
        (5, "5"),
        ([{"type": "search_result", "url": "u"}], [text('{"type":"search_result","url":"u"}')]),
        (["so"], [text("so")]),
        ([{"type": "text", "text": None}], [{"type": "text", "text": ""}]),
        ([{"type": "image_url", "image_url": {"url": "data:x"}}], [{"type": "image", "image_url": "data:x", "detail": None}]),
    ],
)
@in_one_test("mode", [IN_PLACE, AS_CHILD])
def test_what_the_loader_refuses_becomes_what_it_takes(content: Any, wanted: Any, mode: str) -> None:
    files = session(PARENT, [*TURN, line("user", "more"), line("assistant", content, provider="anthropic"), line("user", "and?")])
    preview, written = repaired(files, "make-blocks-loadable", mode=mode)
    assert "STORE401" in codes(preview.before) and "STORE401" not in codes(preview.after)
    assert preview.before.case.reading.failure and not preview.after.case.reading.failure
    assert loads(written)
    lines = written["messages.jsonl"].splitlines(keepends=True)
    before = files[f"sessions/{PARENT}/messages.jsonl"].splitlines(keepends=True)
    assert json.loads(lines[5])["content"] == wanted
    assert lines[:5] + lines[6:] == before[:5] + before[6:]


def test_tool_use_of_another_program_becomes_a_call_of_this_one() -> None:
    block = {"type": "tool_use", "id": "b", "name": "bash", "input": {"cmd": "pwd"}}
    files = session(PARENT, [line("user", "go"), line("assistant", [block]), line("tool", "/", tool_call_id="b")])
    preview, written = repaired(files, "make-blocks-loadable")
    assert loads(written) and codes(preview.after) == []
    assert json.loads(written["messages.jsonl"].splitlines()[1])["content"][0]["type"] == "toolCall"


@pytest.mark.parametrize(
    ("given", "wanted"), [(1766503326, "2025-12-23T15:22:06.000000"), (1766503326000, "2025-12-23T15:22:06.000000"), ([], None)]
)
def test_fields_of_a_message_that_are_no_text_are_brought_to_one(given: Any, wanted: str | None) -> None:
    files = session(PARENT, [line("user", "go", timestamp=given, details=[1], model=5)])
    _, written = repaired(files, "make-blocks-loadable")
    found = json.loads(written["messages.jsonl"])
    assert loads(written)
    assert (found["timestamp"], found["details"], found["model"]) == (wanted, {"value": [1]}, None)


def test_a_later_strategy_of_the_same_plan_works_on_the_repaired_line() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "thinking_signature": 7}
    redacted = {"type": "redacted_thinking", "data": "x"}
    files = session(
        PARENT, [line("user", "go"), line("assistant", [redacted, thinking, text("so")], provider="anthropic", timestamp=1766503326)]
    )
    preview, written = repaired(files, "make-blocks-loadable", "thinking-to-text")
    assert loads(written) and "THINK201" not in codes(preview.after)
    message = json.loads(written["messages.jsonl"].splitlines()[1])
    assert [block["text"] for block in message["content"]] == ["<thinking>\nhm\n</thinking>", "so"]
    assert message["timestamp"] == "2025-12-23T15:22:06.000000"
