"""Vercel AI SDK: what generateText of ai 6 and ai 7 refuses before it calls any provider."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from inspector.profiles.ai_sdk_rules import ONE_MISSING, RULES_6, RULES_7, SDK_1, SDK_2, SDK_3, SDK_4, SDK_5, SDK_6
from inspector.profiles.ai_sdk_schema import PARTS_OF_ROLE, is_model_message
from inspector.profiles.base import Profile, Request, Violation
from inspector.profiles.bodies import by_place, entries, entry, word
from inspector.projections.base import AI_SDK


def check(version: int, request: Request) -> Iterator[Violation]:
    """One pass over the messages, as ai `version` (6 or 7) reads them."""
    yield from by_place(_found(version, request))


def _found(version: int, request: Request) -> Iterator[Violation]:
    if not request.messages:
        yield Violation("SDK-2", "messages", (), SDK_2.text)
    open_calls: dict[str, str] = {}
    approvals: set[str] = set()
    message: dict[str, Any] = {}
    index = -1
    for index, message in enumerate(map(entry, request.messages)):
        role = word(message.get("role"))
        if version == 6 and not is_model_message(role, message):
            yield Violation("SDK-3", f"messages.{index}", (), SDK_3.text)
        if version > 6 and role == "system":
            yield Violation("SDK-4", f"messages.{index}", (), SDK_4.text)
        elif version > 6 and role not in PARTS_OF_ROLE:
            yield Violation("SDK-6", f"messages.{index}", (), SDK_6.say(role=role))
        elif version > 6 and role != "system" and not isinstance(message.get("content"), (str, list)):
            yield Violation("SDK-7", f"messages.{index}", (), _type_error(role, message, entry(request.messages[-1]).get("role") == "tool"))
        if role in ("user", "system") and open_calls:
            yield _unanswered(open_calls, open_ended=False)
            open_calls = {}
        for place, part in enumerate(entries(message.get("content"))):
            kind, name = word(part.get("type")), word(part.get("toolCallId"))
            if role == "assistant" and kind == "tool-call" and not part.get("providerExecuted"):
                open_calls.setdefault(name, f"messages.{index}.content.{place}")
            elif role == "assistant" and kind == "tool-approval-request":
                approvals.add(word(part.get("approvalId")))
            elif role == "tool" and kind == "tool-result":
                open_calls.pop(name, None)
    if open_calls:
        yield _unanswered(open_calls, open_ended=True)
    # Approvals are only collected of a tool message that ends the list.
    for place, part in enumerate(entries(message.get("content")) if message.get("role") == "tool" else []):
        name = word(part.get("approvalId"))
        if part.get("type") == "tool-approval-response" and name not in approvals:
            yield Violation("SDK-5", f"messages.{index}.content.{place}", (), SDK_5.say(id=name))


def _type_error(role: str, message: dict[str, Any], collects: bool) -> str:
    """`collects`: a list that ends in a tool message is searched for approvals before any message is converted."""
    if role == "assistant" and collects:
        return "content is not iterable"
    what, method = "null" if "content" in message else "undefined", "map" if role == "user" else "filter"
    return f"Cannot read properties of {what} (reading '{method}')"


def _unanswered(open_calls: dict[str, str], open_ended: bool) -> Violation:
    """At the call, or at the message of the first one where several are open."""
    places = list(open_calls.values())
    path = places[0] if len(places) == 1 else places[0].rpartition(".content.")[0]
    text = (ONE_MISSING if len(places) == 1 else SDK_1.text).format(ids=", ".join(open_calls))
    return Violation("SDK-1", path, (), text, open_ended)


_UNKNOWABLE = "What a provider's own package and then the provider refuse is not judged: choose that provider's profile too."

AI_SDK_6_PROFILE = Profile("ai-sdk-6", "Vercel AI SDK, ai 6.0.43 and later (6.0.326)", _UNKNOWABLE, RULES_6, partial(check, 6), wire=AI_SDK)
AI_SDK_7_PROFILE = Profile("ai-sdk-7", "Vercel AI SDK, ai 7 (7.0.173)", _UNKNOWABLE, RULES_7, partial(check, 7), wire=AI_SDK)

OFFERED = (AI_SDK_6_PROFILE, AI_SDK_7_PROFILE)
