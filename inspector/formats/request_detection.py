"""Which provider a request body is for: by what its messages hold, else by what stands beside them, else by the model's name."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.formats.request_layout import NotARequest, parsed
from inspector.formats.request_names import WIRES
from inspector.projections.base import AI_SDK, ANTHROPIC, BEDROCK, GEMINI, MISTRAL, OPENAI_CHAT, OPENAI_RESPONSES

_FORMATS = {wire: name for name, wire in WIRES.items()}
_TYPES = {
    **dict.fromkeys(("tool_use", "tool_result", "redacted_thinking", "server_tool_use", "web_search_tool_result", "document"), ANTHROPIC),
    **dict.fromkeys(("image_url", "input_audio", "refusal"), OPENAI_CHAT),
    **dict.fromkeys(("document_url", "reference"), MISTRAL),
    **dict.fromkeys(("tool-call", "tool-result", "reasoning", "tool-approval-request", "tool-approval-response"), AI_SDK),
    **dict.fromkeys(("input_text", "output_text", "input_image", "input_file", "summary_text"), OPENAI_RESPONSES),
}
_ITEMS = ("function_call", "function_call_output", "reasoning", "item_reference", "message", "custom_tool_call", "custom_tool_call_output")
_BEDROCK = ("toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent", "text", "image", "document", "video")
_BESIDE = {
    **dict.fromkeys(("anthropic_version", "anthropic_beta", "stop_sequences", "betas"), ANTHROPIC),
    **dict.fromkeys(
        ("max_completion_tokens", "reasoning_effort", "stream_options", "parallel_tool_calls", "frequency_penalty", "logit_bias", "store"),
        OPENAI_CHAT,
    ),
    **dict.fromkeys(("safe_prompt", "random_seed", "prompt_mode"), MISTRAL),
    **dict.fromkeys(("inferenceConfig", "toolConfig", "modelId", "additionalModelRequestFields", "guardrailConfig"), BEDROCK),
    **dict.fromkeys(("providerOptions", "maxOutputTokens", "toolChoice", "maxSteps", "stopWhen"), AI_SDK),
}
_MODELS = {
    **dict.fromkeys(("claude",), ANTHROPIC),
    **dict.fromkeys(("gpt", "o1", "o3", "o4", "chatgpt", "deepseek", "qwen", "kimi", "glm", "grok", "llama"), OPENAI_CHAT),
    **dict.fromkeys(("mistral", "open-mi", "magistral", "ministral", "codestral", "devstral", "pixtral"), MISTRAL),
}


def format_of(data: bytes) -> str:
    """The name of the format. Raises NotARequest, also where several shapes are possible."""
    value = parsed(data).value
    wires = wires_of(value)
    if len(wires) == 1:
        return _FORMATS[wires[0]]
    if wires:
        names = ", ".join(_FORMATS[wire] for wire in wires)
        raise NotARequest(f"holds messages that are the same in several wire shapes: say which it is with --format NAME ({names}).")
    if value == [] or (isinstance(value, dict) and any(value.get(name) == [] for name in ("messages", "contents", "input"))):
        raise NotARequest("holds an empty list of messages: there is nothing to judge, and every provider refuses it.")
    raise NotARequest(
        "is JSON, but no request body or list of messages that is known here: `formats` lists them, --format NAME forces one."
    )


def wires_of(value: Any) -> list[str]:
    """The wire shapes that a body may be of; () where it is none, several where nothing tells them apart."""
    body = value if isinstance(value, dict) else {}
    found = value if isinstance(value, list) else None
    if isinstance(body.get("contents"), list):
        return [GEMINI] if _holds_objects(body["contents"]) else []
    if "input" in body and "messages" not in body:
        return [OPENAI_RESPONSES] if _is_said_at_once(body) or _holds_objects(body["input"]) else []
    if found is None:
        found = next((body[name] for name in ("messages", "prompt") if isinstance(body.get(name), list)), None)
    if found is None or not _holds_objects(found):
        return []
    messages = [message for message in found if isinstance(message, dict)]
    left: list[str] = []
    for votes in (Counter(wire for message in messages for wire in _of_message(message)), Counter(_beside(body)), Counter(_model(body))):
        # What stands further away decides only between those that the nearer marks leave.
        best = _best(Counter({wire: count for wire, count in votes.items() if not left or wire in left}))
        left = best or left
        if len(left) == 1:
            return [MISTRAL] if left == [OPENAI_CHAT] and MISTRAL in _model(body) else left
    if left:
        return left
    is_talk = any(isinstance(message.get("role"), str) and "content" in message for message in messages)
    return [ANTHROPIC, OPENAI_CHAT, MISTRAL, AI_SDK] if is_talk else []


def _is_said_at_once(body: Mapping[str, Any]) -> bool:
    """Whether `input` is the one text of a request for an answer. Spans of traces have an input too, and so have requests for speech or embeddings."""
    model = body.get("model", body.get("prompt"))
    of_others = ("output", "voice", "encoding_format", "dimensions")
    is_embedding = isinstance(model, str) and "embed" in model.lower()
    return isinstance(body["input"], str) and model is not None and not is_embedding and not any(name in body for name in of_others)


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _best(votes: Counter[str]) -> list[str]:
    """The one with the most; Mistral's is OpenAI's shape with some more, so that any mark of its own decides between these two."""
    if votes.get(MISTRAL):
        votes[MISTRAL] += votes.pop(OPENAI_CHAT, 0)
    most = max(votes.values(), default=0)
    return [wire for wire in votes if votes[wire] == most]


def _of_message(message: Mapping[str, Any]) -> Iterator[str]:
    role, content, kind = message.get("role"), message.get("content"), message.get("type")
    if isinstance(message.get("parts"), list):
        if role in ("user", "model", "function", None) and not any(isinstance(part, dict) and "type" in part for part in message["parts"]):
            yield GEMINI
        return
    if isinstance(kind, str) and kind in _ITEMS and (role is None or kind == "message"):
        yield OPENAI_RESPONSES
    if (
        isinstance(message.get("tool_calls"), list)
        or "tool_call_id" in message
        or role in ("developer", "function")
        or "function_call" in message
        or "reasoning_content" in message
        or (role == "system" and isinstance(content, list))
    ):
        yield OPENAI_CHAT
    if isinstance(message.get("prefix"), bool):
        yield MISTRAL
    if "providerOptions" in message:
        yield AI_SDK
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and (wire := _of_block(block)):
                yield wire


def _of_block(block: Mapping[str, Any]) -> str | None:
    kind = block.get("type")
    if not isinstance(kind, str):
        return BEDROCK if "type" not in block and any(name in block for name in _BEDROCK) else None
    if kind == "thinking":
        return MISTRAL if isinstance(block.get("thinking"), list) else ANTHROPIC
    if kind == "image":
        return ANTHROPIC if isinstance(block.get("source"), dict) else AI_SDK if "image" in block else None
    if kind == "image_url":
        return MISTRAL if isinstance(block.get("image_url"), str) else OPENAI_CHAT
    if kind == "file":
        return AI_SDK if "mediaType" in block else OPENAI_CHAT
    if kind == "text":
        return ANTHROPIC if "cache_control" in block or "citations" in block else AI_SDK if "providerOptions" in block else None
    return _TYPES.get(kind)


def _beside(body: Mapping[str, Any]) -> Iterator[str]:
    for name in body:
        if name in _BESIDE:
            yield _BESIDE[name]
    if "system" in body:
        blocks = body["system"]
        is_bedrock = isinstance(blocks, list) and any(isinstance(block, dict) and "type" not in block for block in blocks)
        yield BEDROCK if is_bedrock else ANTHROPIC
    if isinstance(body.get("thinking"), dict):
        yield ANTHROPIC
    for tool in body["tools"] if isinstance(body.get("tools"), list) else ():
        if isinstance(tool, dict):
            yield ANTHROPIC if "input_schema" in tool else OPENAI_CHAT


def _model(body: Mapping[str, Any]) -> Iterator[str]:
    model = body.get("model")
    if isinstance(model, str):
        name = model.rsplit("/", 1)[-1].lower()
        yield from (wire for start, wire in _MODELS.items() if name.startswith(start))
