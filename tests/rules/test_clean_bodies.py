"""A request that nobody would refuse, in each wire shape: no rule of ours speaks."""

import json
from typing import Any

from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.wires.names import WIRES
from tests.folding import in_one_test

CALL = {"id": "call_a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
CALL_2 = {"id": "call_b", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
BODIES: dict[str, Any] = {
    "anthropic-request": {
        "model": "claude",
        "max_tokens": 10,
        "system": "s",
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "UzE="},
                    {"type": "text", "text": "look"},
                    {"type": "tool_use", "id": "a", "name": "ls", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "ls", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "f"},
                    {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "g"}]},
                    {"type": "text", "text": "and?"},
                ],
            },
        ],
    },
    "openai-chat-request": {
        "model": "gpt",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [CALL, CALL_2]},
            {"role": "tool", "tool_call_id": "call_a", "content": "f"},
            {"role": "tool", "tool_call_id": "call_b", "content": "g"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "and?"},
        ],
    },
    "openai-responses-request": {
        "model": "gpt",
        "input": [
            {"role": "user", "content": "go"},
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "f"},
            {"type": "function_call_output", "call_id": "b", "output": "g"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
            {"role": "user", "content": "and?"},
        ],
    },
    "gemini-request": {
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "x"},
                    {"functionCall": {"name": "cat", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "ls", "response": {"output": "f"}}},
                    {"functionResponse": {"name": "cat", "response": {"output": "g"}}},
                ],
            },
            {"role": "model", "parts": [{"text": "done"}]},
            {"role": "user", "parts": [{"text": "and?"}]},
        ]
    },
    "gemini-request, one tool several times": {
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "x"},
                    {"functionCall": {"name": "ls", "args": {"a": 1}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "ls", "response": {"output": "f"}}},
                    {"functionResponse": {"name": "ls", "response": {"output": "g"}}},
                ],
            },
            {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "f"}}}]},
        ]
    },
    "bedrock-request": {
        "messages": [
            {"role": "user", "content": [{"text": "go"}]},
            {"role": "assistant", "content": [{"text": "look"}, {"toolUse": {"toolUseId": "a", "name": "ls", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "f"}]}}]},
        ]
    },
    "mistral-request": {
        "model": "mistral-large",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": "abcdefghi"}]},
            {"role": "tool", "tool_call_id": "abcdefghi", "name": "ls", "content": "f"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "and?"},
        ],
    },
    "ai-sdk-messages": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "t"},
                {"type": "text", "text": "l"},
                {"type": "tool-call", "toolCallId": "a", "toolName": "ls", "input": {}},
                {"type": "tool-call", "toolCallId": "b", "toolName": "ls", "input": {}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "a", "toolName": "ls", "output": {"type": "text", "value": "f"}},
                {"type": "tool-result", "toolCallId": "b", "toolName": "ls", "output": {"type": "text", "value": "g"}},
            ],
        },
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "x"},
    ],
}


@in_one_test("name", BODIES)
def test_a_clean_body_has_no_findings(name: str) -> None:
    format_ = format_named(name.partition(",")[0])
    (stored,) = format_.read([Record("request.json", Cell(json.dumps(BODIES[name]).encode(), "file"))])
    assert len(stored.conversation.chunks) > 2
    assert findings(case_of(stored.conversation, format_.default_reader, taken_at=1_800_000_000_000), RULES) == []


def test_every_wire_shape_has_one() -> None:
    assert {name.partition(",")[0] for name in BODIES} == set(WIRES)
