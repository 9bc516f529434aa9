"""DeepSeek with thinking: OpenAI's pairing in its own words, and the reasoning of turns with calls must be passed back."""

from collections.abc import Iterator
from typing import Any

from inspector.profiles.base import UNANSWERED, UNCALLED, Profile, ProviderRule, Request, Violation
from inspector.profiles.bodies import by_place, entries, entry
from inspector.profiles.openai_pairing import Fault, unpaired

OV_1 = ProviderRule(
    "OV-1",
    "a call is not answered directly after its message",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "(insufficient tool messages following tool_calls message)",
    "I",
    ("agno-agi/agno #3105", "FoundationAgents/OpenManus #744"),
    also=("insufficient tool messages following tool_calls message",),
    repaired_by=UNANSWERED,
)
OV_1R = ProviderRule(
    "OV-1r",
    "a tool message without its call before it",
    "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    "I",
    ("agno-agi/agno #3105", "FoundationAgents/OpenManus #744"),
    repaired_by=UNCALLED,
)
OV_4 = ProviderRule(
    "OV-4",
    "an answer without its reasoning, in a turn in which a tool was called",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "I",
    (
        "https://api-docs.deepseek.com/guides/thinking_mode",
        "openclaw/openclaw #73417",
        "MoonshotAI/kimi-cli #2141",
        "hotovo/aider-desk #529",
    ),
    also=("Missing `reasoning_content` field in the assistant message at message index {n}.",),
    advice="an empty string is accepted as reasoning. V3.2 names the index of the message, V4 does not. Between two messages of the user without a call "
    "reasoning need not be passed back and is ignored (DeepSeek's guide to the thinking mode). Some reports say that every answer needs it.",
    repaired_by=("add-empty-thinking",),
)

RULES = (OV_1, OV_1R, OV_4)


def check(request: Request) -> Iterator[Violation]:
    """In order of place. OV-4 is silent where thinking is known to be off."""
    yield from by_place(_violations(request))


def _violations(request: Request) -> Iterator[Violation]:
    for pairing_fault in unpaired(request.messages):
        rule = OV_1 if pairing_fault.fault is Fault.UNANSWERED else OV_1R
        yield Violation(rule.id, f"messages.{pairing_fault.n}", (), rule.say(), pairing_fault.open_ended)
    if request.thinking is not False:
        yield from _without_reasoning([entry(message) for message in request.messages])


def _without_reasoning(messages: list[dict[str, Any]]) -> Iterator[Violation]:
    """Of turns with calls each answer, up to the user's next message; DeepSeek ignores the reasoning of other turns."""
    bare: list[int] = []
    called = False
    for n, message in enumerate([*messages, {"role": "user"}]):
        if message.get("role") == "user":
            yield from (Violation(OV_4.id, f"messages.{at}", (), OV_4.say()) for at in bare if called)
            bare, called = [], False
        elif message.get("role") == "assistant":
            called = called or bool(entries(message.get("tool_calls")))
            if not isinstance(message.get("reasoning_content"), str):
                bare.append(n)


DEEPSEEK_THINKING = Profile(
    "deepseek-thinking",
    "DeepSeek with thinking, over OpenAI chat messages",
    "Whether the reasoning is the one that was received, sizes and tokens are not judged; which answers must bear it differed between versions, and only those of turns with calls are asked here.",
    RULES,
    check,
    models=("deepseek",),
    projection="openai-chat+reasoning",
)

OFFERED = (DEEPSEEK_THINKING,)
