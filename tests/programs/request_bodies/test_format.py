"""A request body is read into blocks, and written back with nothing changed but what a plan changes."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.conversation.edits import Insert, Remove, Replace
from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import true_messages
from inspector.programs.formats import WriteRefused
from inspector.programs.request_bodies import readers as as_sent
from inspector.projections.catalogue import projection
from inspector.wires.layout import NotARequest
from tests.programs.request_bodies.bodies import BODIES, FORMATS, read, stored, written

WIRES = sorted(BODIES)


def messages_of(wire: str, body: Any) -> Any:
    return body if isinstance(body, list) else body[FORMATS[wire].shape.lists[0]]


def kinds(wire: str, body: Any) -> list[str]:
    return [f"{chunk.key} {chunk.role} {chunk.kind.value}" for chunk in read(wire, body).chunks]


def spellings(body: Any) -> list[bytes]:
    """The same value in other spellings of JSON."""
    plain = json.dumps(body)
    return [
        plain.encode(),
        json.dumps(body, indent=2, ensure_ascii=False).encode() + b"\n",
        json.dumps(body, indent="\t", separators=(" ,", " : ")).replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + plain.replace("user", "us\\u0065r").encode(),
        b" \n" + plain.encode() + b"\r\n\r\n",
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_the_plan_without_edits_changes_no_byte_in_any_spelling(wire: str) -> None:
    for data in spellings(BODIES[wire]):
        assert written(wire, stored(wire, data)) == data


@pytest.mark.parametrize("wire", WIRES)
def test_taking_one_message_out_leaves_every_other_byte(wire: str) -> None:
    for data in spellings(BODIES[wire]):
        held = stored(wire, data)
        numbers = sorted({chunk.msg_idx for chunk in held.conversation.chunks if chunk.msg_idx is not None and chunk.msg_idx >= 0})
        for number in numbers:
            gone = [chunk for chunk in held.conversation.chunks if chunk.msg_idx == number]
            after = written(wire, held, *map(Remove, gone))
            values = messages_of(wire, json.loads(data.decode("utf-8-sig")))
            assert messages_of(wire, json.loads(after.decode("utf-8-sig"))) == values[:number] + values[number + 1 :]
            assert len(after) < len(data) and after[:3] == data[:3] and after[-2:] == data[-2:]


@pytest.mark.parametrize("wire", WIRES)
def test_a_message_whose_block_changes_keeps_its_other_members_and_blocks(wire: str) -> None:
    data = spellings(BODIES[wire])[2]
    held = stored(wire, data)
    changed = 0
    for chunk in held.conversation.chunks:
        if chunk.kind is not Kind.TEXT or chunk.msg_idx in (None, -1):
            continue
        after = written(wire, held, Replace(chunk, replace(chunk, payload={**chunk.payload, "text": "REPAIRED"})))
        before_values = messages_of(wire, json.loads(data))
        values = messages_of(wire, json.loads(after))
        assert [number for number, value in enumerate(values) if value != before_values[number]] == [chunk.msg_idx]
        back = {each.key: each for each in read(wire, after).chunks}
        assert back[chunk.key].text == "REPAIRED"
        assert all(back[each.key].raw == each.raw for each in held.conversation.chunks if each.msg_idx != chunk.msg_idx)
        assert all(
            back[each.key].raw == each.raw
            for each in held.conversation.chunks
            if each.msg_idx == chunk.msg_idx
            and each.key != chunk.key
            and not each.raw.strip().startswith(b'{\r\n\t\t\t"role"')
            # A block that is a string in its message has the bytes of the message.
            and b'"role"' not in each.raw
        )
        assert before_values[chunk.msg_idx or 0].keys() == values[chunk.msg_idx or 0].keys()
        changed += 1
    assert changed


@pytest.mark.parametrize("wire", WIRES)
def test_the_prompt_of_a_body_is_the_body(wire: str) -> None:
    """As sent: what a profile judges is what was sent, but for the few spellings named here."""
    body = BODIES[wire]
    conversation = read(wire, body)
    prompt = projection(FORMATS[wire].default_projection).project(as_sent.read(conversation).messages)
    same = [number for number, value in enumerate(messages_of(wire, body)) if prompt.values[number] == value]
    otherwise = {
        "anthropic": {3, 8},  # no objects at all, and content that is a number: shown as blocks
        "openai-chat": set(),
        "mistral": {2},  # content null instead of ""
        "openai-responses": {0},  # a message without its type
        "gemini": {6},  # a role left out
        "bedrock": set(),
        "ai-sdk": {1},  # an image's media type
    }
    assert len(prompt.values) == len(messages_of(wire, body)) and not prompt.lost
    assert set(range(len(prompt.values))) - set(same) == otherwise[wire]


@pytest.mark.parametrize("wire", WIRES)
def test_numbers_are_those_that_rules_count_by(wire: str) -> None:
    chunks = read(wire, BODIES[wire]).chunks
    assert [chunk.seq for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert len({chunk.key for chunk in chunks}) == len(chunks)
    for message in true_messages(chunks):
        assert len({(chunk.msg_idx, chunk.role, chunk.seq - (chunk.chunk_idx or 0)) for chunk in message.chunks}) == 1
    assert sum(len(message.chunks) for message in true_messages(chunks)) == len(chunks)


@pytest.mark.parametrize("wire", WIRES)
def test_raw_is_the_text_of_the_block_or_of_the_message_that_is_one(wire: str) -> None:
    body = BODIES[wire]
    for data in spellings(body):
        for chunk in read(wire, data).chunks:
            assert chunk.raw in data
            steps = chunk.key.split(".")[isinstance(body, list) :]
            trail = [body]
            for step in steps:
                trail.append(trail[-1][int(step)] if isinstance(trail[-1], list) else trail[-1][step])
            assert json.loads(chunk.raw) in trail[-2:]


def test_anthropic_blocks() -> None:
    assert kinds("anthropic", BODIES["anthropic"]) == [
        "system system system",
        "messages.0.content user text",
        "messages.1.content.0 assistant thinking",
        "messages.1.content.1 assistant tool-call",
        "messages.2.content.0 tool tool-result",
        "messages.2.content.1 user text",
        "messages.2.content.2 user unreadable",
        "messages.2.content.3 user image",
        "messages.2.content.4 user control",
        "messages.2.content.5 user control",
        "messages.3  unreadable",
        "messages.4 user control",
        "messages.5 user control",
        "messages.6 user control",
        "messages.7 user control",
        "messages.8.content user unreadable",
        "messages.9.content.0 assistant redacted-thinking",
        "messages.9.content.1 assistant control",
    ]
    chunks = {chunk.key: chunk for chunk in read("anthropic", BODIES["anthropic"]).chunks}
    assert [chunks[f"messages.{number}"].payload["empty"] for number in (4, 5, 6, 7)] == ["missing", "", "null", "[]"]
    assert chunks["messages.2.content.0"].text == "o" and chunks["messages.2.content.0"].tool_name == "x"
    assert chunks["messages.9.content.1"].reason == "the tool_use block lacks a member, or has one of a wrong type"


def test_openai_chat_blocks() -> None:
    assert kinds("openai-chat", BODIES["openai-chat"]) == [
        "messages.0.content system system",
        "messages.1.content.0 user text",
        "messages.1.content.1 user image",
        "messages.2.tool_calls.0 assistant tool-call",
        "messages.2.tool_calls.1 assistant tool-call",
        "messages.3.content tool tool-result",
        "messages.4.content tool tool-result",
        "messages.5.reasoning_content assistant thinking",
        "messages.5.content assistant text",
        "messages.6 assistant control",
        "messages.7 user control",
        "messages.8.content tool control",
        "messages.9.content.0 user text",
    ]
    inputs = [chunk.payload["input"] for chunk in read("openai-chat", BODIES["openai-chat"]).chunks if chunk.kind is Kind.TOOL_CALL]
    assert inputs == [{"a": 1}, "{broken"]


def test_gemini_calls_without_ids_are_answered_in_order() -> None:
    call = {"functionCall": {"name": "f", "args": {}}}
    other = {"functionCall": {"name": "g", "args": {}}}
    answer = {"functionResponse": {"name": "f", "response": {"output": "1"}}}
    body = [
        {"role": "model", "parts": [call, other, call]},
        {"role": "user", "parts": [answer, answer, answer, {"functionResponse": {"name": "g", "response": {"error": "no"}}}]},
    ]
    chunks = read("gemini", body).chunks
    named = [chunk.call_id for chunk in chunks]
    assert named[:3] == ["unnamed-call-1", "unnamed-call-2", "unnamed-call-3"]
    assert named[3:] == ["unnamed-call-1", "unnamed-call-3", "unnamed-result-3", "unnamed-call-2"]
    assert [chunk.is_error for chunk in chunks[3:]] == [False, False, False, True]


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "gemini", "bedrock", "mistral", "ai-sdk", "openai-responses"])
def test_a_result_is_put_in_as_the_shape_has_it(wire: str) -> None:
    held = stored(wire, BODIES[wire])
    call = next(chunk for chunk in held.conversation.chunks if chunk.kind is Kind.TOOL_CALL)
    payload = {"type": "tool-result", "toolCallId": call.call_id, "toolName": call.tool_name, "content": "INTERRUPTED", "isError": True}
    last = held.conversation.chunks[-1]
    new = Chunk("new:1", 0, "tool", Kind.TOOL_RESULT, payload, (last.msg_idx or 0) + 1, 0)
    after = written(wire, held, Insert(last.key, new))
    added = messages_of(wire, json.loads(after))[-1]
    assert "INTERRUPTED" in json.dumps(added) and "unnamed" not in json.dumps(added)
    assert messages_of(wire, json.loads(after))[:-1] == messages_of(wire, BODIES[wire])
    assert read(wire, after).chunks[-1].text == "INTERRUPTED"


def test_a_block_that_moves_keeps_its_bytes() -> None:
    data = b"""[
  {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]},
  {"role": "user", "content": "wait"},
  {"role": "user", "content": [{"type" : "tool_result", "content": "\\u00e9 1.50", "tool_use_id": "t"}, {"type": "text", "text": "and"}]}
]"""
    held = stored("anthropic", data)
    call, _, late, _ = held.conversation.chunks
    after = written("anthropic", held, Remove(late), Insert(call.key, replace(late, key=f"moved:{late.key}", msg_idx=7)))
    moved = b'{"type" : "tool_result", "content": "\\u00e9 1.50", "tool_use_id": "t"}'
    assert after.count(moved) == 1 and after.index(moved) < after.index(b"wait")
    assert [message["role"] for message in json.loads(after)] == ["assistant", "user", "user", "user"]
    assert json.loads(after)[3]["content"] == [{"type": "text", "text": "and"}]


@pytest.mark.parametrize(
    ("wire", "body", "facts"),
    [
        ("anthropic", {"model": "m", "thinking": {"type": "disabled"}}, {"model": "m", "thinking": "disabled"}),
        ("anthropic", {"tools": [{"name": "a"}, {"name": "b"}, 5]}, {"tools": "a, b"}),
        ("anthropic", {"thinking": 5, "model": 5, "tools": 5}, {}),
        ("openai-chat", {"reasoning_effort": "none", "tools": [{"function": {"name": "f"}}]}, {"thinking": "disabled", "tools": "f"}),
        ("openai-responses", {"reasoning": {"effort": "low"}}, {"thinking": "enabled"}),
        ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, {"thinking": "disabled"}),
        ("gemini", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}, {"thinking": "enabled"}),
        (
            "bedrock",
            {"modelId": "m", "additionalModelRequestFields": {"thinking": {"type": "enabled"}}},
            {"model": "m", "thinking": "enabled"},
        ),
        ("mistral", {"prompt_mode": "reasoning"}, {"thinking": "enabled"}),
        ("ai-sdk", {"providerOptions": {"anthropic": {"thinking": {"type": "enabled"}}}}, {"thinking": "enabled"}),
    ],
)
def test_facts_beside_the_messages(wire: str, body: dict[str, Any], facts: dict[str, str]) -> None:
    name = FORMATS[wire].shape.lists[0]
    message = {"role": "user", "parts": [{"text": "x"}]} if wire == "gemini" else {"role": "user", "content": "x"}
    found = read(wire, body | {name: [message]}).facts
    assert {each: fact.value for each, fact in found.items()} == facts
    assert {fact.key for fact in found.values()} <= {"request.json"}


def test_what_cannot_be_written_is_refused_in_a_sentence() -> None:
    held = stored("anthropic", {"system": "S", "messages": [{"role": "user", "content": "x"}]})
    system, only = held.conversation.chunks
    with pytest.raises(WriteRefused, match="Nothing would be left"):
        written("anthropic", held, Remove(only))
    with pytest.raises(WriteRefused, match="system prompt"):
        written("anthropic", held, Remove(system))
    plain = stored("openai-responses", {"input": "hello"})
    assert plain.conversation.chunks[0].text == "hello" and written("openai-responses", plain) == b'{"input": "hello"}'
    with pytest.raises(WriteRefused, match="one text"):
        written(
            "openai-responses", plain, Replace(only := plain.conversation.chunks[0], replace(only, payload={"type": "text", "text": "y"}))
        )


# Values that a member may hold in a hostile body.
_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=[]), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "role",
                        "type",
                        "content",
                        "text",
                        "parts",
                        "id",
                        "name",
                        "input",
                        "tool_calls",
                        "function",
                        "arguments",
                        "output",
                        "summary",
                    ),
                    *(
                        "toolUse",
                        "toolResult",
                        "toolUseId",
                        "functionCall",
                        "functionResponse",
                        "args",
                        "response",
                        "tool_use_id",
                        "reasoningContent",
                    ),
                    *(
                        "toolCallId",
                        "toolName",
                        "source",
                        "thinking",
                        "signature",
                        "tool_call_id",
                        "reasoning_content",
                        "inlineData",
                        "image_url",
                    ),
                ]
            ),
            inner
            | st.sampled_from(
                [
                    *(
                        "user",
                        "assistant",
                        "tool",
                        "model",
                        "system",
                        "text",
                        "tool_use",
                        "tool_result",
                        "tool-call",
                        "tool-result",
                        "image",
                    ),
                    *("thinking", "function_call", "function_call_output", "reasoning", "message", "image_url", "developer"),
                ]
            ),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("wire", WIRES)
@given(values=st.lists(_ANY, min_size=1, max_size=4), beside=_ANY)
@settings(max_examples=25, deadline=None)
def test_any_json_at_all_is_read_and_written_back(wire: str, values: list[Any], beside: Any) -> None:
    shape = FORMATS[wire].shape
    body = {
        **dict.fromkeys((*shape.system, "tools", "thinking", "model", "reasoning", "config"), beside),
        shape.lists[0]: [*values, {}],
    }
    held = stored(wire, body)
    data = held.records[0].value.data
    assert written(wire, held) == data
    projection(FORMATS[wire].default_projection).project(as_sent.read(held.conversation).messages)
    first = [chunk for chunk in held.conversation.chunks if chunk.msg_idx == 0]
    assert json.loads(written(wire, held, *map(Remove, first)))[shape.lists[0]] == json.loads(data)[shape.lists[0]][1:]


TORN = ('"ha', '"ha"}', '"ha"', '"ha\\', '"ha\\u', '"ha\\ud8', "12.", "12.5e", "12.5e-", "-", "tru", "12", "12,", "")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"[]", "empty list"),
        (b'{"messages": []}', "empty list"),
        (b"[1, 2, 3]", "something else than messages"),
        (b'{"messages": [1]}', "something else than messages"),
        (b"5", "neither a request body nor a list"),
        (b'"text"', "neither a request body nor a list"),
        (b'{"a": 1}', "no list messages"),
        (b"<!DOCTYPE html><html>", "HTML"),
        *((f'{{"messages": [{{"role": "user", "content": {torn}'.encode(), "is cut off at its end") for torn in TORN),
        (b'\xef\xbb\xbf{"messages": [', "is cut off at its end"),
        (b'{"messages": [], "stream": trus}', "not JSON"),
        (b'{"messages": [{"role": "user", "content": "ha}]}', "not JSON: Unterminated string"),
        (b'{"messages": [], "max_tokens": 10 t', "not JSON: Expecting"),
        (b'{"messages": []} and words', "not JSON: Extra data"),
        (b'{"messages": []} -', "not JSON: Extra data"),
        (b'{"messages": [NaN]}', "NaN"),
        (b'{"messages": [' + b"9" * 5000 + b"]}", "4,300 digits"),
        (b"[" * 10_000 + b"]" * 10_000, "nested more than 400"),
        (b'{"messages": [{"role": "user", "content": "\xff"}]}', "not UTF-8"),
        ('{"messages": []}'.encode("utf-16"), "UTF-16"),
        (b'{"a":1}\n{"a":2}\n', "several JSON values"),
        (b" " * ((1 << 26) + 1), "over 64 MB"),
    ],
)
def test_what_is_no_request_gets_one_sentence(data: bytes, said: str) -> None:
    with pytest.raises(NotARequest) as problem:
        stored("anthropic", data)
    assert said in problem.value.reason
    assert problem.value.reason.endswith((".",)) and ": " in problem.value.reason and "\n" not in problem.value.reason


def test_equal_keys_and_lone_surrogates_are_read_as_JavaScript_reads_them() -> None:
    data = b'{"messages": [], "messages": [{"role": "user", "content": "a", "content": "\\ud800"}]}'
    held = stored("anthropic", data)
    (chunk,) = held.conversation.chunks
    assert chunk.text == "\ud800" and written("anthropic", held) == data
    after = written("anthropic", held, Replace(chunk, replace(chunk, payload={**chunk.payload, "text": "b\ud801"})))
    assert after == b'{"messages": [], "messages": [{"role": "user", "content": "a", "content": "b\\ud801"}]}'


@pytest.mark.slow
def test_ten_thousand_messages_are_read_and_written_in_linear_time() -> None:
    def seconds(count: int) -> float:
        turn = [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "y" * 50}]},
        ]
        data = json.dumps({"messages": turn * (count // 2)}, indent=1).encode()
        start = time.process_time()
        held = stored("anthropic", data)
        last = held.conversation.chunks[-1]
        after = written("anthropic", held, Replace(last, replace(last, payload={**last.payload, "content": "z"})))
        assert len(json.loads(after)["messages"]) == count
        return time.process_time() - start

    small, large = min(seconds(1000) for _ in range(2)), seconds(10_000)
    assert large < 10 and large < 25 * small
