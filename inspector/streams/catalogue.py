"""The protocols by name, and by which records each is recognized."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.projections.base import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES
from inspector.streams.anthropic import Anthropic
from inspector.streams.assembling import AnswerMachine, words
from inspector.streams.ollama import OllamaChat, OllamaGenerate
from inspector.streams.openai_chat import OpenAIChat
from inspector.streams.openai_responses import OpenAIResponses
from inspector.streams.request_rules import RequestFacts
from inspector.streams.violations import OLLAMA_CHAT, OLLAMA_GENERATE
from inspector.text import jsontext

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StreamProtocol:
    """`machine` makes a machine from the request and what the kind of capture lacks. `finishes`: own word for the end -> the common one."""

    name: str
    title: str
    machine: Callable[[RequestFacts, frozenset[str]], AnswerMachine]
    finishes: Mapping[str, str]


STOP, LENGTH, TOOL_CALLS, FILTER, PAUSE, FAILED = "stop", "length", "tool-calls", "content-filter", "pause", "failed"
"""The common words for the end of an answer; "" where none came, and the protocol's own word where it is none that is known."""

_OLLAMA = {"stop": STOP, "length": LENGTH, "load": "load", "unload": "unload"}

PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        StreamProtocol(
            OPENAI_CHAT,
            "OpenAI Chat Completions",
            OpenAIChat,
            {
                "stop": STOP,
                "length": LENGTH,
                "model_length": LENGTH,
                "tool_calls": TOOL_CALLS,
                "function_call": TOOL_CALLS,
                "content_filter": FILTER,
            },
        ),
        StreamProtocol(
            OPENAI_RESPONSES,
            "OpenAI Responses",
            OpenAIResponses,
            {"completed": STOP, "max_output_tokens": LENGTH, "content_filter": FILTER, "failed": FAILED},
        ),
        StreamProtocol(
            ANTHROPIC,
            "Anthropic Messages",
            Anthropic,
            {
                "end_turn": STOP,
                "stop_sequence": STOP,
                "max_tokens": LENGTH,
                "model_context_window_exceeded": LENGTH,
                "tool_use": TOOL_CALLS,
                "pause_turn": PAUSE,
                "refusal": FILTER,
            },
        ),
        StreamProtocol(OLLAMA_CHAT, "Ollama chat", OllamaChat, _OLLAMA),
        StreamProtocol(OLLAMA_GENERATE, "Ollama generate", OllamaGenerate, _OLLAMA),
    )
}

_ONE_FINISH_FOR_BOTH = (OLLAMA_CHAT, OPENAI_RESPONSES)
"""Protocols whose answers with calls end with the word of those without."""
_USAGE = {
    "input": ("prompt_tokens", "input_tokens", "prompt_eval_count"),
    "output": ("completion_tokens", "output_tokens", "eval_count"),
}


def common_finish(protocol: str, word: str, calls: bool = False) -> str:
    """`word` of a protocol in the common words; `calls`: the answer has calls, which Ollama and Responses have no word for."""
    common = PROTOCOLS[protocol].finishes.get(word, word) if protocol in PROTOCOLS else word
    return TOOL_CALLS if calls and common == STOP and protocol in _ONE_FINISH_FOR_BOTH else common


def common_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Counted tokens under the names `input` and `output`, of those that are there."""
    counted: dict[str, int] = {}
    for common, names in _USAGE.items():
        counts = [usage[name] for name in names if isinstance(usage.get(name), int) and not isinstance(usage.get(name), bool)]
        if counts:
            counted[common] = counts[0]
    return counted


@dataclass(frozen=True, slots=True)
class RecognizedProtocol:
    """`name` is a protocol, or what it is where it is none that is read here (`supported` False). Not `sure`: further records may decide."""

    name: str
    supported: bool = True
    sure: bool = True


_ANTHROPIC = ("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop")
_COHERE = (
    "message-start",
    "content-start",
    "content-delta",
    "content-end",
    "tool-plan-delta",
    "tool-call-start",
    "tool-call-delta",
    "tool-call-end",
    "message-end",
    "citation-start",
)
_BEDROCK = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")
_MISTRAL = ("conversation.response.", "message.output.", "tool.execution.", "agent.handoff.")
_UI_STREAM = "AI SDK UI message stream"
_UI_PARTS = ("text-start", "text-delta", "text-end", "reasoning-", "tool-input-", "tool-output-", "tool-approval-", "source-", "data-")
_UI_STEPS = ("start-step", "finish-step", "message-metadata", "reset-step")
_DATA_LINE = re.compile(rb"[0-9a-k]:(?=[\[{\"])")
_WHOLE = {"chat.completion": "an OpenAI chat completion that was not streamed", "response": "an OpenAI response that was not streamed"}


def sniff(value: Any, name: str = "") -> RecognizedProtocol | None:
    """The protocol of one record (and the name of its event); None where it says nothing, as errors, pings and comments do."""
    if not isinstance(value, dict):
        return None
    kind = words(value.get("type")) or words(value.get("event_type")) or name
    whole = words(value.get("object"))
    if kind in _ANTHROPIC:
        return RecognizedProtocol(ANTHROPIC)
    if (
        kind.startswith("response.")
        and kind.count(".") >= 1
        and ("response" in value or "output_index" in value or "sequence_number" in value or "item_id" in value)
    ):
        return RecognizedProtocol(OPENAI_RESPONSES)
    if isinstance(value.get("choices"), list):
        if whole == "text_completion" or any(
            isinstance(choice, dict) and "text" in choice and "delta" not in choice for choice in value["choices"]
        ):
            return RecognizedProtocol("OpenAI completions (the older ones, without messages)", False)
        if whole == "chat.completion" and not any(isinstance(choice, dict) and "delta" in choice for choice in value["choices"]):
            return RecognizedProtocol(_WHOLE[whole], False)
        return RecognizedProtocol(OPENAI_CHAT)
    if isinstance(value.get("done"), bool):
        if isinstance(value.get("message"), dict):
            return RecognizedProtocol(OLLAMA_CHAT)
        return RecognizedProtocol(
            OLLAMA_GENERATE if isinstance(value.get("response"), str) else OLLAMA_CHAT, sure=isinstance(value.get("response"), str)
        )
    return _unsupported(value, kind, whole)


def sniff_line(line: bytes) -> RecognizedProtocol | None:
    """The protocol of a line that is neither JSON nor of a server-sent event."""
    if _DATA_LINE.match(line) is None:
        return None
    try:
        jsontext.parse(line[2:].decode("utf-8", "replace"))
    except jsontext.Unreadable:
        return None
    return RecognizedProtocol("AI SDK data stream (v1)", False)


def _unsupported(value: Mapping[str, Any], kind: str, whole: str) -> RecognizedProtocol | None:
    if "candidates" in value or "usageMetadata" in value or "promptFeedback" in value:
        return RecognizedProtocol("Gemini", False)
    if kind.startswith(("interaction.", "step.")):
        return RecognizedProtocol("Gemini interactions", False)
    if str(value.get("method", "")).startswith("generateContent"):
        return RecognizedProtocol("a recording of gemini-cli", False)
    if kind in _COHERE:
        return RecognizedProtocol("Cohere", False)
    if any(name in value for name in _BEDROCK):
        return RecognizedProtocol("Bedrock Converse", False)
    if kind.startswith(_MISTRAL):
        return RecognizedProtocol("Mistral conversations", False)
    if kind.startswith(_UI_PARTS) or kind in _UI_STEPS or (kind == "error" and "errorText" in value):
        return RecognizedProtocol(_UI_STREAM, False)
    if "custom_id" in value and "result" in value:
        return RecognizedProtocol("results of a batch of Anthropic messages", False)
    if kind == "message" and isinstance(value.get("content"), list):
        return RecognizedProtocol("an Anthropic message that was not streamed", False)
    if whole in _WHOLE:
        return RecognizedProtocol(_WHOLE[whole], False)
    return None
