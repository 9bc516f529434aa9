"""Vercel AI SDK: what generateText of ai 6 and ai 7 refuses before it calls any provider."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from inspector.profiles.ai_sdk_rules import ONE_MISSING, RULES_6, RULES_7, SDK_1, SDK_2, SDK_3, SDK_5, SDK_8
from inspector.profiles.ai_sdk_schema import is_model_message
from inspector.profiles.ai_sdk_schemaless import without_schema
from inspector.profiles.base import Profile, Request, Violation
from inspector.profiles.bodies import by_place, entries, entry, word
from inspector.projections.base import AI_SDK


def check(version: int, request: Request) -> Iterator[Violation]:
    """One pass over the messages, as ai `version` (6 or 7) reads them."""
    yield from by_place(_violations(version, request))


def _violations(version: int, request: Request) -> Iterator[Violation]:
    if not request.messages:
        yield Violation("SDK-2", "messages", (), SDK_2.text, open_ended=True)
    messages = [entry(message) for message in request.messages]
    ends = messages[-1] if messages and messages[-1].get("role") == "tool" else {}
    calls = _calls(messages)
    requested: dict[str, str] = {}
    open_calls: dict[str, str] = {}
    for index, message in enumerate(messages):
        role = word(message.get("role"))
        if version == 6 and not is_model_message(role, message):
            yield Violation("SDK-3", f"messages.{index}", (), SDK_3.text)
        if version > 6:
            yield from without_schema(index, role, message, ends)
        if role in ("user", "system") and open_calls:
            yield _unanswered(open_calls, open_ended=False)
            open_calls = {}
        for place, part in enumerate(entries(message.get("content"))):
            kind, name = word(part.get("type")), word(part.get("toolCallId"))
            if role == "assistant" and kind == "tool-call" and not part.get("providerExecuted"):
                open_calls.setdefault(name, f"messages.{index}.content.{place}")
            elif role == "assistant" and kind == "tool-approval-request":
                requested[word(part.get("approvalId"))] = name
            elif role == "tool" and kind == "tool-result":
                open_calls.pop(name, None)
    # Approvals are only collected of a tool message that ends the list: the SDK itself runs or denies those calls, and so answers them.
    parts = entries(ends.get("content"))
    answered = {word(part.get("toolCallId")) for part in parts if part.get("type") == "tool-result"}
    for place, part in enumerate(parts):
        if part.get("type") != "tool-approval-response":
            continue
        name, path = word(part.get("approvalId")), f"messages.{len(messages) - 1}.content.{place}"
        call = requested.get(name)
        if call is None:
            yield Violation("SDK-5", path, (), SDK_5.say(id=name))
        elif call not in calls and call not in answered:
            yield Violation("SDK-8", path, (), SDK_8.say(id=call, name=name))
        elif call not in answered:
            open_calls.pop(call, None)
    if open_calls:
        yield _unanswered(open_calls, open_ended=True)


def _calls(messages: list[dict[str, Any]]) -> set[str]:
    parts = [part for message in messages if message.get("role") == "assistant" for part in entries(message.get("content"))]
    return {word(part.get("toolCallId")) for part in parts if part.get("type") == "tool-call"}


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
