"""OpenAI Responses: calls and outputs, reasoning items and the item that follows them, ids of items."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from inspector.profiles.base import UNANSWERED, UNCALLED, Profile, ProviderRule, Request, Violation
from inspector.profiles.bodies import by_place, entry, word
from inspector.profiles.openai_chat_rules import DOTS, NAME_PATTERN, TAKEN_NAME, TOO_LONG
from inspector.projections.base import OPENAI_RESPONSES
from inspector.projections.openai_responses import CALL_TYPES, FUNCTION, OUTPUT_TYPES, is_client_run, refers_to_call

LONGEST_CALL_ID = 64
_ID = re.compile(r"[A-Za-z0-9_-]+")
_PREFIX = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_WORDS_OF_OUTPUT = {call_type.output: f"{call_type.words} output" for call_type in CALL_TYPES.values()}
_OTHERS = [call_type.words for kind, call_type in CALL_TYPES.items() if kind != FUNCTION]

OR_1 = ProviderRule(
    "OR-1",
    "a call that the client runs (of a function, a custom tool, a shell, a patch, a search for tools, a computer) without its output",
    "No tool output found for function call {id}.",
    "I",
    (
        "router-for-me/CLIProxyAPI #2368",
        "frontman #1592",
        "Wei-Shaw/sub2api #5150",
        "diegosouzapw/OmniRoute #8946",
        "openai/openai-agents-python #1855",
        "microsoft/agent-framework #8663",
    ),
    also=tuple(f"No tool output found for {words} {{id}}." for words in _OTHERS),
    repaired_by=UNANSWERED,
    is_of_all=True,
)
OR_2 = ProviderRule(
    "OR-2",
    "an output without its call",
    "No tool call found for function call output with call_id {id}.",
    "I",
    ("continuedev/continue #10092", "microsoft/vscode #320060", "Codex-Manager #476"),
    also=tuple(f"No tool call found for {words} output with call_id {{id}}." for words in _OTHERS),
    advice="With previous_response_id or an item_reference the call may be in what the provider stored: such an output is not judged here.",
    repaired_by=UNCALLED,
    is_of_all=True,
)
OR_3 = ProviderRule(
    "OR-3",
    "a reasoning item without the item that it led to",
    "Item '{id}' of type 'reasoning' was provided without its required following item.",
    "I",
    (
        "continuedev/continue #8933",
        "vercel/ai #7099",
        "openai/openai-node #1567",
        "mastra-ai/mastra #11103",
        "OpenHands/software-agent-sdk #1754",
    ),
    advice="The item that followed is known by its own id: an assistant message without one is not it. Reasoning without an id, with its "
    "encrypted content, asks for no item.",
    repaired_by=("strip-thinking",),
)
OR_4 = ProviderRule(
    "OR-4",
    "an item without the reasoning that led to it",
    "Item '{id}' of type '{type}' was provided without its required 'reasoning' item: '{other}'.",
    "I",
    ("continuedev/continue #11994", "continuedev/continue #12620"),
    unjudged="which reasoning item an item was made with is known to the provider alone; of function_call items the refusal is not confirmed",
    advice="A client dropped reasoning and kept the ids of the items after it: send both, or the items without their ids.",
    repaired_by=("strip-thinking",),
)
OR_5 = ProviderRule(
    "OR-5",
    "the same item twice",
    "Duplicate item found with id {id}. Remove duplicate items from your input and try again.",
    "C",
    ("several public repositories",),
)
OR_6 = ProviderRule(
    "OR-6",
    "an item's id starts as those of another kind do",
    "Invalid 'input[{n}].id': '{id}'. Expected an ID that begins with '{prefix}'.",
    "I",
    ("openai/codex #33176", "nodetool-ai/nodetool #4252", "jlcodes99/cockpit-tools #2090"),
)
OR_7 = ProviderRule(
    "OR-7",
    "an item's id is empty or holds other characters",
    "Invalid 'input[{n}].id': '{id}'. Expected an ID that contains letters, numbers, underscores, or dashes, "
    "but this value contained additional characters.",
    "I",
    ("langchain-ai/langchainjs #11044",),
    # An id with white space in it is no {id}.
    also=("Invalid 'input[{n}].id': '{given}'. Expected an ID that contains letters, numbers, underscores, or dashes",),
)
OR_8 = ProviderRule(
    "OR-8",
    f"a call id longer than {LONGEST_CALL_ID} characters",
    "Invalid 'input[{n}].call_id': string too long. Expected a string with maximum length {limit}, but got a string with length {length} instead.",
    "I",
    ("AnswerDotAI/fastllm #45",),
    repaired_by=("rename-invalid-ids",),
)
OR_9 = ProviderRule(
    "OR-9",
    "a reference to an item that was not stored",
    "Item with id '{id}' not found. Items are not persisted when `store` is set to false",
    "I",
    ("anomalyco/opencode #7724",),
    unjudged="what the provider has stored cannot be seen in a request",
    repaired_by=("strip-thinking",),
)

OR_10 = ProviderRule(
    "OR-10",
    "a call or output with an empty call id",
    "Invalid 'input[{n}].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.",
    "I",
    ("earendil-works/pi #2917", "EKKOLearnAI/hermes-studio #328", "BigPizzaV3/CodexPlusPlus #315"),
    repaired_by=("rename-invalid-ids",),
)

OR_11 = ProviderRule(
    "OR-11",
    "the name of a called function has others than letters, digits, _ and -",
    f"Invalid 'input[{{n}}].name': {NAME_PATTERN}",
    "I",
    ("openclaw/openclaw #8595", "openclaw/openclaw #25728", "openclaw/openclaw #23324"),
    advice=DOTS,
    repaired_by=("sanitize-tool-names",),
)

RULES = (OR_1, OR_2, OR_3, OR_4, OR_5, OR_6, OR_7, OR_8, OR_9, OR_10, OR_11, TOO_LONG)


def check(request: Request) -> Iterator[Violation]:
    """One pass over the items; what only the end of the list decides is reported where it began."""
    yield from by_place(_violations(request))


def _violations(request: Request) -> Iterator[Violation]:
    calls: dict[str, tuple[int, str]] = {}
    answered: set[str] = set()
    run_by_provider: set[str] = set()
    continued = request.continued
    seen_ids: set[str] = set()
    last_message = -1
    reasoning: tuple[int, str] | None = None
    for index, item in enumerate(map(entry, request.messages)):
        kind = word(item.get("type")) or ("message" if "role" in item else "")
        if reasoning is not None and _cannot_follow(item, kind):
            yield _led_nowhere(*reasoning, open_ended=False)
        item_id = word(item.get("id"))
        reasoning = (index, item_id) if kind == "reasoning" and item_id else None
        if kind == "message":
            last_message = index
        call = word(item.get("call_id"))
        continued = continued or refers_to_call(item)
        if (kind in CALL_TYPES or kind in OUTPUT_TYPES) and len(call) > LONGEST_CALL_ID:
            yield Violation("OR-8", f"input.{index}", (), OR_8.say(n=index, limit=LONGEST_CALL_ID, length=len(call)))
        if item.get("call_id") == "" and (is_client_run(item) or kind in OUTPUT_TYPES):
            yield Violation("OR-10", f"input.{index}", (), OR_10.say(n=index))
        if kind == FUNCTION and not TAKEN_NAME.fullmatch(word(item.get("name"))):
            yield Violation("OR-11", f"input.{index}", (), OR_11.say(n=index))
        if is_client_run(item):
            calls.setdefault(call, (index, CALL_TYPES[kind].words))
        elif kind in CALL_TYPES:
            run_by_provider.add(call)
        elif kind in OUTPUT_TYPES and call in calls:
            answered.add(call)
        elif kind in OUTPUT_TYPES and not continued and call not in run_by_provider and item.get("execution") != "server":
            yield Violation("OR-2", f"input.{index}", (), _in_words(OR_2, _WORDS_OF_OUTPUT[kind], call))
        yield from _of_ids(index, item, kind, seen_ids)
    if reasoning is not None:
        yield _led_nowhere(*reasoning, open_ended=True)
    for call, (index, words) in calls.items():
        if call not in answered:
            yield Violation("OR-1", f"input.{index}", (), _in_words(OR_1, words, call), index > last_message)


def _in_words(rule: ProviderRule, words: str, call: str) -> str:
    """The wording of the rule for this type of items."""
    wording = next((text for text in (rule.text, *rule.also) if f" for {words} " in text), rule.text)
    return replace(rule, text=wording).say(id=call)


def _cannot_follow(item: dict[str, Any], kind: str) -> bool:
    """Whether the item is not one that the model put out after its reasoning: the client's own words and outputs, and an answer without its id."""
    if kind == "message":
        return item.get("role") != "assistant" or not word(item.get("id"))
    return kind in OUTPUT_TYPES


def _led_nowhere(index: int, item_id: str, open_ended: bool) -> Violation:
    return Violation("OR-3", f"input.{index}", (), OR_3.say(id=item_id), open_ended)


def _of_ids(index: int, item: dict[str, Any], kind: str, seen_ids: set[str]) -> Iterator[Violation]:
    """Only what the model put out bears an id of the provider; a client's own message has none."""
    item_id = item.get("id")
    if kind not in _PREFIX or not isinstance(item_id, str):
        return
    if not _ID.fullmatch(item_id):
        yield Violation("OR-7", f"input.{index}", (), OR_7.say(n=index, id=item_id))
    elif not item_id.startswith(_PREFIX[kind]):
        yield Violation("OR-6", f"input.{index}", (), OR_6.say(n=index, id=item_id, prefix=_PREFIX[kind]))
    if item_id and item_id in seen_ids:
        yield Violation("OR-5", f"input.{index}", (), OR_5.say(id=item_id))
    seen_ids.add(item_id)


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
