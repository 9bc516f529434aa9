"""What is judged of a text that is no whole request: what is cut off accuses nothing that may be whole, and what is cut says where."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.presentation.diagnose.parts import before_last_turn, cut_of, laid_out, last_commas
from inspector.presentation.diagnose.pasted import Kind, NotRecognized, Pasted, pasted
from inspector.presentation.prompt.checking import checked
from tests.presentation.diagnose.test_pasted import ERROR

ASK: dict[str, Any] = {"role": "user", "content": "go"}
CALL: dict[str, Any] = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}}]}
RESULT: dict[str, Any] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": 'a "b" [c'}]}
BODY: dict[str, Any] = {
    "model": "claude-opus-4-6",
    "max_tokens": 9,
    "messages": [ASK, CALL, RESULT, {"role": "assistant", "content": "done"}, ASK],
}
MESSAGES = BODY["messages"]


def found(text: str) -> Pasted:
    result = pasted(text.encode())
    assert result.kind is Kind.REQUEST
    return result


def messages(text: str) -> list[Any]:
    value = json.loads(found(text).data)
    return list(value if isinstance(value, list) else value["messages"])


def violations(text: str) -> list[str]:
    result = found(text)
    return [one.id for one in checked(result.data, "r", result.format, "", result.beginning).judgement.violations]


CUTS = {
    "in the text of an answer": (
        '"do',
        [*MESSAGES[:3], {"role": "assistant", "content": "do"}],
        "messages.3.content",
        ", and the next as far as it goes",
    ),
    "in a result, of which nothing is whole": ('"a \\"b', MESSAGES[:2], "messages.2.content.0.content", ""),
    "after a result": ('[c"}', MESSAGES[:3], "messages.2.content.0", ", and the next as far as it goes"),
    "in a call": ('"toolu_1", "na', MESSAGES[:1], "messages.1.content.0", ""),
    "between two messages": ('"done"}, ', MESSAGES[:4], "messages.4", ""),
    "in an escape": ('"a \\', MESSAGES[:2], "messages.2.content.0.content", ""),
}


@pytest.mark.parametrize(("upto", "known", "path", "next_one"), CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("end", ["", "\n"])
def test_what_comes_before_a_cut_is_judged_and_a_call_is_not_accused_of_what_may_follow(
    upto: str, known: list[Any], path: str, next_one: str, end: str
) -> None:
    text = json.dumps(BODY)
    torn = text[: text.index(upto) + len(upto)] + end
    assert messages(torn) == known and violations(torn) == []
    words = found(torn).what
    assert f" at {path}: the first " in words and words.endswith(f"judged{next_one}")


def test_a_cut_after_the_messages_judges_all_and_leaves_out_the_member_that_is_not_whole() -> None:
    torn = json.dumps(BODY | {"tools": [{"name": "ls", "input_schema": {}}]})[:-2]
    assert messages(torn) == MESSAGES and "tools" not in json.loads(found(torn).data)
    assert "at tools.0: its messages are whole, and judged" in found(torn).what
    # Nothing can follow the last one.
    assert violations(json.dumps({"model": "claude-opus-4-6", "messages": [ASK, CALL], "tools": []})[:-2])[0] == "AN-1"


TOOL_MESSAGE = (
    '{"model": "gpt-5", "messages": [{"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "call_1", "content": "note'
)
ASKED_AGAIN = (
    '{"model": "gpt-5", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", '
    '"function": {"name": "ls", "arguments": "{}"}}]}, {"role": "user", "content": "well'
)


@pytest.mark.parametrize(("torn", "rules"), [(TOOL_MESSAGE, ["OC-2"]), (ASKED_AGAIN, ["OC-1"])])
def test_what_is_certain_already_of_the_message_that_is_cut_off_is_said(torn: str, rules: list[str]) -> None:
    assert violations(torn) == rules


def test_a_result_that_is_cut_off_before_its_id_is_not_judged() -> None:
    torn = TOOL_MESSAGE.replace('"tool_call_id": "call_1", ', "")
    assert len(messages(torn)) == 1 and violations(torn) == []


@pytest.mark.parametrize(
    "torn",
    [
        "[{'role': 'user', 'content': 'go'}, {'role': 'assistant', 'content': None, 'tool_calls': [{'id': 'call_1', 'function': {'na",
        TOOL_MESSAGE.replace('"model": "gpt-5", ', ""),
    ],
)
def test_the_turn_that_is_cut_off_says_whose_shape_it_is(torn: str) -> None:
    assert messages(torn)[0] == ASK and found(torn).format == "openai-chat-request"


def test_that_no_model_is_named_before_a_cut_says_nothing() -> None:
    assert found('{"max_tokens": 9, "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "we').format == ""


def test_a_cut_on_a_line_names_it() -> None:
    text = json.dumps(BODY, indent=1)
    assert "cut off in line 11 at messages.1.content" in found("\n".join(text.split("\n")[:11])).what


LISTS = {
    "a message": json.dumps(CALL),
    "messages with commas": ", ".join(map(json.dumps, (ASK, CALL))) + ",",
    "messages on lines": "\n".join(map(json.dumps, (ASK, CALL))),
    "messages over several lines": "\n".join(json.dumps(message, indent=2) for message in (ASK, CALL)),
    "messages of Python": f"{ASK}, {CALL}",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_messages_need_no_list_around_them(text: str) -> None:
    assert messages(text)[-1] == CALL and found(text).beginning is None


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
    assert result.beginning is None


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
    if result.beginning is not None:
        begins = messages(torn)
        assert begins[:-1] == MESSAGES[: len(begins) - 1]
        assert not checked(result.data, "r", result.format, "", result.beginning).judgement.violations


def item(kind: str, **members: str) -> dict[str, str]:
    return {"type": kind, **members}


OUTPUTS = [
    ASK,
    item("function_call", call_id="a", name="ls", arguments="{}"),
    item("web_search_call", id="ws_1", status="completed"),
    item("function_call", call_id="b", name="ls", arguments="{}"),
    item("function_call_output", call_id="b", output="x"),
    {"role": "assistant", "content": "well"},
    item("function_call_output", call_id="a", output="y"),
]
LATER = {
    "input": [item("function_call_output", call_id="a", output="ok"), ASK],
    "previous_response_id": "resp_1",
}
BLANK = {"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": "ok"}, ASK], "model": "gpt-5"}
BLOCKS_FIRST: dict[str, Any] = {
    "messages": [ASK, {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}]
}
BLOCKS_FIRST["messages"].append({"role": "tool", "content": [{"type": "text", "text": "x"}], "tool_call_id": "c"})


@pytest.mark.parametrize(
    "body",
    [{"model": "gpt-5", "input": OUTPUTS}, LATER, BLOCKS_FIRST | {"model": "gpt-5"}],
    ids=["outputs that come late", "a stored call", "an id at the end"],
)
def test_nothing_that_may_come_later_is_missed_wherever_it_is_cut(body: dict[str, Any]) -> None:
    text = json.dumps(body)
    of_whole = {one.rule for one in checked(text.encode(), "r").findings}
    for at in range(10, len(text)):
        try:
            result = pasted(text[:at].encode())
        except NotRecognized:
            continue
        if result.beginning is not None:
            answer = checked(result.data, "r", result.format, "", result.beginning)
            assert not answer.judgement.violations and {one.rule for one in answer.findings} <= of_whole, text[:at]


def test_a_last_member_that_is_whole_says_whose_request_it_is() -> None:
    assert found(json.dumps(BLANK)[:-1]).format == "openai-chat-request" and violations(json.dumps(BLANK)[:-1]) == []


BETWEEN = '{"messages": [{"role": "user", "content": "a"}]'


@pytest.mark.parametrize("end", [", ", ', "mod', ', "model": "gpt-5", "temp', ""])
def test_a_cut_between_the_members_of_the_body_leaves_all_messages(end: str) -> None:
    assert messages(BETWEEN + end) == [{"role": "user", "content": "a"}] and "its messages are whole" in found(BETWEEN + end).what


LINES = "\n".join(map(json.dumps, (ASK, CALL, RESULT)))


def test_messages_on_lines_may_be_cut_and_those_of_responses_need_no_role() -> None:
    assert messages(LINES[:-40]) == [ASK, CALL]
    assert messages("\n".join(json.dumps(one, indent=1) for one in OUTPUTS)) == OUTPUTS
    assert messages(r'{"role":"user","content":"http:\/\/x"}, {"role":"assistant","content":"b"}')[0]["content"] == "http://x"


@pytest.mark.parametrize(
    "text", [f'{{"role": "user", "content": "go"}}\n{ERROR}', '{"role":"web","content":"GET /","level":"info"}\nstarted']
)
def test_other_lines_after_an_object_make_it_no_list_that_is_cut(text: str) -> None:
    result = pasted(text.encode())
    assert result.beginning is None and (result.kind is Kind.ERROR) == (ERROR in text)


def test_an_error_after_a_request_that_is_cut_off_in_a_log_comes_with_it() -> None:
    result = found(json.dumps(BODY)[:150] + f"\n2026-07-01 ERROR {ERROR}")
    assert result.beginning is not None and ERROR in result.error


def test_a_curl_command_is_read_as_a_shell_does() -> None:
    asked = json.dumps(
        {
            "model": "gpt-5",
            "messages": [{"role": "user", "content": "IFS=$'x' it's $5"}, {"role": "tool", "tool_call_id": "c", "content": "n"}],
        }
    )
    in_quotes = asked.replace("'", "'\\''")
    for command in (f"curl x -d '{in_quotes}'", "curl x --data-raw $'" + asked.replace("'", "\\'") + "'"):
        assert json.loads(found(command).data) == json.loads(asked)
        assert "OC-2" in violations(command[:-5])


def test_a_request_on_one_line_is_laid_out_before_it_is_cut_and_the_text_is_where_it_says() -> None:
    result = found(json.dumps(BODY)[:150])
    line = re.search(r"in line (\d+) at", result.what)
    assert line and int(line[1]) == result.text.count("\n") + 1 and json.loads(laid_out(json.dumps(BODY))) == BODY
    assert laid_out(json.dumps(BODY)) == json.dumps(BODY, indent=2) and laid_out(repr(BODY)) == repr(BODY)
    assert "in line" not in pasted(json.dumps(BODY)[:150].encode(), is_typed=True).what


def test_a_comma_too_many_is_taken_out_and_none_of_a_text() -> None:
    text = json.dumps(BODY | {"system": "not ,] this"}, indent=1).replace('"content": "done"\n', '"content": "done",\n')
    result = found(text)
    assert json.loads(result.data) == BODY | {"system": "not ,] this"} and result.comma == (
        text[: text.index('"done",')].count("\n") + 1,
        21,
    )
    assert last_commas('["a,]", [1, 2]]') == [] and found(repr(BODY)).comma is None
