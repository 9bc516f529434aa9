"""Which provider a request body is for: by what its messages contain, else by the other members of the body, else by the model's name."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.programs import not_read
from inspector.programs.formats import Shape
from inspector.programs.registry import programs
from inspector.projections.base import AI_SDK, ANTHROPIC, BEDROCK, GEMINI, MISTRAL, OPENAI_CHAT, OPENAI_RESPONSES
from inspector.projections.openai_responses import CALL_TYPES, OUTPUT_TYPES
from inspector.wires.layout import NotARequest, parsed, several
from inspector.wires.names import WIRES

_FORMATS = {wire: name for name, wire in WIRES.items()}
_TYPES = {
    **dict.fromkeys(
        (
            "tool_use",
            "tool_result",
            "redacted_thinking",
            "server_tool_use",
            "mcp_tool_use",
            "container_upload",
            "search_result",
        ),
        ANTHROPIC,
    ),
    **dict.fromkeys(("image_url", "input_audio", "refusal"), OPENAI_CHAT),
    **dict.fromkeys(("document_url", "reference"), MISTRAL),
    **dict.fromkeys(("tool-call", "tool-result", "reasoning", "tool-approval-request", "tool-approval-response"), AI_SDK),
    **dict.fromkeys(("input_text", "output_text", "input_image", "input_file", "summary_text"), OPENAI_RESPONSES),
}
ITEMS = frozenset(("reasoning", "item_reference", "message", *CALL_TYPES, *OUTPUT_TYPES))
_OPENAI_MEMBERS = frozenset(
    ("tool_calls", "tool_call_id", "function_call", "refusal", "reasoning", "reasoning_content", "reasoning_details", "thinking_blocks")
)
"""Members of a message; those of reasoning are of gateways and servers that take OpenAI's messages."""
_BEDROCK = ("toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent", "text", "image", "document", "video")
_WIRE_OF_MEMBER = {
    **dict.fromkeys(
        (
            "anthropic_version",
            "anthropic_beta",
            "betas",
            "stop_sequences",
            "mcp_servers",
            "container",
            "context_management",
            "output_config",
        ),
        ANTHROPIC,
    ),
    **dict.fromkeys(
        (
            *("max_completion_tokens", "reasoning_effort", "stream_options", "parallel_tool_calls", "store", "stop", "n", "logprobs"),
            *("frequency_penalty", "presence_penalty", "logit_bias", "response_format", "functions", "function_call", "modalities"),
            # Of OpenRouter, vLLM and Ollama, which take OpenAI's messages.
            *("provider", "plugins", "reasoning", "chat_template_kwargs", "repetition_penalty", "keep_alive", "options"),
        ),
        OPENAI_CHAT,
    ),
    **dict.fromkeys(("safe_prompt", "random_seed", "prompt_mode"), MISTRAL),
    **dict.fromkeys(("inferenceConfig", "toolConfig", "modelId", "additionalModelRequestFields", "guardrailConfig"), BEDROCK),
    **dict.fromkeys(("prompt", "providerOptions", "maxOutputTokens", "toolChoice", "maxSteps", "stopWhen"), AI_SDK),
}
_MODELS = {
    **dict.fromkeys(("claude", "anthropic."), ANTHROPIC),
    **dict.fromkeys(("mistral", "open-mi", "magistral", "ministral", "codestral", "devstral", "pixtral"), MISTRAL),
}
_ANTHROPIC_TOOL = re.compile(r"_\d{8}$")
"""The end of the type of a tool that Anthropic defines, such as `bash_20250124`; it has no schema in the request."""
_ANTHROPIC_CHOICES = ("auto", "any", "tool", "none")
_HEAD, _SURE = 4096, 0.6
"""Bytes by which the formats of stores know a file, and how sure one has to be."""
_WRAPPERS = ("body", "params", "request", "input")
"""Members under which a line of a batch or of a log holds the body of its request."""
SHARED = ("max_tokens", "top_p", "stream")
"""Members that OpenAI, Anthropic and Mistral share. A body that has one and no `model` is OpenAI's: Azure has the model in the address, and the others require the member."""


def format_of(data: bytes, model: str = "") -> str:
    """The name of the format. Raises NotARequest, also where several shapes are possible."""
    names = formats_of(data, model)
    if len(names) == 1:
        return names[0]
    what = "holds messages that are the same in several wire shapes"
    raise NotARequest(
        f"{what}: say which it is (--format NAME, in Python format=NAME): {', '.join(names)}.", f"{what}: {', '.join(names)}."
    )


def formats_of(data: bytes, model: str = "") -> list[str]:
    """The names of the formats that it may be of, several where nothing distinguishes them. `model`: that which it is for, in place of the one that it names.

    Raises NotARequest.
    """
    try:
        names = _formats_of(data, model)
    except NotARequest:
        _refuse_other(data)
        raise
    if len(names) > 1:
        _refuse_other(data)
    return names


def _refuse_other(data: bytes) -> None:
    """Raises NotARequest where it is known as something else."""
    if what := not_read.of_head(data):
        raise NotARequest(f"is {what}, {not_read.why(what)}.") from None
    if program := program_of_session(data):
        raise NotARequest(f"is a session of {program}, no request: import its file, or read it with `inspector scan FILE`.") from None
    if reason := _of_several(several(data)):
        raise NotARequest(reason) from None


def program_of_session(data: bytes) -> str:
    """The program whose sessions begin so; "" where none does."""
    shape = Shape(head=data[:_HEAD])
    return next((program.title for program in programs() if any(of.sniff(shape) > _SURE for of in program.formats)), "")


def _of_several(values: list[Any]) -> str:
    """What to say of values in a row some of which are request bodies, as in the file of a batch; "" where none is."""
    bodies = [body for value in values if (body := _body_in(value))]
    if not bodies:
        return ""
    names = ", ".join(sorted({_FORMATS[wires[0]] for _, wires in bodies if len(wires) == 1}))
    members = {name for name, _ in bodies}
    count = "all" if len(bodies) == len(values) else f"{len(bodies):,}"
    return (
        f"holds {len(values):,} JSON values, {count} of them request bodies{f' ({names})' if names else ''}"
        + (f" in the member {members.pop()}" if len(members) == 1 and members != {""} else "")
        + ": save the one that you mean as a file of its own."
    )


def _body_in(value: Any) -> tuple[str, list[str]] | None:
    """The member that is a request body ("" = the value itself) and the wire shapes that it may be of."""
    for name in ("", *_WRAPPERS):
        body = value if not name else value.get(name) if isinstance(value, dict) else None
        if isinstance(body, dict) and (wires := wires_of(body)):
            return name, wires
    return None


def _formats_of(data: bytes, model: str) -> list[str]:
    value = parsed(data).value
    if wires := wires_of(_for_model(value, model)):
        return [_FORMATS[wire] for wire in wires]
    if value == [] or (isinstance(value, dict) and any(value.get(name) == [] for name in ("messages", "contents", "input"))):
        raise NotARequest("holds an empty list of messages: there is nothing to judge, and every provider refuses it.")
    what = "is JSON, but no request body or list of messages that is known here"
    raise NotARequest(f"{what}: `formats` lists them, --format NAME (in Python format=NAME) forces one.", f"{what}.")


def _for_model(value: Any, model: str) -> Any:
    if not model or not isinstance(value, dict | list):
        return value
    return {**(value if isinstance(value, dict) else {"messages": value}), "model": model}


def still_shows(name: str, before: bytes, after: bytes) -> bool:
    """Whether a body of the format `name` shows its wire shape after a repair as it did before: what showed it may be what the repair took out."""
    wire = WIRES[name]
    return wires_of(parsed(before).value) != [wire] or wires_of(parsed(after).value) == [wire]


def wires_of(value: Any) -> list[str]:
    """The wire shapes that a body may be of; () where it is none, several where nothing distinguishes them."""
    body = value if isinstance(value, dict) else {}
    listed = value if isinstance(value, list) else None
    if isinstance(body.get("contents"), list):
        return [GEMINI] if _holds_objects(body["contents"]) else []
    if "input" in body and "messages" not in body:
        return [OPENAI_RESPONSES] if _is_single_text(body) or _holds_objects(body["input"]) else []
    if listed is None:
        listed = next((body[name] for name in ("messages", "prompt") if isinstance(body.get(name), list)), None)
    if listed is None or not _holds_objects(listed):
        return []
    messages = [message for message in listed if isinstance(message, dict)]
    candidates: list[str] = []
    for votes in (
        Counter(wire for message in messages for wire in _of_message(message)),
        Counter(_other_members(body)),
        Counter(_model(body, messages[0])),
        Counter(wire for number, message in enumerate(messages) for wire in _hints(message, number == 0)),
    ):
        # Weaker marks decide only between those shapes that the stronger ones leave.
        best = _best(Counter({wire: count for wire, count in votes.items() if not candidates or wire in candidates}))
        candidates = best or candidates
        if len(candidates) == 1:
            return [MISTRAL] if candidates == [OPENAI_CHAT] and MISTRAL in _model(body, messages[0]) else candidates
    if candidates:
        return candidates
    if not any(isinstance(message.get("role"), str) and "content" in message for message in messages):
        return []
    if any(name in body for name in SHARED):
        return [OPENAI_CHAT]
    # Anthropic takes a system message in the middle of the list, and none at its start.
    impossible = {ANTHROPIC} if messages[0].get("role") == "system" else set()
    if listed is not value or not all(map(_is_item, messages)):
        impossible.add(OPENAI_RESPONSES)
    return [wire for wire in (ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, MISTRAL, AI_SDK) if wire not in impossible]


def _is_item(message: Mapping[str, Any]) -> bool:
    """Whether a message may be an item of `input` too: a role and a text, as OpenAI's `EasyInputMessage`. In a body the list is under `messages`, which Responses does not have."""
    return message.keys() == {"role", "content"} and isinstance(message["content"], str)


def _is_single_text(body: Mapping[str, Any]) -> bool:
    """Whether `input` is the one text of a request for an answer. Spans of traces have an input too, and so have requests for speech or embeddings."""
    model = body.get("model", body.get("prompt"))
    of_others = ("output", "voice", "encoding_format", "dimensions", "generation_config")
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
    if isinstance(kind, str) and kind in ITEMS and (role is None or kind == "message"):
        yield OPENAI_RESPONSES
    if role in ("developer", "function") or (role == "tool" and isinstance(content, str)) or not _OPENAI_MEMBERS.isdisjoint(message):
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
    if kind == "document":
        return ANTHROPIC if "source" in block else None
    if kind == "image":
        return ANTHROPIC if isinstance(block.get("source"), dict) else AI_SDK if "image" in block else None
    if kind == "image_url":
        return MISTRAL if isinstance(block.get("image_url"), str) else OPENAI_CHAT
    if kind == "file":
        return AI_SDK if "mediaType" in block else OPENAI_CHAT
    if kind == "text":
        return ANTHROPIC if "citations" in block else AI_SDK if "providerOptions" in block else None
    return ANTHROPIC if kind.endswith("_tool_result") else _TYPES.get(kind)


def _hints(message: Mapping[str, Any], is_first: bool) -> Iterator[str]:
    """Marks that other shapes may have too: gateways take `cache_control` in OpenAI's messages, Mistral takes a system message that is a list of blocks."""
    content = message.get("content")
    if not isinstance(content, list):
        return
    if is_first and message.get("role") == "system":
        yield OPENAI_CHAT
    if any(isinstance(block, dict) and "cache_control" in block for block in content):
        yield ANTHROPIC


def _other_members(body: Mapping[str, Any]) -> Iterator[str]:
    for name in body:
        if name in _WIRE_OF_MEMBER:
            yield _WIRE_OF_MEMBER[name]
    if "system" in body:
        blocks = body["system"]
        is_bedrock = isinstance(blocks, list) and any(isinstance(block, dict) and "type" not in block for block in blocks)
        yield BEDROCK if is_bedrock else ANTHROPIC
    # DeepSeek, Kimi and GLM take `thinking` with a type of enabled or disabled and nothing else, with OpenAI's messages.
    if isinstance(thinking := body.get("thinking"), dict) and ("budget_tokens" in thinking or thinking.get("type") == "adaptive"):
        yield ANTHROPIC
    for tool in body["tools"] if isinstance(body.get("tools"), list) else ():
        if isinstance(tool, dict):
            yield ANTHROPIC if _is_anthropic_tool(tool) else OPENAI_CHAT
    choice = body.get("tool_choice")
    if choice is not None:
        is_anthropic = isinstance(choice, dict) and choice.get("type") in _ANTHROPIC_CHOICES
        yield ANTHROPIC if is_anthropic else MISTRAL if choice == "any" else OPENAI_CHAT


def _is_anthropic_tool(tool: Mapping[str, Any]) -> bool:
    kind = tool.get("type")
    return "input_schema" in tool or kind == "mcp_toolset" or (isinstance(kind, str) and _ANTHROPIC_TOOL.search(kind) is not None)


def _model(body: Mapping[str, Any], first: Mapping[str, Any]) -> list[str]:
    """By the model's name. `provider/model` is a name at a gateway, which takes OpenAI's messages for every model; a system message that comes first is one of OpenAI's, too."""
    model = body.get("model")
    if not isinstance(model, str):
        return [OPENAI_CHAT] if body and first.get("role") == "system" else []
    if "/" in model:
        return [OPENAI_CHAT]
    wire = next((wire for start, wire in _MODELS.items() if model.lower().startswith(start)), OPENAI_CHAT)
    return [OPENAI_CHAT] if wire == ANTHROPIC and first.get("role") == "system" else [wire]
