"""The clean projections: each block knows its chunk, each chunk stands somewhere or is named as lost, whatever the payloads hold."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.conversation.model import Chunk, Kind, Message
from inspector.programs.formats import Cell, Record
from inspector.programs.request_bodies.format import REQUEST_BODIES
from inspector.projections import gemini
from inspector.projections.base import Prompt, PromptPart
from inspector.projections.catalogue import all_projections, projection
from inspector.readers.catalogue import reader
from inspector.wires import ids as request_ids
from tests.folding import in_one_test
from tests.programs.dispatch.test_hostile import FEW, kinds, values, words

WIRES = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock", "mistral", "ai-sdk"]
CLEAN = [found for found in all_projections() if found.name.split("+")[0] in WIRES]

Block = dict[str, Any]


def text(words: str = "hi", **more: Any) -> Block:
    return {"type": "text", "text": words, **more}


def thinking(words: str = "hm", **more: Any) -> Block:
    return {"type": "thinking", "text": words, **more}


def call(call_id: str = "a", given: Any = None, **more: Any) -> Block:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": "ls", "input": {"p": 1} if given is None else given, **more}


def result(call_id: str = "a", content: str = "out", is_error: bool = False, name: str = "ls", **more: Any) -> Block:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": name, "content": content, "isError": is_error, **more}


def image(url: str = "data:image/png;base64,AA==") -> Block:
    return {"type": "image", "url": url}


def system(words: str = "be kind") -> Block:
    return {"type": "system", "text": words}


def nothing(empty: str) -> Block:
    return {"type": "control", "empty": empty}


def history(*said: tuple[str, Block] | tuple[str, Block, int]) -> list[Message]:
    """One message for each entry, or for each run of entries with one index and role; indexes count up where none is given."""
    messages: list[Message] = []
    for seq, (role, block, *index) in enumerate(said, start=1):
        chunk = Chunk(f"k{seq}", seq, role, Kind(block["type"]), block, index[0] if index else seq - 1, 0)
        if messages and messages[-1].role == role and messages[-1].chunks[-1].msg_idx == chunk.msg_idx:
            messages[-1] = Message(role, (*messages[-1].chunks, chunk))
        else:
            messages.append(Message(role, (chunk,)))
    return messages


def made(name: str, *said: tuple[str, Block] | tuple[str, Block, int]) -> Prompt:
    return projection(name).project(history(*said))


def lost(prompt: Prompt) -> dict[int, str]:
    return {seq: dropped.why for dropped in prompt.lost for seq in dropped.seqs}


ROUND = (
    ("system", system(), 0),
    ("user", text("look"), 1),
    ("user", image(), 1),
    ("assistant", thinking("hm", signature="SIG"), 2),
    ("assistant", text("so"), 2),
    ("assistant", call("a"), 2),
    ("assistant", call("b", "{broken"), 2),
    ("tool", result("a", "one"), 3),
    ("tool", result("b", "two", is_error=True), 4),
    ("user", text("thanks"), 5),
)

PLAIN: dict[str, Any] = {
    "anthropic": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "SIG"},
                {"type": "text", "text": "so"},
                {"type": "tool_use", "id": "a", "name": "ls", "input": {"p": 1}},
                {"type": "tool_use", "id": "b", "name": "ls", "input": "{broken"},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": True},
                {"type": "text", "text": "thanks"},
            ],
        },
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "look"}, {"image": {"format": "png", "source": {"bytes": "AA=="}}}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "SIG"}}},
                {"text": "so"},
                {"toolUse": {"toolUseId": "a", "name": "ls", "input": {"p": 1}}},
                {"toolUse": {"toolUseId": "b", "name": "ls", "input": "{broken"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"text": "one"}]}},
                {"toolResult": {"toolUseId": "b", "content": [{"text": "two"}], "status": "error"}},
                {"text": "thanks"},
            ],
        },
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True, "thoughtSignature": "SIG"},
                {"text": "so"},
                {"functionCall": {"id": "a", "name": "ls", "args": {"p": 1}}},
                {"functionCall": {"id": "b", "name": "ls", "args": "{broken"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "a", "name": "ls", "response": {"output": "one"}}},
                {"functionResponse": {"id": "b", "name": "ls", "response": {"error": "two"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "thanks"}]},
    ],
    "openai-chat": [
        {"role": "system", "content": "be kind"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}],
        },
        {
            "role": "assistant",
            "content": "so",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"p":1}'}},
                {"id": "b", "type": "function", "function": {"name": "ls", "arguments": "{broken"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "user", "content": "thanks"},
    ],
    "openai-responses": [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "data:image/png;base64,AA=="}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
        {"type": "function_call", "call_id": "a", "name": "ls", "arguments": '{"p":1}'},
        {"type": "function_call", "call_id": "b", "name": "ls", "arguments": "{broken"},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
        {"type": "function_call_output", "call_id": "b", "output": "two"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "thanks"}]},
    ],
    "ai-sdk": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "image": "data:image/png;base64,AA==", "mediaType": "image/png"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "SIG"}}},
                {"type": "text", "text": "so"},
                {"type": "tool-call", "toolCallId": "a", "toolName": "ls", "input": {"p": 1}},
                {"type": "tool-call", "toolCallId": "b", "toolName": "ls", "input": "{broken"},
            ],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "ls", "output": {"type": "text", "value": "one"}}],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "b", "toolName": "ls", "output": {"type": "error-text", "value": "two"}}],
        },
        {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
    ],
}
PLAIN["mistral"] = [
    *PLAIN["openai-chat"][:2],
    {
        **PLAIN["openai-chat"][2],
        "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "so"}],
    },
    *({**message, "name": "ls"} for message in PLAIN["openai-chat"][3:5]),
    PLAIN["openai-chat"][5],
]


@in_one_test("wire", WIRES)
def test_one_round_in_each_shape(wire: str) -> None:
    assert made(wire, *ROUND).values == PLAIN[wire]


@in_one_test(
    ("wire", "outside"),
    [
        ("anthropic", [{"type": "text", "text": "be kind"}]),
        ("bedrock", [{"text": "be kind"}]),
        ("gemini", {"parts": [{"text": "be kind"}]}),
        ("openai-responses", "be kind"),
        ("openai-chat", None),
        ("mistral", None),
        ("ai-sdk", "be kind"),
    ],
)
def test_the_system_prompt_stands_where_the_wire_has_it(wire: str, outside: Any) -> None:
    prompt = made(wire, *ROUND)
    assert prompt.system == outside
    assert prompt.sources()["messages.0" if outside is None else "system.0"] == [1]


def test_several_system_prompts_are_blocks_side_by_side() -> None:
    said = (("system", system("one"), 0), ("user", text(), 1), ("system", system("two"), 2), ("user", text("more"), 3))
    assert made("anthropic", *said).system == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert len(made("anthropic", *said).values) == 1
    assert [message["role"] for message in made("openai-responses", *said).values] == ["user", "system", "user"]


def test_as_sent_a_system_message_of_the_list_stays_in_it_and_one_outside_stays_outside() -> None:
    prompt = made("anthropic+as-sent", ("system", system("top"), -1), ("user", text(), 0), ("system", system("middle"), 1))
    assert prompt.system == [{"type": "text", "text": "top"}]
    assert [message["role"] for message in prompt.values] == ["user", "system"]


def test_only_anthropic_and_bedrock_merge_neighbours_of_one_role() -> None:
    said = (("user", text("a")), ("user", text("b")), ("assistant", text("c")), ("assistant", text("d")))
    counts = {wire: len(made(wire, *said).values) for wire in WIRES}
    assert counts == {wire: 2 if wire in ("anthropic", "bedrock") else 4 for wire in WIRES}
    assert {wire: len(made(f"{wire}+as-sent", *said).values) for wire in WIRES} == dict.fromkeys(WIRES, 4)


def test_an_index_behind_a_merge_leads_to_the_message_that_holds_it() -> None:
    prompt = made("anthropic", ("user", text("a")), ("user", text("b")), ("assistant", text("c")), ("assistant", call()))
    assert prompt.sources()["messages.1.content.1"] == [4]
    assert prompt.sources()["messages.0"] == [1, 2]
    assert prompt.messages[1].source == Message("assistant", tuple(part.chunk for part in prompt.messages[1].parts))


def test_parts_keep_the_order_in_which_they_were_given() -> None:
    said = (("user", text(), 0), ("user", result("x"), 0), ("assistant", call(), 1), ("assistant", thinking(), 1), ("assistant", text(), 1))
    assert [[block["type"] for block in message["content"]] for message in made("anthropic", *said).values] == [
        ["text", "tool_result"],
        ["tool_use", "thinking", "text"],
    ]


@pytest.mark.parametrize("wire", ["anthropic", "bedrock", "gemini"])
def test_as_sent_results_and_words_of_one_index_are_one_message(wire: str) -> None:
    prompt = made(f"{wire}+as-sent", ("assistant", call(), 0), ("user", text("a"), 1), ("tool", result(), 1), ("user", text("b"), 1))
    assert len(prompt.values) == 2
    assert list(prompt.sources())[-3:] == [f"{prompt.root}.1.{'parts' if wire == 'gemini' else 'content'}.{index}" for index in range(3)]


def test_a_system_prompt_outside_the_list_stays_outside_for_the_sdk_and_leads_the_list_for_openai_chat() -> None:
    said = (("system", system(), -1), ("user", text(), 0))
    assert made("ai-sdk+as-sent", *said).system == "be kind"
    assert len(made("ai-sdk", *said).values) == 1
    assert made("openai-chat", *said).values[0] == {"role": "system", "content": "be kind"}


def test_as_sent_two_speakers_are_never_one_message() -> None:
    assert len(made("anthropic+as-sent", ("user", text(), 0), ("assistant", text(), 0)).values) == 2


@in_one_test(
    ("wire", "empty", "held"),
    [
        ("anthropic", "null", {"content": None}),
        ("anthropic", "[]", {"content": []}),
        ("anthropic", "", {"content": ""}),
        ("anthropic", "missing", {}),
        ("openai-chat", "null", {"content": None}),
        ("openai-chat", "", {"content": ""}),
        ("gemini", "[]", {"parts": []}),
        ("gemini", "", {"parts": ""}),
        ("bedrock", "", {"content": ""}),
        ("openai-responses", "[]", {"content": []}),
        ("ai-sdk", "", {"content": ""}),
    ],
)
def test_a_message_without_blocks_is_sent_as_empty_as_it_was(wire: str, empty: str, held: Block) -> None:
    prompt = made(f"{wire}+as-sent", ("user", nothing(empty)))
    (value,) = prompt.values
    assert {name: item for name, item in value.items() if name not in ("role", "type")} == held
    assert prompt.sources()[f"{prompt.root}.0"] == [1]


def test_an_empty_message_is_lost_in_a_merge_but_not_beside_calls() -> None:
    prompt = made("anthropic", ("user", nothing("")), ("user", text()))
    assert list(lost(prompt)) == [1]
    (value,) = made("openai-chat", ("assistant", nothing(""), 0), ("assistant", call(), 0)).values
    assert value["content"] == ""
    assert made("openai-chat", ("assistant", call())).values[0]["content"] is None


def test_a_plain_string_is_put_back_where_the_payload_says_so() -> None:
    said = ("user", text(extra={"string": True}, wire="anthropic"))
    assert made("anthropic+as-sent", said).values == [{"role": "user", "content": "hi"}]
    assert made("anthropic+as-sent", said).sources()["messages.0.content"] == [1]
    assert made("anthropic", said).values == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    listed = ("user", text(extra={"list": True}, wire="openai-chat"))
    assert made("openai-chat", listed).values == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert made("mistral", listed).values == [{"role": "user", "content": "hi"}]


def test_what_a_wire_had_beside_goes_back_to_the_same_wire_only() -> None:
    marked = {"cache_control": {"type": "ephemeral"}}
    blocks = [{"type": "image", "source": {"type": "file", "file_id": "f"}}]
    said = (
        ("user", text(extra=marked, wire="anthropic")),
        ("tool", result(blocks=blocks, wire="anthropic")),
        ("user", {"type": "control", "block": {"type": "server", "x": 1}, "wire": "anthropic"}),
    )
    (value,) = made("anthropic", *said).values
    assert value["content"] == [
        {"type": "text", "text": "hi", **marked},
        {"type": "tool_result", "tool_use_id": "a", "content": blocks},
        {"type": "server", "x": 1},
    ]
    other = made("openai-chat", *said)
    assert other.values == [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "a", "content": "out"}]
    assert lost(other) == {3: "a block of a kind that is not known, as anthropic has it"}


@in_one_test("wire", WIRES)
def test_a_block_with_members_of_wrong_types_goes_back_as_it_was(wire: str) -> None:
    broken = {"type": "control", "block": 5, "wire": wire}
    chunk = Chunk("k", 1, "user", Kind.UNREADABLE, broken, 0, 0, damage="wrong-type", reason="a number")
    prompt = projection(f"{wire}+as-sent").project([Message("user", (chunk,))])
    assert 5 in next(value for value in prompt.values[0].values() if isinstance(value, list))


def test_members_of_an_object_inside_a_block_are_laid_over_one_by_one() -> None:
    said = ("tool", result(extra={"toolResult": {"status": "success"}}, wire="bedrock"))
    (value,) = made("bedrock", said).values
    assert value["content"] == [{"toolResult": {"toolUseId": "a", "content": [{"text": "out"}], "status": "success"}}]


def test_fields_of_the_message_itself_are_put_back() -> None:
    said = ("system", {**system(), "extra": {"message": {"role": "developer", "name": "n"}}, "wire": "openai-chat"})
    assert made("openai-chat", said).values == [{"role": "developer", "name": "n", "content": "be kind"}]


def test_what_no_provider_is_sent_is_lost_with_the_reason() -> None:
    said = (
        ("assistant", {"type": "error", "message": "boom"}),
        ("assistant", {"type": "control"}),
        ("assistant", {"type": "unreadable"}),
        ("", text()),
        ("assistant", text()),
    )
    for wire in WIRES:
        prompt = made(wire, *said)
        assert len(prompt.values) == 1
        assert lost(prompt) == {
            1: "an error that the program noted for people; no provider is sent it",
            2: "a note of the program to itself; no provider is sent it",
            3: "its record cannot be read",
            4: "its message has no role that a provider knows",
        }


def test_thinking_of_openai_chat_is_lost_but_in_a_field_of_its_own() -> None:
    said = (("assistant", thinking("one"), 0), ("assistant", thinking("two"), 0), ("assistant", text(), 0))
    assert list(lost(made("openai-chat", *said))) == [1, 2]
    for name in ("openai-chat+reasoning", "openai-chat+as-sent"):
        prompt = made(name, *said)
        assert prompt.values == [{"role": "assistant", "content": "hi", "reasoning_content": "one\ntwo"}]
        assert prompt.sources()["messages.0.reasoning_content"] == [1, 2]
        assert not prompt.lost
    marked = thinking("one", extra={"field": "reasoning"}, wire="openai-chat")
    assert made("openai-chat", ("assistant", marked)).values == [{"role": "assistant", "content": "", "reasoning": "one"}]


def test_reasoning_goes_back_as_the_item_that_it_came_as() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
    said = (
        ("assistant", thinking(signature=json.dumps(item)), 0),
        ("assistant", call("call_1|fc_1"), 0),
        ("tool", result("call_1|fc_1"), 1),
    )
    prompt = made("openai-responses", *said)
    assert prompt.values == [
        item,
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": '{"p":1}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "out"},
    ]
    assert prompt.sources()["input.0"] == [1]
    body = thinking("sum", extra={"id": "rs_2", "summary": [{"type": "summary_text", "text": "sum"}]}, wire="openai-responses")
    assert made("openai-responses", ("assistant", body)).values == [{"type": "reasoning", **body["extra"]}]
    unsigned = made("openai-responses", ("assistant", thinking(signature="SIG")))
    assert not unsigned.values
    assert "item" in lost(unsigned)[1]


def test_thinking_without_a_signature_keeps_its_block() -> None:
    assert made("anthropic", ("assistant", thinking())).values[0]["content"] == [{"type": "thinking", "thinking": "hm"}]
    assert made("gemini", ("assistant", thinking())).values[0]["parts"] == [{"text": "hm", "thought": True}]


def test_redacted_thinking_goes_where_it_can() -> None:
    hidden = ("assistant", {"type": "redacted-thinking", "data": "D"})
    assert made("anthropic", hidden).values[0]["content"] == [{"type": "redacted_thinking", "data": "D"}]
    assert made("bedrock", hidden).values[0]["content"] == [{"reasoningContent": {"redactedContent": "D"}}]
    for wire in ("openai-chat", "openai-responses", "gemini", "mistral"):
        assert list(lost(made(wire, hidden))) == [1]


def test_a_gemini_result_takes_its_name_from_the_call_and_a_call_keeps_its_signature() -> None:
    calls, answers = made("gemini", ("assistant", call(signature="S")), ("tool", result(name="", blocks=[{"x": 1}], wire="gemini"))).values
    assert calls["parts"][0]["thoughtSignature"] == "S"
    assert answers["parts"] == [{"functionResponse": {"id": "a", "name": "ls", "response": {"x": 1}}}]


def test_ids_that_were_given_for_want_of_one_are_not_sent_to_gemini() -> None:
    assert gemini.UNNAMED == request_ids.UNNAMED
    assert "id" not in made("gemini", ("assistant", call("unnamed-call-1"))).values[0]["parts"][0]["functionCall"]


def test_a_model_message_result_is_its_output_object() -> None:
    output = {"type": "json", "value": [1]}
    (message,) = made("ai-sdk", ("tool", result(blocks=[output], wire="ai-sdk"))).values
    assert message["content"][0]["output"] == output


def test_images_and_files_by_address() -> None:
    url = "https://example.org/a.png"
    paper = {"type": "file", "url": "data:application/pdf;base64,QQ==", "filename": "a.pdf"}
    assert made("anthropic", ("user", image(url)), ("user", paper)).values[0]["content"] == [
        {"type": "image", "source": {"type": "url", "url": url}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QQ=="}, "title": "a.pdf"},
    ]
    assert lost(made("bedrock", ("user", image(url)))) == {1: "an image by address, which Bedrock does not take"}
    assert made("gemini", ("user", image(url))).values[0]["parts"] == [{"fileData": {"fileUri": url}}]
    assert lost(made("anthropic", ("user", image("")))) == {1: "an image without an address"}


def test_argument_text_that_does_parse_is_an_object_unless_it_was_sent_as_text() -> None:
    said = ("assistant", call(given='{"a": 1}'))
    assert made("anthropic", said).values[0]["content"][0]["input"] == {"a": 1}
    assert made("anthropic+as-sent", said).values[0]["content"][0]["input"] == '{"a": 1}'
    assert made("openai-chat", said).values[0]["tool_calls"][0]["function"]["arguments"] == '{"a": 1}'


def test_what_a_reader_made_up_beside_real_chunks_leads_to_none() -> None:
    made_up = Message("tool", (Chunk("synthesized:k2", 2, "tool", Kind.TOOL_RESULT, result(), 0, 0),), synthetic=True)
    spoken = history(("assistant", call()), ("user", text()))
    prompt = projection("anthropic").project([spoken[0], made_up, spoken[1]])
    assert [block["type"] for block in prompt.values[1]["content"]] == ["tool_result", "text"]
    assert prompt.sources()["messages.1"] == [2]
    assert prompt.sources()["messages.1.content.1"] == [2]
    assert "messages.1.content.0" not in prompt.sources()


ODD_BODIES: dict[str, list[Block]] = {
    "anthropic": [
        {"role": "user", "content": "plain"},
        {"role": "user", "content": [text("before"), {"type": "tool_result", "tool_use_id": "a", "content": [text("x")]}, text("after")]},
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": None},
        {"role": "assistant"},
        {"role": "user", "content": [{"type": "document", "source": {"type": "text"}}, {"type": "tool_use", "id": 1}]},
    ],
    "openai-chat": [
        {"role": "developer", "content": "d"},
        {"role": "assistant", "content": "", "reasoning_content": "r"},
        {"role": "tool", "tool_call_id": "a", "content": [text("x")]},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "user", "content": [text("listed")]},
    ],
    "openai-responses": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "a", "annotations": []}]},
        {"type": "item_reference", "id": "x"},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "n", "arguments": "{}"},
    ],
    "gemini": [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "S"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "x"}}}, {"text": "beside"}]},
        {"role": "user", "parts": []},
        {"role": "user", "parts": [{}]},
    ],
    "bedrock": [
        {"role": "user", "content": [{"cachePoint": {"type": "default"}}, {"text": ""}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"json": {}}], "status": "success"}}, {"text": "t"}]},
        {"role": "user", "content": [{"document": {"format": "pdf"}}]},
    ],
    "mistral": [
        {"role": "assistant", "content": "so far", "prefix": True},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": [text("a")]}]},
    ],
    "ai-sdk": [
        {"role": "user", "content": "plain"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool-call", "toolCallId": "a", "toolName": "n", "input": {}, "providerExecuted": True},
                {"type": "tool-result", "toolCallId": "a", "toolName": "n", "output": {"type": "json", "value": 1}},
            ],
        },
        {"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "x"}]},
    ],
}


@in_one_test("wire", WIRES)
def test_a_body_that_was_read_comes_out_as_it_was_sent(wire: str) -> None:
    body = PLAIN[wire] + ODD_BODIES[wire]
    root = projection(wire).project([]).root
    offered = next(found for found in REQUEST_BODIES if found.wire == wire)
    (stored,) = offered.read([Record("body.json", Cell(json.dumps({root: body}).encode(), "file"))])
    prompt = projection(f"{wire}+as-sent").project(reader("as-sent").read(stored.conversation).messages)
    assert prompt.values == body
    assert not prompt.lost


blocks = st.fixed_dictionaries(
    {},
    optional={
        "text": st.one_of(words, values),
        "signature": st.one_of(st.just('{"type":"reasoning","id":"rs"}'), words, values),
        "data": values,
        "toolCallId": st.one_of(st.sampled_from(["a", "b", "call|fc_1"]), values),
        "toolName": st.one_of(words, values),
        "input": values,
        "content": st.one_of(words, values),
        "isError": st.one_of(st.booleans(), values),
        "url": st.one_of(st.sampled_from(["data:image/png;base64,AA==", "data:,", "https://x", "s3://b"]), words, values),
        "mediaType": values,
        "empty": st.one_of(st.sampled_from(["null", "[]", "", "missing"]), values),
        "wire": st.one_of(st.sampled_from(WIRES), values),
        "extra": st.one_of(
            st.fixed_dictionaries(
                {}, optional={"string": st.just(True), "list": st.just(True), "message": values, "field": words, "type": values}
            ),
            st.fixed_dictionaries(
                {}, optional={"message": st.fixed_dictionaries({}, optional={"role": words, "content": values, "parts": values})}
            ),
            values,
        ),
        "blocks": values,
        "block": st.one_of(st.fixed_dictionaries({"type": words, "role": st.sampled_from(["tool", "user"]), "content": values}), values),
    },
)
hostile = st.lists(
    st.tuples(
        st.sampled_from(["system", "user", "assistant", "tool", "", "function"]),
        st.lists(st.tuples(kinds.filter(lambda kind: kind in set(Kind)), blocks), max_size=3),
        st.sampled_from([None, -1, 0, 1]),
        st.booleans(),
    ),
    max_size=5,
)


def messages_of(drawn: Sequence[Any]) -> list[Message]:
    counter = iter(range(1, 1000))
    return [
        Message(
            role,
            tuple(Chunk(f"k{seq}", seq, role, Kind(kind), payload, index, 0) for (kind, payload), seq in zip(said, counter, strict=False)),
            synthetic,
        )
        for role, said, index, synthetic in drawn
    ]


def parts_of(prompt: Prompt) -> Iterator[PromptPart]:
    yield from prompt.system_parts
    for message in prompt.messages:
        yield from message.parts


def at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


@pytest.mark.slow
@FEW
@given(hostile)
def test_every_chunk_stands_somewhere_that_exists_or_is_lost(drawn: Any) -> None:
    messages = messages_of(drawn)
    made_up = {chunk.key for message in messages if message.synthetic for chunk in message.chunks}
    real = [chunk.key for message in messages if not message.synthetic for chunk in message.chunks]
    before = json.dumps([dict(chunk.payload) for message in messages for chunk in message.chunks])
    for found in CLEAN:
        prompt = found.project(messages)
        json.dumps([prompt.values, prompt.system])
        for message in prompt.messages:
            for part in message.parts:
                at({prompt.root: prompt.values}, part.path)
        seen = [part.chunk.key for part in parts_of(prompt)] + [chunk.key for dropped in prompt.lost for chunk in dropped.chunks]
        assert sorted(key for key in seen if key not in made_up) == sorted(real)
        assert all(dropped.why and dropped.chunks for dropped in prompt.lost)
    assert json.dumps([dict(chunk.payload) for message in messages for chunk in message.chunks]) == before


@pytest.mark.parametrize("name", [found.name for found in CLEAN])
def test_long_histories_take_time_by_their_length(name: str) -> None:
    spoken = history(*ROUND[1:])
    many = [Message(one.role, tuple(replace(chunk, msg_idx=index) for chunk in one.chunks)) for index, one in enumerate(spoken * 1000)]
    alike = [one for one in many if one.role == "user"]
    for messages in (many, alike):
        started = time.process_time()
        projection(name).project(messages)
        assert time.process_time() - started < 5


def test_arguments_nested_too_deeply_to_be_written_do_no_harm() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for found in CLEAN:
        assert found.project(history(("assistant", call(given={"a": deep})))).values
