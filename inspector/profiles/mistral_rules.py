"""Mistral's rules: texts of mistral-common, as it serves tokenizer v11 in 1.11.0 and v13 in 1.13.1."""

from dataclasses import replace

from inspector.profiles.base import UNANSWERED, UNCALLED, ProviderRule

UNEXPECTED_ID = "Unexpected tool call id {id} in tool results"
ID_ANSWERED_TWICE = "Duplicate tool call id {id} in tool results"
ID_CALLED_TWICE = "Duplicate tool call id {id} in assistant message"
MISSING_ID = "Tool call id has to be defined in serving mode."

MI_1 = ProviderRule(
    "MI-1",
    "not as many results as calls before the next assistant message or the end",
    "Not the same number of function calls and responses",
    "IX",
    ("mistralai/client-ts #106", "mistral-common"),
    cause=(
        "Between an assistant's calls and the next assistant message are fewer results than calls, or more of them (before tokenizer v11). "
        "Usually the run was interrupted, or a result was stored twice.",
    ),
    repaired_by=(*UNANSWERED, "deduplicate-results", "keep-first-result"),
)
MI_2 = ProviderRule(
    "MI-2",
    "a role that may not follow the one before it",
    "Unexpected role '{role}' after role '{previous}'",
    "IX",
    ("datapizza-labs/datapizza-ai #98", "charmbracelet/crush #279", "NousResearch/hermes-agent #20154", "mistral-common"),
    cause=("A message of role {role} comes directly after one of role {previous}.",),
    advice="mistral-common to 1.11.0 refuses a user message after a tool message too, as the API was reported to. The live API answers such a request with 200 now, "
    "and mistral-common 1.12.0 and later allow it: for what is sent to the API, the profile mistral is right.",
    repaired_by=(*UNCALLED, "insert-interrupted-result", "answer-before-user"),
)
MI_3 = ProviderRule(
    "MI-3",
    "the list ends with an assistant message",
    "Expected last role User or Tool (or Assistant with prefix or continue_final_message set to True) for serving but got assistant",
    "IX",
    ("0xPlaygrounds/rig #1130", "mistral-common"),
    also=(
        "Expected last role User or Tool (or Assistant with prefix) for serving but got",
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got",
        "Expected last role User or Tool (or Assistant with prefix or continue_final_message set to True) for serving but got",
    ),
    repaired_by=("end-with-user",),
    at_end=True,
)
MI_4 = ProviderRule(
    "MI-4",
    "a tool call id that is not nine letters and digits (tokenizer v3 to v11)",
    "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
    "X",
    ("mistral-common",),
    # An id with white space in it is no {id}.
    also=(
        "Tool call id was {given} but must be a-z, A-Z, 0-9, with a length of 9.",
        MISSING_ID,
        "tool_call_id must be provided for tool messages.",
    ),
    repaired_by=("shorten-ids", "drop-orphaned-results"),
)
MI_5 = ProviderRule(
    "MI-5",
    "text and calls in one assistant message, or neither (tokenizer v3)",
    "Assistant message must have either content or tool_calls, but not both.",
    "X",
    ("mistral-common",),
    unjudged="only tokenizer v3 asks it, and models of v7 and later are judged here",
)
MI_6 = ProviderRule(
    "MI-6",
    "a result of no call, a second result, or a call id twice in one message (tokenizer v11 and later)",
    UNEXPECTED_ID,
    "X",
    ("mistral-common",),
    also=(ID_ANSWERED_TWICE, ID_CALLED_TWICE),
    repaired_by=(
        "move-results",
        "deduplicate-results",
        "keep-first-result",
        "rename-repeated-ids",
        "adopt-results",
        "drop-orphaned-results",
        "start-with-user",
    ),
)
MI_7 = ProviderRule(
    "MI-7",
    "a system message after an assistant or tool message",
    "Unexpected role 'system' after role '{previous}'",
    "X",
    ("mistral-common",),
    also=("Unexpected role 'Roles.system' after role '{previous}'",),
    repaired_by=("system-first",),
)
MI_8 = ProviderRule(
    "MI-8",
    "the name of a called function is longer than 64, or has others than letters, digits, _ and -",
    "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.",
    "X",
    ("mistral-common",),
    repaired_by=("sanitize-tool-names",),
)
MI_9 = ProviderRule(
    "MI-9",
    "no message at all, or a single one that is neither the user's nor the system's",
    "Conversation must have at least one message",
    "X",
    ("mistral-common",),
    also=("Conversation must start with a user message or system message",),
    repaired_by=("start-with-user",),
)
MI_10 = ProviderRule(
    "MI-10",
    "a role that is not known",
    "Unknown message role: {role}",
    "X",
    ("mistral-common",),
)
MI_11 = ProviderRule(
    "MI-11",
    "a tool call id that is empty or `null` (tokenizer v13 and later)",
    "Tool call id must be a non-empty string other than 'null' for tokenizer version 13 or newer.",
    "X",
    ("mistral-common",),
    repaired_by=("rename-invalid-ids", "shorten-ids"),
)

MI_12 = ProviderRule(
    "MI-12",
    "a message of the user, the system or a tool whose content is missing or null",
    "Input should be a valid string",
    "X",
    ("mistral-common",),
    also=("'NoneType' object is not iterable",),
    advice="The texts are those of the libraries below the validator, so that other faults may say them too.",
    repaired_by=("drop-empty-blocks",),
)

MI_13 = ProviderRule(
    "MI-13",
    "a chunk of a type that its role does not have: thinking of the user, an image of the assistant or in the system prompt",
    "{chunk} cannot be used in {role} message.",
    "X",
    ("mistral-common",),
    also=("Input should be a valid string",),
    advice="The second text is that of 1.11.0, for other faults too. Types that mistral-common does not know, such as documents, are the API's own and are not judged.",
    repaired_by=("strip-thinking",),
)

_SHARED = (MI_5, MI_6, MI_7, MI_8, MI_9, MI_10)
STRICT_RULES = (
    MI_1,
    MI_2,
    MI_3,
    MI_4,
    *_SHARED,
    replace(MI_11, unjudged="only tokenizer v13 and later ask it, v11 wants more (MI-4)"),
    MI_12,
    MI_13,
)
RULES = (
    MI_1,
    replace(MI_2, advice="A user message may follow a tool message from mistral-common 1.12.0 on. The profile mistral-strict refuses it."),
    MI_3,
    replace(MI_4, obsolete="tokenizer v13 takes ids of any form"),
    *_SHARED,
    MI_11,
    MI_12,
    MI_13,
)
