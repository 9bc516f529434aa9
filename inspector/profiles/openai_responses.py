"""OpenAI Responses: calls and outputs, reasoning items and the item that follows them, ids of items."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from inspector.profiles.base import UNANSWERED, UNCALLED, Profile, ProviderRule, Request, Violation
from inspector.profiles.bodies import by_place, entry, word
from inspector.projections.base import OPENAI_RESPONSES
from inspector.projections.openai_responses import refers_to_call

LONGEST_CALL_ID = 64
_ID = re.compile(r"[A-Za-z0-9_-]+")
_PREFIX = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = tuple(f"{kind}_output" for kind in _CALLS)
# What a model may put out behind its reasoning; anything that the client says or answers is no such item.
_ANSWERS = frozenset({"message", "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output"})

OR_1 = ProviderRule(
    "OR-1",
    "a function call without its output",
    "No tool output found for function call {id}.",
    "I",
    "2026-07",
    ("CLIProxyAPI #2368", "frontman #1592", "Wei-Shaw/sub2api #5150", "OmniRoute #8946"),
    also=("No tool output found for custom tool call {id}.",),
    mended_by=UNANSWERED,
)
OR_2 = ProviderRule(
    "OR-2",
    "an output without its function call",
    "No tool call found for function call output with call_id {id}.",
    "I",
    "2026-07",
    ("continue #10092", "microsoft/vscode #320060", "Codex-Manager #476"),
    also=("No tool call found for custom tool call output with call_id {id}.",),
    advice="With previous_response_id or an item_reference the call may stand in what the provider stored: such an output is not judged here.",
    mended_by=UNCALLED,
)
OR_3 = ProviderRule(
    "OR-3",
    "a reasoning item without the item that it led to",
    "Item '{id}' of type 'reasoning' was provided without its required following item.",
    "I",
    "2026-07",
    ("continue #8933", "vercel/ai #7099", "openai-node #1567"),
    mended_by=("strip-thinking",),
)
OR_4 = ProviderRule(
    "OR-4",
    "an item without the reasoning that led to it",
    "Item '{id}' of type '{type}' was provided without its required 'reasoning' item: '{other}'.",
    "I",
    "2026-07",
    ("continue #11994", "continue #12620"),
    unjudged="which reasoning item an item was made with is known to the provider alone; of function_call items the refusal is not confirmed",
    advice="A client dropped reasoning and kept the ids of the items behind it: send both, or the items without their ids.",
    mended_by=("strip-thinking",),
)
OR_5 = ProviderRule(
    "OR-5",
    "the same item twice",
    "Duplicate item found with id {id}. Remove duplicate items from your input and try again.",
    "C",
    "2026-07",
    ("several public repositories",),
)
OR_6 = ProviderRule(
    "OR-6",
    "an item's id starts as those of another kind do",
    "Invalid 'input[{n}].id': '{id}'. Expected an ID that begins with '{prefix}'.",
    "I",
    "2026-07",
    ("openai/codex #33176", "nodetool #4252", "cockpit-tools #2090"),
)
OR_7 = ProviderRule(
    "OR-7",
    "an item's id is empty or holds other characters",
    "Invalid 'input[{n}].id': '{id}'. Expected an ID that contains letters, numbers, underscores, or dashes, "
    "but this value contained additional characters.",
    "I",
    "2026-07",
    ("langchainjs #11044",),
    # An id with white space in it is no {id}.
    also=("Invalid 'input[{n}].id': '{given}'. Expected an ID that contains letters, numbers, underscores, or dashes",),
)
OR_8 = ProviderRule(
    "OR-8",
    f"a call id longer than {LONGEST_CALL_ID} characters",
    "Invalid 'input[{n}].call_id': string too long. Expected a string with maximum length {limit}, but got a string with length {length} instead.",
    "I",
    "2026-07",
    ("AnswerDotAI/fastllm #45",),
    mended_by=("rename-invalid-ids",),
)
OR_9 = ProviderRule(
    "OR-9",
    "a reference to an item that was not stored",
    "Item with id '{id}' not found. Items are not persisted when `store` is set to false",
    "I",
    "2026-07",
    ("opencode #7724",),
    unjudged="what the provider has stored cannot be seen in a request",
    mended_by=("strip-thinking",),
)

RULES = (OR_1, OR_2, OR_3, OR_4, OR_5, OR_6, OR_7, OR_8, OR_9)


def check(request: Request) -> Iterator[Violation]:
    """One pass over the items; what only the end of the list decides is told where it began."""
    yield from by_place(_found(request))


def _found(request: Request) -> Iterator[Violation]:
    calls: dict[str, tuple[int, str]] = {}
    answered: set[str] = set()
    continued = request.continued
    seen: set[str] = set()
    last_said = -1
    reasoning: tuple[int, str] | None = None
    for index, item in enumerate(map(entry, request.messages)):
        kind = word(item.get("type")) or ("message" if "role" in item else "")
        if reasoning is not None and _is_the_clients(item, kind):
            yield _led_nowhere(*reasoning, open_ended=False)
        reasoning = (index, word(item.get("id"))) if kind == "reasoning" else None
        if kind == "message":
            last_said = index
        call = word(item.get("call_id"))
        continued = continued or refers_to_call(item)
        if kind in (*_CALLS, *_OUTPUTS) and len(call) > LONGEST_CALL_ID:
            yield Violation("OR-8", f"input.{index}", (), OR_8.say(n=index, limit=LONGEST_CALL_ID, length=len(call)))
        if kind in _CALLS:
            calls.setdefault(call, (index, kind))
        elif kind in _OUTPUTS and call in calls:
            answered.add(call)
        elif kind in _OUTPUTS and not continued:
            yield Violation("OR-2", f"input.{index}", (), _told(OR_2, kind, call))
        yield from _of_ids(index, item, kind, seen)
    if reasoning is not None:
        yield _led_nowhere(*reasoning, open_ended=True)
    for call, (index, kind) in calls.items():
        if call not in answered:
            yield Violation("OR-1", f"input.{index}", (), _told(OR_1, kind, call), index > last_said)


def _told(rule: ProviderRule, kind: str, call: str) -> str:
    """Of a custom tool's call or output in the other wording of the rule."""
    return (replace(rule, text=rule.also[0]) if kind.startswith("custom") else rule).say(id=call)


def _is_the_clients(item: dict[str, Any], kind: str) -> bool:
    return kind in _ANSWERS and not (kind == "message" and item.get("role") == "assistant")


def _led_nowhere(index: int, item_id: str, open_ended: bool) -> Violation:
    return Violation("OR-3", f"input.{index}", (), OR_3.say(id=item_id), open_ended)


def _of_ids(index: int, item: dict[str, Any], kind: str, seen: set[str]) -> Iterator[Violation]:
    """Only what the model put out bears an id of the provider; a client's own message has none."""
    item_id = item.get("id")
    if kind not in _PREFIX or not isinstance(item_id, str):
        return
    if not _ID.fullmatch(item_id):
        yield Violation("OR-7", f"input.{index}", (), OR_7.say(n=index, id=item_id))
    elif not item_id.startswith(_PREFIX[kind]):
        yield Violation("OR-6", f"input.{index}", (), OR_6.say(n=index, id=item_id, prefix=_PREFIX[kind]))
    if item_id and item_id in seen:
        yield Violation("OR-5", f"input.{index}", (), OR_5.say(id=item_id))
    seen.add(item_id)


OPENAI_RESPONSES_PROFILE = Profile(
    "openai-responses",
    "OpenAI Responses",
    "Stored items, encrypted reasoning, which reasoning led to which item, sizes of images and of the whole are not judged.",
    RULES,
    check,
    wire=OPENAI_RESPONSES,
    models=("openai", "gpt", "o1", "o3", "o4", "codex"),
)

OFFERED = (OPENAI_RESPONSES_PROFILE,)
