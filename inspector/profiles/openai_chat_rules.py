"""The dated table of what OpenAI Chat Completions refuses, and the same refusals in the words of others that speak its wire shape."""

import re
from dataclasses import replace

from inspector.profiles.base import COUNTED_BY_PROVIDER, OVER_WINDOW, SHORTER, UNANSWERED, UNCALLED, ProviderRule, violations_of

_UNANSWERED = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
_NO_RESULT = "Usually the run was interrupted, the result was stored later, or the history was cut."
_NO_CALL = "Usually the call was cut off with older history, or is read as part of another message."
_ELSEWHERE = "another provider's words for {}, by which it is judged"

TOO_LONG = ProviderRule(
    "OC-9",
    "more tokens than the model takes",
    "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens",
    "I",
    ("dimagi/open-chat-studio #463", "bytedance/deer-flow #310", "The-Vibe-Company/quivr #505", "openai/codex #3177"),
    also=(
        "This model's maximum context length is {limit} tokens. However, you requested {count} tokens "
        "({tokens} in the messages, {output} in the completion)",
        "This model's maximum context length is {limit} tokens. However, you requested {tokens} tokens",
        "Your input exceeds the context window of this model",
        "context_length_exceeded",
    ),
    cause=(OVER_WINDOW,),
    advice=SHORTER,
    unjudged=COUNTED_BY_PROVIDER,
    is_of_size=True,
)
"""Of both APIs of OpenAI."""
NAME_PATTERN = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
DOTS = (
    "The model wrote a name of its own, and the call goes to no tool. For the names of tools a pattern with a dot was reported too "
    "(danishjsheikh/swagger-mcp #13), so that a dot is not held against a history"
)
TAKEN_NAME = re.compile(r"[A-Za-z0-9_.-]*")
"""An empty name is not judged: no text about one is known."""
RULES = (
    ProviderRule(
        "OC-1",
        "a call is not answered directly after its message",
        _UNANSWERED + " The following tool_call_ids did not have response messages: {ids}",
        "I",
        ("router-for-me/CLIProxyAPI #2798", "tidyverse/ellmer #459", "BerriAI/litellm #10083"),
        cause=(
            "The assistant's {calls} got no tool message directly after it. " + _NO_RESULT,
            "A call of the assistant got no tool message directly after it. " + _NO_RESULT,
        ),
        repaired_by=UNANSWERED,
    ),
    ProviderRule(
        "OC-2",
        "a tool message without calls before it",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "I",
        ("miurla/morphic #136", "dimagi/open-chat-studio #1659"),
        cause=("A tool message has no call directly before it. " + _NO_CALL,),
        repaired_by=UNCALLED,
    ),
    ProviderRule(
        "OC-3",
        "a tool message whose id is not among the calls before it",
        "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message.",
        "C",
        ("several public repositories",),
        cause=("The tool message for {id} comes after a message that does not have this call. " + _NO_CALL,),
        repaired_by=UNCALLED,
    ),
    ProviderRule(
        "OC-4",
        "a call id of more than 64 characters",
        "Invalid 'messages[{n}].tool_calls[{m}].id': string too long. Expected a string with maximum length {limit}, "
        "but got a string with length {length} instead.",
        "I",
        ("vercel/ai #8132", "camel-ai/camel #2215", "anomalyco/opencode #12653", "openclaw/openclaw #875"),
        advice="limits of 40 and of 64 were reported. Ids of 41 to 64 characters could be sent in July 2026 and are not held against a history",
        repaired_by=("rename-invalid-ids", "shorten-ids"),
    ),
    ProviderRule(
        "OC-5",
        "an empty list of calls",
        "Invalid 'messages[{n}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "I",
        ("openai/openai-node #1341",),
        repaired_by=("drop-empty-blocks",),
    ),
    ProviderRule(
        "OC-6",
        "a message without content, and without calls in its stead",
        "Invalid value for 'content': expected a string, got null.",
        "I",
        ("docker/docker-agent #63",),
        also=("Invalid value for 'messages[{n}].content': expected a string, got null.",),
        repaired_by=("drop-empty-blocks",),
    ),
    ProviderRule(
        "OC-7",
        "one role twice in a row, another first or last role, two results for one call",
        "(no text is known: order of roles, two results for one call)",
        "R",
        ("turn structures sent to every model, recorded in public on 2026-10-03",),
        date="2026-10",
        unjudged="any order of roles, and any last one, was accepted by all 26 models that were asked; no report of a refusal of two results was found",
    ),
    ProviderRule(
        "OC-8",
        "the arguments of a call are no string",
        "Invalid type for 'messages[{n}].tool_calls[{m}].function.arguments': expected a string, but got {kind} instead.",
        "I",
        ("aaif-goose/goose-mobile #20",),
        repaired_by=("sanitize-arguments",),
    ),
    TOO_LONG,
    ProviderRule(
        "OC-10",
        "the name of a called function has others than letters, digits, _ and -",
        f"Invalid 'messages[{{n}}].tool_calls[{{m}}].function.name': {NAME_PATTERN}",
        "I",
        ("mcp-use/mcp-use #90",),
        advice=DOTS,
        repaired_by=("sanitize-tool-names",),
    ),
)

# Who pastes such a text has the history of an OpenAI-compatible endpoint, and this is the table that explains it.
ELSEWHERE = (
    ProviderRule(
        "OV-2",
        "DashScope (Qwen): a call is not answered directly after its message",
        "<400> InternalError.Algo.InvalidParameter: " + _UNANSWERED,
        "I",
        ("QwenLM/qwen-code #606",),
        also=("InternalError.Algo.InvalidParameter: {what}tool_calls",),
        unjudged=_ELSEWHERE.format("OC-1"),
        judged_as="OC-1",
        repaired_by=UNANSWERED,
    ),
    ProviderRule(
        "OV-3",
        "Moonshot: a call is not answered directly after its message",
        "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
        "I",
        ("MoonshotAI/kimi-cli #2405",),
        unjudged=_ELSEWHERE.format("OC-1"),
        judged_as="OC-1",
        repaired_by=UNANSWERED,
    ),
    ProviderRule(
        "OV-3r",
        "Moonshot: a tool message whose id is not among the calls before it",
        "tool_call_id {id} is not found",
        "C",
        ("public code",),
        also=("tool_call_id is not found",),
        unjudged=_ELSEWHERE.format("OC-3"),
        judged_as="OC-3",
        repaired_by=UNCALLED,
    ),
    replace(
        TOO_LONG,
        id="OV-5",
        summary="OpenRouter: more tokens than the model takes",
        text="This endpoint's maximum context length is {limit} tokens. However, you requested about {tokens} tokens",
        references=("refly-ai/refly #1177",),
        also=(),
    ),
)

violation = violations_of(RULES)
