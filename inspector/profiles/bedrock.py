"""Amazon Bedrock Converse: a call's results in the next turn, no empty content."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from inspector.profiles.base import COUNTED_BY_PROVIDER, SHORTER, UNANSWERED, Profile, ProviderRule, Request, Violation, violations_of
from inspector.profiles.bodies import by_place, entries, entry, word
from inspector.projections.base import BEDROCK

_SERVER_RUN = "server_tool_use"

RULES = (
    ProviderRule(
        "BR-1",
        "a call is not answered in what the user sends next",
        "Expected toolResult blocks at messages.{n}.content for the following Ids: {ids}",
        "I",
        ("genkit-ai/aws-bedrock-js-plugin #664", "agno-agi/agno #6694"),
        also=(
            "messages.{n}: Did not find {count} `tool_result` block(s) at the beginning of this message. "
            "Messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks.",
        ),
        cause=(
            "The {calls} in messages.{before} got no `toolResult` in messages.{n}. Usually the run was interrupted, or the result was stored later.",
            "A call in messages.{before} got no `toolResult` in messages.{n}. Usually the run was interrupted, or the result was stored later.",
        ),
        repaired_by=UNANSWERED,
    ),
    ProviderRule(
        "BR-2",
        "more results than the turn before has calls",
        "The number of toolResult blocks at messages.{n}.content exceeds the number of toolUse blocks of previous turn.",
        "I",
        ("strands-agents/harness-sdk #1435", "pydantic/pydantic-ai #2327"),
        cause=(
            "messages.{n} has more `toolResult` blocks than messages.{before} has calls. Usually a result was stored twice, or a call was cut off.",
        ),
        repaired_by=("move-results", "deduplicate-results", "keep-first-result", "adopt-results", "drop-orphaned-results"),
    ),
    ProviderRule(
        "BR-3",
        "a call id that occurs twice in one message",
        "The toolUse blocks at messages.{n}.content contain duplicate Ids: {ids}",
        "I",
        ("bvcyber/Cyber-AutoAgent-ng #72",),
        repaired_by=("rename-repeated-ids",),
    ),
    ProviderRule(
        "BR-4",
        "text next to results in one message",
        "messages.{n}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        "I",
        ("langchain-ai/langchain-aws #141",),
        date="2024",
        unjudged="reported in 2024 only; whether it still holds, and for which models, is not known",
        repaired_by=("order-blocks",),
    ),
    ProviderRule(
        "BR-5",
        "a message without content",
        "The content field in the Message object at messages.{n} is empty. Add a ContentBlock object to the content field and try again.",
        "I",
        ("Portkey-AI/gateway #995",),
        repaired_by=("drop-empty-blocks",),
    ),
    ProviderRule(
        "BR-6",
        "a failed result without content",
        "The content field at messages.{n}.content.{m}.toolResult cannot be empty when status value is error.",
        "I",
        ("aws-samples/sample-multi-agent-orchestration-chat-on-agentcore #15",),
        advice="the result is no more than its status: give it a text that says what failed",
    ),
    ProviderRule(
        "BR-7",
        "an empty text",
        "The text field in the ContentBlock object at messages.{n}.content.{m} is blank. Add text to the text field, and try again.",
        "I",
        ("openclaw/openclaw #72899", "openclaw/openclaw #73472", "openclaw/openclaw #72622"),
        repaired_by=("drop-empty-blocks",),
    ),
    ProviderRule(
        "BR-8",
        "a text of nothing but white space",
        "The model returned the following errors: messages: text content blocks must contain non-whitespace text",
        "IR",
        ("NousResearch/hermes-agent #63983", "NousResearch/hermes-agent #61318"),
        unjudged='it is a rule of the model itself: Claude refused " " as a whole message, and Claude Sonnet 4.5 took "\\n" between other texts with 200',
        repaired_by=("drop-empty-blocks",),
    ),
    ProviderRule(
        "BR-9",
        "more tokens than the model takes",
        "Input is too long for requested model.",
        "I",
        ("aws-samples/bedrock-chat #95", "continuedev/continue #9592", "aws-solutions/generative-ai-application-builder-on-aws #207"),
        advice=SHORTER,
        unjudged=COUNTED_BY_PROVIDER,
        is_of_size=True,
    ),
)

violation = violations_of(RULES)


def check(request: Request) -> Iterator[Violation]:
    """In order of place. BR-1 is reported at the message with the call, though its text counts the one after it."""
    yield from by_place(_violations([entry(message) for message in request.messages]))


def _violations(messages: list[dict[str, Any]]) -> Iterator[Violation]:
    for n, message in enumerate(messages):
        yield from _blocks(n, message)
    groups = _turns(messages)
    for place, (before, turn) in enumerate(pairwise(([], *groups, []))):
        answered = _ids(messages, turn, "toolResult") if _role(messages, turn) == "user" else []
        calls = _ids(messages, before, "toolUse") if _role(messages, before) == "assistant" else []
        if len(answered) > len(calls):
            yield violation("BR-2", f"messages.{_over(answered, len(calls))}", n=_over(answered, len(calls)))
        done = {call for _, call in answered}
        waiting: dict[int, dict[str, None]] = {}
        for n, call in calls:
            if call not in done:
                waiting.setdefault(n, {})[call] = None
        # Results may still come while nothing but results follows the calls.
        results_only = all("toolResult" in block for n in turn for block in entries(messages[n].get("content")))
        open_ended = place >= len(groups) - 1 and (not turn or _role(messages, turn) == "user") and results_only
        for n, ids in waiting.items():
            yield violation("BR-1", f"messages.{n}", open_ended, n=before[-1] + 1, ids=", ".join(ids))


def _turns(messages: list[dict[str, Any]]) -> list[list[int]]:
    """Indexes of neighbors of one role. Clients merge them; where one does not, nothing is known, and they are taken together."""
    groups: list[list[int]] = []
    for n in range(len(messages)):
        if groups and _role(messages, groups[-1]) == _role(messages, [n]):
            groups[-1].append(n)
        else:
            groups.append([n])
    return groups


def _role(messages: list[dict[str, Any]], turn: list[int]) -> str:
    return word(messages[turn[0]].get("role")) if turn else ""


def _ids(messages: list[dict[str, Any]], turn: list[int], kind: str) -> list[tuple[int, str]]:
    """Without calls that the provider runs itself: Nova's, whose results are in the same message of the assistant."""
    blocks = (
        (n, entry(block[kind]))
        for n in turn
        for block in entries(messages[n].get("content"))
        if kind in block and entry(block[kind]).get("type") != _SERVER_RUN
    )
    return [(n, word(block.get("toolUseId"))) for n, block in blocks]


def _over(answered: list[tuple[int, str]], calls: int) -> int:
    """The message with the first result that is one too many."""
    return answered[calls][0]


def _blocks(n: int, message: dict[str, Any]) -> Iterator[Violation]:
    if message.get("content") in ("", [], None):
        yield violation("BR-5", f"messages.{n}", n=n)
    seen_ids: set[str] = set()
    twice: dict[str, None] = {}
    for m, block in enumerate(entries(message.get("content"))):
        text = block.get("text")
        if text == "":
            yield violation("BR-7", f"messages.{n}.content.{m}", n=n, m=m)
        result = entry(block.get("toolResult"))
        if result.get("status") == "error" and result.get("content") in ([], None):
            yield violation("BR-6", f"messages.{n}.content.{m}.toolResult", n=n, m=m)
        if "toolUse" in block:
            call = word(entry(block["toolUse"]).get("toolUseId"))
            if call in seen_ids:
                twice[call] = None
            seen_ids.add(call)
    if twice:
        yield violation("BR-3", f"messages.{n}", n=n, ids=", ".join(twice))


BEDROCK_PROFILE = Profile(
    "bedrock",
    "Amazon Bedrock Converse",
    "Rules of the model itself (signatures, order of blocks, the last role, names and ids) are not judged: only what Converse itself was seen to refuse.",
    RULES,
    check,
    wire=BEDROCK,
    models=("bedrock", "anthropic.", "us.", "eu.", "apac.", "global."),
)

OFFERED = (BEDROCK_PROFILE,)
