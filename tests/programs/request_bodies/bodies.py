"""One body of each wire shape, with every kind of block and some that no provider takes."""

import json
from typing import Any

from inspector.conversation.edits import Edit, Plan
from inspector.conversation.model import Conversation
from inspector.programs.formats import Cell, Record, Stored
from inspector.programs.request_bodies.format import REQUEST_BODIES, RequestBody

BODIES: dict[str, Any] = {
    "anthropic": {
        "model": "claude",
        "max_tokens": 5,
        "system": "S",
        "thinking": {"type": "enabled"},
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "a", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "x", "input": {"a": 1.0}},
                ],
                "id": "msg",
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "o"}], "is_error": False},
                    {"type": "text", "text": "k", "cache_control": {"type": "e"}},
                    5,
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
                    {"type": "image", "source": {"type": "file", "file_id": "f"}},
                    {"type": "document", "x": 1},
                ],
            },
            7,
            {"role": "user"},
            {"role": "user", "content": ""},
            {"role": "user", "content": None},
            {"role": "user", "content": []},
            {"role": "user", "content": 9},
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "zz"}, {"type": "tool_use", "id": 5}]},
        ],
    },
    "openai-chat": {
        "model": "gpt-5",
        "messages": [
            {"role": "developer", "content": "S", "name": "n"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "http://x", "detail": "low"}}],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                    {"id": "d", "type": "function", "function": {"name": "f", "arguments": "{broken"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "r", "name": "f"},
            {"role": "tool", "tool_call_id": "d", "content": [{"type": "text", "text": "q"}]},
            {"role": "assistant", "content": "hi", "reasoning_content": "hm"},
            {"role": "assistant", "content": "", "tool_calls": []},
            {"role": "user", "content": None},
            {"role": "tool", "content": "lost"},
            {"role": "user", "content": [{"type": "text", "text": "only"}]},
        ],
    },
    "mistral": {
        "model": "mistral-large",
        "messages": [
            {"role": "user", "content": "u"},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "x"}],
                "prefix": True,
            },
            {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefghi", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "abcdefghi", "name": "f", "content": "r"},
        ],
    },
    "openai-responses": {
        "model": "gpt-5",
        "instructions": "I",
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "x", "annotations": []}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "w"}], "encrypted_content": "e"},
            {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "o"},
            {"type": "item_reference", "id": "z"},
            {"type": "web_search_call", "id": "ws"},
        ],
    },
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "x"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "t", "thought": True, "thoughtSignature": "q"},
                    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "f", "response": {"r": 1}}},
                    {"inlineData": {"mimeType": "image/png", "data": "AA"}},
                    {},
                ],
            },
            {"role": "model", "parts": []},
            {"role": "model", "parts": [{"functionCall": {"id": "i", "name": "f", "args": {}}}]},
            {"role": "function", "parts": [{"functionResponse": {"id": "i", "name": "f", "response": {"output": "z"}}}]},
            {"parts": [{"text": "q"}]},
        ],
        "systemInstruction": {"parts": [{"text": "s"}]},
    },
    "bedrock": {
        "modelId": "anthropic.claude",
        "system": [{"text": "S"}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {"role": "user", "content": [{"text": "a"}]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}},
                    {"toolUse": {"toolUseId": "i", "name": "n", "input": {}}},
                    {"cachePoint": {"type": "default"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "i", "content": [{"text": "r"}], "status": "error"}},
                    {"image": {"format": "png", "source": {"bytes": "AA"}}},
                ],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "i", "content": [{"json": {"a": 1}}], "status": "success"}}]},
        ],
    },
    "ai-sdk": [
        {"role": "system", "content": "s", "providerOptions": {"x": {}}},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "image": "data:image/png;base64,AA"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "h", "providerOptions": {"anthropic": {"signature": "s"}}},
                {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": {"type": "json", "value": {"a": 1}}},
                {
                    "type": "tool-result",
                    "toolCallId": "c",
                    "toolName": "f",
                    "output": {"type": "content", "value": [{"type": "text", "text": "z"}]},
                },
                {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": {"type": "error-text", "value": "z"}},
                {"type": "tool-result", "toolCallId": "c", "toolName": "f", "result": "z"},
            ],
        },
        {"role": "user", "content": "plain"},
    ],
}


FORMATS: dict[str, RequestBody] = {found.wire: found for found in REQUEST_BODIES}


def stored(wire: str, data: bytes | Any, key: str = "request.json") -> Stored:
    """`data`: bytes as they are, or a value that is written as JSON."""
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    (found,) = FORMATS[wire].read([Record(key, Cell(raw, "file"))])
    return found


def read(wire: str, data: bytes | Any) -> Conversation:
    return stored(wire, data).conversation


def written(wire: str, held: Stored, *edits: Edit) -> bytes:
    """The file after the edits."""
    plan = Plan("request.json", held.conversation.native_id, "same-file", (), frozenset(), "", edits)
    changes = FORMATS[wire].write(plan, held)
    if not changes:
        return held.records[0].value.data
    (change,) = changes
    assert change.before == held.records[0].value and change.after is not None and change.after.type == "file"
    return change.after.data
