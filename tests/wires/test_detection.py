"""Which wire shape a body is of, where that can be told."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from inspector.sources.reading import NoRequest, read
from inspector.wires import layout as request_layout
from inspector.wires.detection import format_of, wires_of
from inspector.wires.layout import NotARequest
from inspector.wires.shapes.catalogue import SHAPES
from tests.folding import in_one_test
from tests.programs.request_bodies.bodies import BODIES

TALK = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
SYSTEM = {"role": "system", "content": "S"}
SYSTEM_LIST = {"role": "system", "content": [{"type": "text", "text": "S"}]}
CACHED = [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}]
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@in_one_test("wire", sorted(BODIES))
def test_whole_bodies_and_bare_lists_are_told_apart(wire: str) -> None:
    body = BODIES[wire]
    bare = body if isinstance(body, list) else next(body[name] for name in ("messages", "contents", "input") if name in body)
    assert wires_of(body) == wires_of(bare) == [wire]


@in_one_test(
    ("value", "wire"),
    [
        ({"model": "claude-opus-4", "messages": TALK}, "anthropic"),
        # A name with a provider in it is one of a gateway, which takes OpenAI's messages for every model.
        ({"model": "anthropic/claude-opus-4", "messages": TALK}, "openai-chat"),
        ({"model": "anthropic/claude-opus-4", "messages": [SYSTEM, *CACHED]}, "openai-chat"),
        ({"model": "anthropic/claude-opus-4", "system": "S", "messages": TALK}, "anthropic"),
        ({"model": "mistralai/mistral-large", "messages": TALK}, "openai-chat"),
        ({"model": "anthropic.claude-opus-4-v1:0", "max_tokens": 9, "messages": TALK}, "anthropic"),
        # A server of any other name takes OpenAI's messages.
        ({"model": "gemma3:4b", "messages": TALK}, "openai-chat"),
        ({"model": "command-r", "messages": TALK}, "openai-chat"),
        # Azure has the model in its address.
        ({"messages": TALK, "max_tokens": 9, "temperature": 0}, "openai-chat"),
        # A system message comes first in OpenAI's list, also where a server of Claude takes that; in the middle it may be Anthropic's.
        ({"model": "claude-opus-4", "messages": [SYSTEM, *TALK]}, "openai-chat"),
        ({"model": "claude-opus-4-8", "max_tokens": 9, "messages": [*TALK, SYSTEM]}, "anthropic"),
        ({"model": "claude-opus-4-8", "max_tokens": 9, "messages": [*TALK, SYSTEM_LIST]}, "anthropic"),
        ({"model": "claude-opus-4-8", "max_tokens": 9, "system": "S", "messages": [*TALK, SYSTEM_LIST]}, "anthropic"),
        ({"messages": [SYSTEM, *TALK]}, "openai-chat"),
        ([SYSTEM_LIST, *TALK], "openai-chat"),
        ({"model": "gpt-5", "messages": TALK}, "openai-chat"),
        ({"model": "mistral-large-latest", "messages": TALK}, "mistral"),
        ({"model": "gpt-5", "input": "hi"}, "openai-responses"),
        ({"model": "gpt-5", "input": TALK}, "openai-responses"),
        ({"modelId": "x", "messages": TALK}, "bedrock"),
        ({"system": "S", "messages": TALK}, "anthropic"),
        ({"system": [{"text": "S"}], "messages": TALK}, "bedrock"),
        ({"messages": TALK, "providerOptions": {}}, "ai-sdk"),
        ({"prompt": [{"role": "tool", "content": [{"type": "tool-result"}]}]}, "ai-sdk"),
        ({"messages": TALK, "safe_prompt": True}, "mistral"),
        ({"messages": TALK, "tools": [{"name": "x", "input_schema": {}}]}, "anthropic"),
        ({"messages": TALK, "tools": [{"type": "function", "function": {"name": "x"}}]}, "openai-chat"),
        # Tools that Anthropic defines have no schema in the request.
        ({"messages": TALK, "tools": [{"type": "code_execution_20260120", "name": "code_execution"}]}, "anthropic"),
        ({"messages": TALK, "tools": [{"type": "mcp_toolset", "mcp_server_name": "x"}]}, "anthropic"),
        ({"messages": TALK, "tools": [{"type": "custom", "custom": {"name": "x"}}]}, "openai-chat"),
        ({"messages": TALK, "tools": [{"type": "web_search", "web_search": {"enable": True}}]}, "openai-chat"),
        ({"messages": TALK, "tool_choice": {"type": "any"}}, "anthropic"),
        ({"messages": TALK, "tool_choice": "auto"}, "openai-chat"),
        ({"messages": TALK, "tool_choice": {"type": "function", "function": {"name": "x"}}}, "openai-chat"),
        # DeepSeek, Kimi and GLM have a switch of the same name, without a budget.
        ({"model": "claude-opus-4", "messages": TALK, "thinking": {"type": "enabled", "budget_tokens": 1024}}, "anthropic"),
        ({"model": "glm-4.6", "messages": TALK, "thinking": {"type": "enabled"}}, "openai-chat"),
        ({"model": "claude", "messages": TALK, "thinking": {"type": "disabled"}}, "anthropic"),
        ({"model": "MiniMax-M2", "system": "S", "messages": TALK}, "anthropic"),
        # What the messages hold counts for more than the model: gateways speak OpenAI's shape for every model.
        ({"model": "claude-opus-4", "messages": [*TALK, {"role": "assistant", "content": None, "tool_calls": [CALL]}]}, "openai-chat"),
        ({"model": "mistral-large", "messages": [{"role": "assistant", "tool_calls": [CALL]}]}, "mistral"),
        ([{"role": "assistant", "content": "", "tool_calls": [CALL]}, {"role": "assistant", "content": "x", "prefix": True}], "mistral"),
        ([{"role": "tool", "tool_call_id": "c", "content": "x"}], "openai-chat"),
        ([{"role": "developer", "content": "x"}], "openai-chat"),
        ([{"role": "tool", "name": "f", "content": "x"}], "openai-chat"),
        ([{"role": "assistant", "content": "x", "tool_calls": None}], "openai-chat"),
        ([{"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}], "anthropic"),
        ([{"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}], "anthropic"),
        ([{"role": "assistant", "content": [{"type": "bash_code_execution_tool_result", "tool_use_id": "s"}]}], "anthropic"),
        (CACHED, "anthropic"),
        ([{"role": "user", "content": [{"type": "document", "source": {"type": "text"}}]}], "anthropic"),
        # Cohere has a document of another kind in the messages of OpenAI.
        ([{"role": "tool", "tool_call_id": "c", "content": [{"type": "document", "document": {"data": "x"}}]}], "openai-chat"),
        ([{"role": "user", "content": [{"type": "image", "image": "http://x"}]}], "ai-sdk"),
        ([{"role": "user", "content": [{"text": "x"}]}], "bedrock"),
        ([{"role": "user", "parts": [{"text": "x"}]}], "gemini"),
        ([{"type": "function_call_output", "call_id": "c", "output": "x"}], "openai-responses"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "x"}]}], "openai-responses"),
        ([{"role": "assistant", "content": [{"type": "reasoning", "text": "x"}]}], "ai-sdk"),
        ([*TALK, 5, {"role": "user", "content": [{"type": "tool_result"}]}], "anthropic"),
        # Where messages bear marks of two shapes alike, what stands beside them decides between these.
        ({"system": "S", "messages": [{"role": "system", "content": [{"type": "text", "text": "x", "cache_control": {}}]}]}, "anthropic"),
        (
            {"model": "gpt-5", "messages": [{"role": "system", "content": [{"type": "text", "text": "x", "cache_control": {}}]}]},
            "openai-chat",
        ),
    ],
)
def test_what_decides(value: Any, wire: str) -> None:
    assert wires_of(value) == [wire]


@pytest.mark.parametrize("value", [{"model": "claude", "messages": [{"role": "user", "content": [{"type": "tool_use"}]}] * 500}])
def test_what_tells_may_stand_far_behind_the_first_bytes(value: Any) -> None:
    data = json.dumps({"preamble": "x" * 100_000} | value, indent=4).encode()
    assert format_of(data) == "anthropic-request"


@pytest.mark.parametrize(
    "value",
    [
        {"messages": TALK},
        [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
        [*TALK, {"role": "user", "content": "x", "name": "y"}],
    ],
)
def test_what_several_shapes_share_is_asked_for_by_name(value: Any) -> None:
    with pytest.raises(NotARequest, match=r"format=NAME\): anthropic-request, openai-chat-request, mistral-request, ai-sdk-messages\."):
        format_of(json.dumps(value).encode())


def test_a_bare_list_of_roles_and_texts_may_be_the_input_of_responses_too() -> None:
    with pytest.raises(
        NotARequest,
        match=r"format=NAME\): anthropic-request, openai-chat-request, openai-responses-request, mistral-request, ai-sdk-messages\.",
    ):
        format_of(json.dumps(TALK).encode())


@in_one_test(
    "value",
    [
        *(
            [1, 2, 3],
            [],
            {},
            5,
            "x",
            None,
            [[]],
            {"messages": "x"},
            {"messages": []},
            {"input": 5},
            {"input": "a span's", "output": "x"},
            {"model": "gpt-5", "input": "a span's", "output": "x"},
            {"model": "text-embedding-3-large", "input": "x"},
            {"model": "gpt-4o-mini-tts", "input": "x", "voice": "coral"},
            {"contents": [1]},
            {"a": {"messages": TALK}},
        ),
        [{"role": "user", "parts": [{"type": "text", "text": "a UIMessage"}]}],
        {"messages": [{"id": 5}]},
        {"type": "error", "error": {"type": "invalid_request_error", "message": "messages.1: x"}},
    ],
)
def test_other_json_is_refused_in_one_sentence(value: Any) -> None:
    with pytest.raises(NotARequest) as problem:
        format_of(json.dumps(value).encode())
    assert problem.value.reason.endswith(".") and "\n" not in problem.value.reason


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b'{"messages": []}', mtime=0), "unpack it, with `gunzip`"),
        ('{"messages": []}'.encode("utf-16"), "is UTF-16, and requests are UTF-8"),
        (b" <!doctype html><p>502", "is HTML or XML, no JSON"),
    ],
)
def test_what_is_saved_instead_of_a_body_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "request.json"
    path.write_bytes(data)
    with pytest.raises(NoRequest, match=said):
        read(path)


def test_more_messages_than_any_provider_takes_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_layout, "MOST", 3)
    assert len(request_layout.laid_out(json.dumps(TALK[:1] * 3).encode(), SHAPES["anthropic"]).values) == 3
    with pytest.raises(NotARequest, match="holds 4 messages, and no provider takes more than 3"):
        request_layout.laid_out(json.dumps(TALK[:1] * 4).encode(), SHAPES["anthropic"])


def test_a_system_message_at_the_start_of_a_bare_list_is_not_one_of_anthropic() -> None:
    assert wires_of([SYSTEM, *TALK]) == ["openai-chat", "openai-responses", "mistral", "ai-sdk"]
    assert wires_of([*TALK, SYSTEM]) == ["anthropic", "openai-chat", "openai-responses", "mistral", "ai-sdk"]
    assert wires_of([*TALK, SYSTEM_LIST]) == ["anthropic", "openai-chat", "mistral", "ai-sdk"]
