"""A history as the smallest complete request to a provider: to try a repair on the real API."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from inspector.conversation.model import Conversation, Kind
from inspector.presentation.json_text import Json
from inspector.projections.base import ANTHROPIC, GEMINI, MISTRAL, OPENAI_CHAT, OPENAI_RESPONSES, Prompt

THINKING_BUDGET = 1024
"""Tokens: the least that Anthropic takes where thinking is switched on."""
_COSTLY = ("stream", "stream_options", "n", "candidate_count", "best_of", "background", "service_tier")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANY = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Provider:
    """`path` contains {model} where the URL names it. `limit` is the member, or the path of it, that bounds the answer, `least` what it may be."""

    name: str
    wire: str
    base_url: str
    path: str
    key_header: str
    key_before: str
    limit: tuple[str, ...]
    model: str
    models: tuple[str, ...]
    """Starts of the names of its models, after the last slash."""
    tool: Callable[[str], Json]
    least: int = 1
    system: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


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
        ("max_tokens",),
        "claude-haiku-4-5",
        ("claude-",),
        lambda name: {"name": name, "input_schema": _ANY},
        system="system",
        headers={"anthropic-version": "2023-06-01"},
    ),
    Provider(
        "openai",
        OPENAI_CHAT,
        "https://api.openai.com",
        "/v1/chat/completions",
        *_BEARER,
        ("max_completion_tokens",),
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
        ("max_output_tokens",),
        "gpt-4.1-mini",
        _OPENAI_MODELS,
        lambda name: {"type": "function", "name": name, "parameters": _ANY, "strict": False},
        least=16,
        system="instructions",
    ),
    Provider(
        "gemini",
        GEMINI,
        "https://generativelanguage.googleapis.com",
        "/v1beta/models/{model}:generateContent",
        "x-goog-api-key",
        "",
        ("generationConfig", "maxOutputTokens"),
        "gemini-2.5-flash",
        ("gemini-", "gemma-"),
        lambda name: {"functionDeclarations": [{"name": name, "description": name}]},
        system="systemInstruction",
    ),
    Provider(
        "mistral",
        MISTRAL,
        "https://api.mistral.ai",
        "/v1/chat/completions",
        *_BEARER,
        ("max_tokens",),
        "mistral-small-latest",
        ("mistral-", "ministral-", "magistral-", "codestral-", "devstral-", "pixtral-", "open-mi"),
        lambda name: {"type": "function", "function": {"name": name, "parameters": _ANY}},
    ),
)


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """`path` goes after the base URL; `filled_in` says, as sentences, what the body contains that is not from the history."""

    path: str
    body: Json
    filled_in: tuple[str, ...]

    @property
    def data(self) -> bytes:
        # Escapes keep a lone surrogate what it is: the provider must see what it refused.
        return json.dumps(self.body, ensure_ascii=True).encode("ascii")


def provider_named(name: str) -> Provider | None:
    return next((provider for provider in PROVIDERS if provider.name == name), None)


def provider_of(wire: str) -> Provider | None:
    """None: requests of this shape are not sent (Bedrock's are signed; the AI SDK's are no request of any provider)."""
    return next((provider for provider in PROVIDERS if provider.wire == wire), None)


def provider_request(
    provider: Provider, conversation: Conversation, prompt: Prompt, body: Mapping[str, Any] | None = None, model: str = ""
) -> ProviderRequest:
    """`body` is the whole request of the provider's own shape, where there is one; else the prompt is put into a new one."""
    notes: list[str] = []
    request: Json = dict(body) if body is not None else request_list(prompt, provider)
    chosen = _model(provider, conversation, request, model, notes)
    if provider.wire != GEMINI:
        request = {"model": chosen} | request | {"model": chosen}
    for name in _COSTLY:
        if request.pop(name, None) is not None:
            notes.append(f"{name} is left out: one short answer is asked for.")
    if provider.wire == OPENAI_CHAT and request.pop("max_tokens", None) is not None:
        notes.append("max_tokens is left out: newer models take max_completion_tokens instead.")
    if provider.wire == OPENAI_RESPONSES:
        request["store"] = False
        notes.append("store is false: the provider is asked not to keep the answer.")
    _think(provider, conversation, request, body is None, notes)
    _bound(provider, request, notes)
    _declare(provider, conversation, request, notes)
    return ProviderRequest(provider.path.replace("{model}", quote(chosen, safe="", errors="replace")), request, tuple(notes))


def request_list(prompt: Prompt, provider: Provider | None = None) -> Json:
    """The part of a request that a history decides: its list, and the system prompt where the wire shape has it outside the list."""
    system = (provider.system if provider else "") or "system"
    return {**({} if prompt.system in (None, "", [], {}) else {system: prompt.system}), prompt.root: prompt.values}


def _model(provider: Provider, conversation: Conversation, request: Mapping[str, Any], chosen: str, notes: list[str]) -> str:
    if chosen:
        return chosen
    body_model = request.get("model")
    if isinstance(body_model, str) and body_model:
        return body_model.removeprefix("models/") if provider.wire == GEMINI else body_model
    stored_model = (conversation.fact("model") or "").rpartition("/")[2]
    if stored_model.startswith(provider.models):
        notes.append(f"model is {stored_model}, as the store has it.")
        return stored_model
    notes.append(f"model is {provider.model}: the history names none of this provider; --model takes another one.")
    return provider.model


def _think(provider: Provider, conversation: Conversation, request: Json, is_new: bool, notes: list[str]) -> None:
    """Rules on thinking only hold where it is switched on, and then the answer must have room for the budget."""
    if provider.wire != ANTHROPIC:
        return
    signed = any(chunk.kind is Kind.THINKING and chunk.payload.get("signature") for chunk in conversation.chunks)
    if is_new and (conversation.fact("thinking") == "enabled" or (signed and conversation.fact("thinking") != "disabled")):
        request["thinking"] = {"type": "enabled"}
    thinking = request.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        request["thinking"] = thinking | {"budget_tokens": THINKING_BUDGET}
        notes.append(f"thinking is enabled with budget_tokens {THINKING_BUDGET}, the least that is taken: its rules only hold then.")


def _bound(provider: Provider, request: Json, notes: list[str]) -> None:
    thinks = isinstance(request.get("thinking"), dict) and request["thinking"].get("type") == "enabled"
    least = provider.least + (THINKING_BUDGET if thinks else 0)
    *outer, name = provider.limit
    if outer:
        inner = request.get(outer[0])
        settings = {key: value for key, value in inner.items() if key != "candidateCount"} if isinstance(inner, dict) else {}
        request[outer[0]] = settings | {name: least}
    else:
        request[name] = least
    notes.append(f"{'.'.join(provider.limit)} is {least}: the question is only whether the history is taken.")


def _declare(provider: Provider, conversation: Conversation, request: Json, notes: list[str]) -> None:
    """Tools that the history calls and the request does not name; a name that no provider takes would be refused in their list first."""
    tools = request.get("tools")
    if tools is not None and not isinstance(tools, list):
        return
    declared = set(_names(tools or []))
    called = dict.fromkeys(chunk.tool_name for chunk in conversation.chunks if chunk.kind is Kind.TOOL_CALL)
    missing = [name for name in called if name not in declared and _TOOL_NAME.fullmatch(name)]
    if missing:
        request["tools"] = [*(tools or []), *(provider.tool(name) for name in missing)]
        notes.append(
            f"tools names {', '.join(missing[:8])}{' and more' if len(missing) > 8 else ''} without parameters: the history calls them."
        )


def _names(tools: list[Any]) -> list[str]:
    names = []
    for tool in tools:
        several = tool.get("functionDeclarations", [tool]) if isinstance(tool, dict) else []
        for declaration in several if isinstance(several, list) else []:
            inner = (
                declaration.get("function")
                if isinstance(declaration, dict) and isinstance(declaration.get("function"), dict)
                else declaration
            )
            if isinstance(inner, dict) and isinstance(inner.get("name"), str):
                names.append(inner["name"])
    return names


def without_key(text: str, key: str) -> str:
    """A provider may repeat the key that it rejected, and a history may contain it."""
    for form in dict.fromkeys((key, json.dumps(key)[1:-1], quote(key, safe=""))) if key else ():
        text = text.replace(form, "[your key]")
    return text


def error_text(answer: str) -> str:
    """The provider's message, out of the JSON around it; the whole answer where it is none of the known shapes."""
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    for at in (("error", "message"), ("message",), ("detail",), ("error",)):
        member = value
        for name in at:
            member = member.get(name) if isinstance(member, dict) else None
        if isinstance(member, str):
            return member
    return answer
