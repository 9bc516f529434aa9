"""What is judged of a text that is no whole request: what is cut off accuses nothing that may be whole, and what is cut says where."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.presentation.diagnose.parts import before_last_turn, cut_of
from inspector.presentation.diagnose.pasted import Kind, NotRecognized, Pasted, pasted
from inspector.presentation.prompt.checking import checked

ASK: dict[str, Any] = {"role": "user", "content": "go"}
CALL: dict[str, Any] = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}]}
RESULT: dict[str, Any] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": 'a "b" [c'}]}
BODY = {"model": "claude-opus-4-6", "max_tokens": 9, "messages": [ASK, CALL, RESULT, {"role": "assistant", "content": "done"}, ASK]}
MESSAGES = BODY["messages"]


def found(text: str) -> Pasted:
    result = pasted(text.encode())
    assert result.kind is Kind.REQUEST
    return result


def messages(text: str) -> list[Any]:
    value = json.loads(found(text).data)
    return list(value if isinstance(value, list) else value["messages"])


CUTS = {
    "in the text of an answer": ('"done', 3, "messages.3.content"),
    "in a result: its call is not accused": ('"a ', 1, "messages.2.content.0.content"),
    "in a call": ('"toolu_1", "na', 1, "messages.1.content.0"),
    "between two messages": ('"done"}, ', 3, "messages.4"),
}


@pytest.mark.parametrize(("upto", "whole", "path"), CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("end", ["", "\n"])
def test_the_turns_before_a_cut_are_judged(upto: str, whole: int, path: str, end: str) -> None:
    text = json.dumps(BODY)
    torn = text[: text.index(upto) + len(upto)] + end
    cut = found(torn)
    assert cut.is_cut and messages(torn) == MESSAGES[:whole] and f"cut off at {path}: the first " in cut.what
    assert not checked(cut.data, "r", cut.format).judgement.violations


def test_a_cut_after_the_messages_judges_all_and_leaves_out_the_member_that_is_not_whole() -> None:
    torn = json.dumps(BODY | {"tools": [{"name": "ls", "input_schema": {}}]})[:-20]
    assert messages(torn) == MESSAGES and "tools" not in json.loads(found(torn).data)
    assert "at tools.0.input_schema: its messages are whole" in found(torn).what or "at tools.0" in found(torn).what


def test_what_only_the_cut_turn_shows_says_whose_shape_it_is() -> None:
    torn = "[{'role': 'user', 'content': 'go'}, {'role': 'assistant', 'content': None, 'tool_calls': [{'id': 'call_1', 'function': {'na"
    assert messages(torn) == [ASK] and found(torn).format == "openai-chat-request"


def test_a_cut_on_a_line_names_it() -> None:
    text = json.dumps(BODY, indent=1)
    assert "cut off in line 11 at messages.1.content.0" in found("\n".join(text.split("\n")[:11])).what


LISTS = {
    "a message": json.dumps(CALL),
    "messages with commas": ", ".join(map(json.dumps, (ASK, CALL))) + ",",
    "messages on lines": "\n".join(map(json.dumps, (ASK, CALL))),
    "messages over several lines": "\n".join(json.dumps(message, indent=2) for message in (ASK, CALL)),
    "messages of Python": f"{ASK}, {CALL}",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_messages_need_no_list_around_them(text: str) -> None:
    assert messages(text)[-1] == CALL and not found(text).is_cut


def test_messages_without_their_list_may_be_cut_too() -> None:
    torn = ", ".join(map(json.dumps, (ASK, CALL, RESULT, ASK, CALL)))[:-20]
    assert messages(torn) == [ASK, CALL, RESULT, ASK] and found(torn).what.startswith("messages without the list around them, cut off")


@pytest.mark.parametrize(
    "text", ['{"role": "x"', '{"a": [1, 2', "[", '{"messages": [', '{"messages": [{"role": "user"', '{"level": "info", "msg": "x"']
)
def test_what_has_no_whole_message_is_not_judged(text: str) -> None:
    try:
        result = pasted(text.encode())
    except NotRecognized:
        return
    assert not result.is_cut


def test_an_error_and_lines_of_a_log_are_no_messages() -> None:
    for text in ('{"error": {"message": "Rate limit reached", "code": 429}}', '{"level": "info", "role": "web"}\n{"level": "info"}'):
        result = pasted(text.encode())
        assert result.kind is Kind.ERROR or result.what == "JSON"


def test_a_turn_of_several_items_is_one() -> None:
    items = [{"role": "user"}, {"type": "reasoning"}, {"type": "function_call"}]
    assert before_last_turn(items) == 1 and before_last_turn([*items, {"type": "function_call_output"}]) == 1
    assert before_last_turn([{"role": "user"}, {"role": "user"}]) == 2 and before_last_turn([{"role": "assistant"}]) == 0


@given(st.integers(1, len(json.dumps(BODY, indent=1)) - 1), st.sampled_from([None, 1]), st.booleans())
def test_wherever_it_is_cut_what_is_judged_is_how_it_begins_and_is_not_refused(at: int, indent: int | None, is_python: bool) -> None:
    text = repr(BODY) if is_python else json.dumps(BODY, indent=indent)
    torn = text[: min(at, len(text) - 1)]
    if cut_of(torn) is None:
        return
    try:
        result = pasted(torn.encode())
    except NotRecognized:
        return
    if result.is_cut:
        begins = messages(torn)
        assert begins == MESSAGES[: len(begins)]
        assert not checked(result.data, "r", result.format).judgement.violations
