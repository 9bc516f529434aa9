"""A history as the smallest whole request that a provider can be asked with: what tries a repair on the real API."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from inspector.conversation.model import Conversation, Kind
from inspector.projections.base import ANTHROPIC, GEMINI, MISTRAL, OPENAI_CHAT, OPENAI_RESPONSES, Prompt

Json = dict[str, Any]

THINKING_BUDGET = 1024
"""Tokens: the least that Anthropic takes where thinking is switched on."""
_COSTLY = ("stream", "stream_options", "n", "candidate_count", "best_of", "background", "service_tier")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANY = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Provider:
    """`path` holds {model} where the URL names it. `limit` is the member, or the path of it, that bounds the answer, `least` what it may be."""

    name: str
    wire: str
    base_url: str
    path: str
    key_header: str
    key_before: str
    headers: Mapping[str, str]
    system: str
    limit: tuple[str, ...]
    least: int
    model: str
    models: tuple[str, ...]
    """Starts of the names of its models, after the last slash."""
    tool: Callable[[str], Json]


_BEARER = ("Authorization", "Bearer ")
_OPENAI_MODELS = ("gpt-", "o1", "o3", "o4", "chatgpt-", "codex-", "ft:")

PROVIDERS = (
    Provider(
        "anthropic",
        ANTHROPIC,
        "https://api.anthropic.com",
        "/v1/messages",
        "x-api-key",
        "",
        {"anthropic-version": "2023-06-01"},
        "system",
        ("max_tokens",),
        1,
        "claude-haiku-4-5",
        ("claude-",),
        lambda name: {"name": name, "input_schema": _ANY},
    ),
    Provider(
        "openai",
        OPENAI_CHAT,
        "https://api.openai.com",
        "/v1/chat/completions",
        *_BEARER,
        {},
        "",
        ("max_completion_tokens",),
        1,
        "gpt-4.1-mini",
        _OPENAI_MODELS,
        lambda name: {"type": "function", "function": {"name": name, "parameters": _ANY}},
    ),
    Provider(
        "openai-responses",
        OPENAI_RESPONSES,
        "https://api.openai.com",
        "/v1/responses",
        *_BEARER,
        {},
        "instructions",
        ("max_output_tokens",),
        16,
        "gpt-4.1-mini",
        _OPENAI_MODELS,
        lambda name: {"type": "function", "name": name, "parameters": _ANY, "strict": False},
    ),
    Provider(
        "gemini",
        GEMINI,
        "https://generativelanguage.googleapis.com",
        "/v1beta/models/{model}:generateContent",
        "x-goog-api-key",
        "",
        {},
        "systemInstruction",
        ("generationConfig", "maxOutputTokens"),
        1,
        "gemini-2.5-flash",
        ("gemini-", "gemma-"),
        lambda name: {"functionDeclarations": [{"name": name, "description": name}]},
    ),
    Provider(
        "mistral",
        MISTRAL,
        "https://api.mistral.ai",
        "/v1/chat/completions",
        *_BEARER,
        {},
        "",
        ("max_tokens",),
        1,
        "mistral-small-latest",
        ("mistral-", "ministral-", "magistral-", "codestral-", "devstral-", "pixtral-", "open-mi"),
        lambda name: {"type": "function", "function": {"name": name, "parameters": _ANY}},
    ),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """`path` goes after the base URL; `filled_in` says, as sentences, what stands in the body that the history does not hold."""

    path: str
    body: Json
    filled_in: tuple[str, ...]

    @property
    def data(self) -> bytes:
        # Escapes keep a lone surrogate what it is: the provider must see what it refused.
        return json.dumps(self.body, ensure_ascii=True).encode("ascii")


def provider_named(name: str) -> Provider | None:
    return next((found for found in PROVIDERS if found.name == name), None)


def provider_of(wire: str) -> Provider | None:
    """None: requests of this shape are not sent (Bedrock's are signed; the AI SDK's are no request of any provider)."""
    return next((found for found in PROVIDERS if found.wire == wire), None)


def trial(provider: Provider, conversation: Conversation, prompt: Prompt, body: Mapping[str, Any] | None = None, model: str = "") -> Trial:
    """`body` is the whole request of the provider's own shape, where there is one; else the prompt is put into a new one."""
    said: list[str] = []
    made: Json = dict(body) if body is not None else {prompt.root: prompt.values}
    if body is None and prompt.system not in (None, "", [], {}):
        made[provider.system or "system"] = prompt.system
    chosen = _model(provider, conversation, made, model, said)
    if provider.wire != GEMINI:
        made = {"model": chosen} | made | {"model": chosen}
    for name in _COSTLY:
        if made.pop(name, None) is not None:
            said.append(f"{name} is left out: one short answer is asked for.")
    if provider.wire == OPENAI_CHAT and made.pop("max_tokens", None) is not None:
        said.append("max_tokens is left out: newer models take max_completion_tokens instead.")
    if provider.wire == OPENAI_RESPONSES:
        made["store"] = False
        said.append("store is false: the provider is asked not to keep the answer.")
    _think(provider, conversation, made, body is None, said)
    _bound(provider, made, said)
    _declare(provider, conversation, made, said)
    return Trial(provider.path.replace("{model}", quote(chosen, safe="", errors="replace")), made, tuple(said))


def _model(provider: Provider, conversation: Conversation, made: Mapping[str, Any], wanted: str, said: list[str]) -> str:
    if wanted:
        return wanted
    held = made.get("model")
    if isinstance(held, str) and held:
        return held.removeprefix("models/") if provider.wire == GEMINI else held
    known = (conversation.fact("model") or "").rpartition("/")[2]
    if known.startswith(provider.models):
        said.append(f"model is {known}, as the store has it.")
        return known
    said.append(f"model is {provider.model}: the history names none of this provider; --model takes another one.")
    return provider.model


def _think(provider: Provider, conversation: Conversation, made: Json, is_new: bool, said: list[str]) -> None:
    """Rules on thinking only hold where it is switched on, and then the answer must have room for the budget."""
    if provider.wire != ANTHROPIC:
        return
    signed = any(chunk.kind is Kind.THINKING and chunk.payload.get("signature") for chunk in conversation.chunks)
    if is_new and (conversation.fact("thinking") == "enabled" or (signed and conversation.fact("thinking") != "disabled")):
        made["thinking"] = {"type": "enabled"}
    held = made.get("thinking")
    if isinstance(held, dict) and held.get("type") == "enabled":
        made["thinking"] = held | {"budget_tokens": THINKING_BUDGET}
        said.append(f"thinking is enabled with budget_tokens {THINKING_BUDGET}, the least that is taken: its rules only hold then.")


def _bound(provider: Provider, made: Json, said: list[str]) -> None:
    thinks = isinstance(made.get("thinking"), dict) and made["thinking"].get("type") == "enabled"
    least = provider.least + (THINKING_BUDGET if thinks else 0)
    *outer, name = provider.limit
    if outer:
        inner = made.get(outer[0])
        kept = {each: value for each, value in inner.items() if each != "candidateCount"} if isinstance(inner, dict) else {}
        made[outer[0]] = kept | {name: least}
    else:
        made[name] = least
    said.append(f"{'.'.join(provider.limit)} is {least}: the question is only whether the history is taken.")


def _declare(provider: Provider, conversation: Conversation, made: Json, said: list[str]) -> None:
    """Tools that the history calls and the request does not name; a name that no provider takes would be refused in their list first."""
    tools = made.get("tools")
    if tools is not None and not isinstance(tools, list):
        return
    known = set(_names(tools or []))
    called = dict.fromkeys(chunk.tool_name for chunk in conversation.chunks if chunk.kind is Kind.TOOL_CALL)
    missing = [name for name in called if name not in known and _TOOL_NAME.fullmatch(name)]
    if missing:
        made["tools"] = [*(tools or []), *(provider.tool(name) for name in missing)]
        said.append(
            f"tools names {', '.join(missing[:8])}{' and more' if len(missing) > 8 else ''} without parameters: the history calls them."
        )


def _names(tools: list[Any]) -> list[str]:
    found = []
    for tool in tools:
        several = tool.get("functionDeclarations", [tool]) if isinstance(tool, dict) else []
        for each in several if isinstance(several, list) else []:
            inner = each.get("function") if isinstance(each, dict) and isinstance(each.get("function"), dict) else each
            if isinstance(inner, dict) and isinstance(inner.get("name"), str):
                found.append(inner["name"])
    return found


def without_key(text: str, key: str) -> str:
    """A provider may say the key that it did not take, and a history may hold it."""
    for form in dict.fromkeys((key, json.dumps(key)[1:-1], quote(key, safe=""))) if key else ():
        text = text.replace(form, "[your key]")
    return text


def error_text(answer: str) -> str:
    """What the provider says, out of the JSON around it; the whole answer where it is none of the known shapes."""
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    for at in (("error", "message"), ("message",), ("detail",), ("error",)):
        found = value
        for name in at:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, str):
            return found
    return answer
