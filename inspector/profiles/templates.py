"""Chat templates of open models: the openai-chat request as the template of Ministral 3 reads it, which wants turns to alternate."""

from collections.abc import Iterator
from typing import Any

from inspector.profiles.base import UNCALLED, Profile, ProviderRule, Request, Violation
from inspector.profiles.bodies import entry, word
from inspector.projections.base import OPENAI_CHAT

_SOURCE = ("mistralai-Ministral-3-14B-Reasoning-2512.jinja, as llama-cpp-python 0.3.36 ships it",)

TE_1 = ProviderRule(
    "TE-1",
    "messages of the user and of the assistant do not take turns (calls and results aside)",
    "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
    "X",
    _SOURCE,
    also=(
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
        "After the optional system message, conversation roles must alternate",
    ),
    repaired_by=(
        *(
            "move-results",
            "adopt-results",
            "merge-same-role-messages",
            "start-with-user",
            "answer-before-user",
            "insert-interrupted-result",
        ),
        *("thinking-to-text", "strip-thinking", "deduplicate-results", "keep-first-result", "drop-orphaned-results"),
    ),
)
TE_2 = ProviderRule(
    "TE-2",
    "a tool message without a call before it",
    "Message has tool role, but there was no previous assistant message with a tool call!",
    "X",
    ("templates of gpt-oss and MiniMax M2",),
    unjudged="the template of Ministral 3 does not ask it; those of gpt-oss and MiniMax M2 do",
    repaired_by=UNCALLED,
)
TE_3 = ProviderRule(
    "TE-3",
    "several calls in one message",
    "This model only supports single tool-calls at once!",
    "X",
    ("templates of Llama 3.1 to 3.3",),
    unjudged="the template of Ministral 3 does not ask it; those of Llama 3.1 to 3.3 do",
)
TE_4 = ProviderRule(
    "TE-4",
    "an assistant message with neither content, thinking nor calls",
    "Assistant message must have a string or a list of chunks in content or a list of tool calls.",
    "X",
    _SOURCE,
    repaired_by=("drop-empty-blocks", "thinking-to-text"),
)
TE_5 = ProviderRule(
    "TE-5",
    "a role that the template does not know, or a system message that is not the first",
    "Only user, assistant and tool roles are supported, got {role}.",
    "X",
    _SOURCE,
    repaired_by=("system-first", "merge-same-role-messages"),
)
TE_6 = ProviderRule(
    "TE-6",
    "a user message without content, or with a chunk that is neither text nor image",
    "User message must have a string or a list of chunks in content",
    "X",
    _SOURCE,
    also=("Only text, image and image_url chunks are supported in user message content.",),
    repaired_by=("drop-empty-blocks",),
)
TE_7 = ProviderRule(
    "TE-7",
    "a chunk of an assistant or system message that is neither text nor thinking",
    "Only text and thinking chunks are supported in assistant message contents.",
    "X",
    _SOURCE,
    also=("Only text and thinking chunks are supported in system message contents.",),
)
TE_8 = ProviderRule(
    "TE-8",
    "a call id that is not nine characters long",
    "Tool call IDs should be alphanumeric strings with length 9!",
    "X",
    ("templates of Mistral Nemo and Mistral Small 3.2",),
    unjudged="the template of Ministral 3 does not ask it; the profile mistral-strict does",
    repaired_by=("shorten-ids",),
)

RULES = (TE_1, TE_2, TE_3, TE_4, TE_5, TE_6, TE_7, TE_8)


def check(request: Request) -> Iterator[Violation]:
    """One pass. A violation of turns is reported once: what follows is judged from the turn that was wrong."""
    awaited = "user"
    for index, message in enumerate(map(entry, request.messages)):
        role, content = word(message.get("role")), message.get("content")
        calls = message.get("tool_calls")
        called = isinstance(calls, (list, dict, str)) and len(calls) > 0
        if role == "system" and index == 0:
            yield from _chunks(index, content, ("text", "thinking"), Violation("TE-7", "", (), TE_7.also[0]))
            continue
        if role == "user" or (role == "assistant" and not called):
            if role != awaited:
                yield Violation("TE-1", f"messages.{index}", (), TE_1.text)
            awaited = "assistant" if role == "user" else "user"
        if role == "user":
            if isinstance(content, list) and not content:
                yield Violation("TE-6", f"messages.{index}", (), TE_6.text)
            yield from _chunks(index, content, ("text", "image", "image_url"), Violation("TE-6", "", (), TE_6.also[0]))
        elif role == "assistant":
            # A server hands reasoning to the template as a chunk of thinking, which it renders without any text too.
            if not content and not called and not isinstance(message.get("reasoning_content"), str):
                yield Violation("TE-4", f"messages.{index}", (), TE_4.text)
            yield from _chunks(index, content, ("text", "thinking"), Violation("TE-7", "", (), TE_7.text))
        elif role != "tool":
            yield Violation("TE-5", f"messages.{index}", (), TE_5.say(role=role))


def _chunks(index: int, content: Any, allowed: tuple[str, ...], violation: Violation) -> Iterator[Violation]:
    """The template reads a list chunk by chunk, and anything else as text."""
    for place, chunk in enumerate(content if isinstance(content, list) else []):
        if word(entry(chunk).get("type")) not in allowed:
            yield Violation(violation.id, f"messages.{index}.content.{place}", (), violation.text)


ALTERNATING_TEMPLATE = Profile(
    "alternating-template",
    "The chat template of Ministral 3 14B Reasoning 2512 (open models whose templates want alternating turns)",
    "One template is judged as it is: others ask less (alternation of calls) or more (nine-character ids, one call a turn). "
    "A content of null is read as an empty text, and reasoning as a chunk of thinking, as servers hand them to templates. "
    "llama.cpp makes chunks of texts too, and so renders an empty answer, which others refuse (TE-4).",
    RULES,
    check,
    wire=OPENAI_CHAT,
    models=("ministral", "mistralai"),
    projection="openai-chat+reasoning",
)

OFFERED = (ALTERNATING_TEMPLATE,)
