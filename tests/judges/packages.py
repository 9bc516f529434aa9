"""What the AI SDK's own packages for providers are asked: every history, and what each version of gbrain makes of its table, as ModelMessages."""

from typing import Any

from inspector.profiles.catalogue import profile
from inspector.projections.base import Prompt
from tests.judges import gbrain, reading

SDK = "ai-sdk-6"
PROFILES = {"anthropic": "anthropic-2026-07", "openai-chat": "openai-chat", "openai-responses": "openai-responses", "gemini": "gemini"}
"""Wire shape -> our profile of it."""


def prompt(question: str, profile_name: str) -> Prompt:
    return (gbrain if " / " in question else reading).prompt(question, profile_name)


def questions() -> list[str]:
    """Those that the SDK hands on to a package."""
    judge = profile(SDK)
    return [question for question in (*reading.HISTORIES, *gbrain.asked()) if judge.judge(prompt(question, SDK)).sendable]


def requests(profile_name: str) -> dict[str, dict[str, Any]]:
    """The same for each package: it is the package that makes the provider's shape of it."""
    made = {question: prompt(question, SDK) for question in questions()}
    return {question: {"messages": each.values, "system": each.system} for question, each in made.items()}


def shape(question: str, wire: str) -> str:
    """Roles and kinds of blocks of our own projection, as the runner writes those of the package's body."""
    return " ".join(_shape(value) for value in prompt(question, PROFILES[wire]).values)


def _shape(message: dict[str, Any]) -> str:
    held = next((message[name] for name in ("content", "parts") if message.get(name) is not None), [])
    blocks = ["text"] if isinstance(held, str) else [_kind(block) for block in held]
    return f"{message.get('role') or message.get('type')}:{','.join([*blocks, *map(_kind, message.get('tool_calls') or [])])}"


def _kind(block: dict[str, Any]) -> str:
    return str(block.get("type") or next(iter(block)))
