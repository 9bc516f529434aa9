"""The AI SDK's rules, for ai 6 and ai 7, and those of its users whose texts are met next to them: langgraph's one, and gbrain's, which end a job before a request."""

from dataclasses import replace

from inspector.profiles.base import UNANSWERED, ProviderRule

ONE_MISSING = "Tool result is missing for tool call {ids}."

SDK_1 = ProviderRule(
    "SDK-1",
    "a call without a result in a tool message before the next user or system message, or before the end",
    "Tool results are missing for tool calls {ids}.",
    "X",
    ("ai 6.0.326", "ai 7.0.173", "ai 6.0.43 changelog 2dc9bfa"),
    also=(ONE_MISSING, "Tool results are missing for tool calls", "AI_MissingToolResultsError"),
    advice="AI_MissingToolResultsError. ai 5 and ai 6 before 6.0.43 never threw it. A result inside the assistant message is no answer.",
    repaired_by=("move-results", "adopt-results", "rename-repeated-ids", "insert-ledger-results", "insert-interrupted-result"),
)
SDK_2 = ProviderRule(
    "SDK-2",
    "an empty list",
    "messages must not be empty",
    "X",
    ("ai 6.0.326", "ai 7.0.173"),
    repaired_by=("start-with-user",),
)
SDK_3 = ProviderRule(
    "SDK-3",
    "a message that is no ModelMessage",
    "The messages do not match the ModelMessage[] schema.",
    "X",
    ("ai 6.0.326",),
    also=("The messages must be a ModelMessage[]. If you have passed a UIMessage[],",),
    advice="The second text is that of ai 5. Often a UIMessage, args and result of ai 4, or a result in a message of role user.",
    repaired_by=("drop-empty-blocks", "strip-thinking"),
)
SDK_4 = ProviderRule(
    "SDK-4",
    "a system message inside the list",
    "System messages are not allowed in the prompt or messages fields. Use the instructions option instead.",
    "X",
    ("ai 7.0.173",),
    also=("System messages are not allowed in the prompt or messages fields. Use the system option instead.",),
    repaired_by=("system-first",),
)
SDK_5 = ProviderRule(
    "SDK-5",
    "an approval that answers no request",
    'Tool approval response references unknown approvalId: "{id}". No matching tool-approval-request found in message history.',
    "X",
    ("ai 6.0.326", "ai 7.0.173"),
)
SDK_6 = ProviderRule(
    "SDK-6",
    "a role that is not known",
    'Invalid message role: \'{role}\'. Must be one of: "system", "user", "assistant", "tool".',
    "X",
    ("ai 7.0.173",),
)
SDK_7 = ProviderRule(
    "SDK-7",
    "a message or a part without the shape that its role has: a bare TypeError, for want of a schema",
    "Cannot read properties of null (reading 'filter')",
    "X",
    ("ai 7.0.173",),
    also=(
        "Cannot read properties of undefined (reading 'filter')",
        "Cannot read properties of null (reading 'map')",
        "Cannot read properties of undefined (reading 'map')",
        "content is not iterable",
        "message.content.map is not a function",
        "message.content.filter is not a function",
        "lastMessage.content.filter is not a function",
        "Cannot read properties of undefined (reading 'type')",
        "Cannot read properties of null (reading 'type')",
    ),
    advice="The text is the JavaScript engine's own, so that other faults may say it too.",
    repaired_by=("drop-empty-blocks",),
)
SDK_8 = ProviderRule(
    "SDK-8",
    "an approval of a call that is not in the list",
    'Tool call "{id}" not found for approval request "{name}".',
    "X",
    ("ai 6.0.326", "ai 7.0.173"),
    advice="AI_ToolCallNotFoundForApprovalError. Only the approvals of a tool message that ends the list are looked at.",
)
SDK_9 = ProviderRule(
    "SDK-9",
    "a part in a message of the user that is neither words nor an image and names no media type, as parts of other shapes do not",
    "Media type is missing for file part",
    "X",
    ("ai 7.0.173",),
    repaired_by=("strip-thinking",),
)
LG_1 = ProviderRule(
    "LG-1",
    "langgraph: a call whose id no tool message has, at whatever place",
    "Found AIMessages with tool_calls that do not have a corresponding ToolMessage.",
    "X",
    ("langgraph-prebuilt 1.1.2",),
    unjudged="langgraph asks it of its own state before a request is made; the text is recognized",
    advice="INVALID_CHAT_HISTORY. Order and duplicates are not looked at there: SDK-1 of this profile asks more.",
    repaired_by=UNANSWERED,
)

_OF_GBRAIN = "gbrain asks it of its ledger and its tools before a request is made; the text is recognized"
GB_1 = ProviderRule(
    "GB-1",
    "gbrain: a tool that may not run twice was running when the worker stopped, so that the job cannot go on",
    'non-idempotent tool "{tool}" pending on resume; cannot safely re-run',
    "C",
    ("gbrain 0.46.28, reconcileGatewayReplay and the gateway's loop",),
    date="2026-08",
    # A dash is before the words, which logs write in several ways.
    also=('non-idempotent tool "{tool}" pending on resume; gbrainToolUseId={uuid} {dash} cannot safely re-run',),
    unjudged=_OF_GBRAIN,
    advice="Find out whether the tool did its work, then give its call a result: with one in the history the job goes on, and the tool is not run again.",
    repaired_by=("insert-replay-result", "insert-recovered-result", "insert-plain-result"),
)
GB_2 = ProviderRule(
    "GB-2",
    "gbrain: the history calls a tool that the job is not given any more",
    'tool "{tool}" is not in the registry for this subagent',
    "C",
    ("gbrain 0.46.28, reconcileGatewayReplay and the gateway's loop",),
    date="2026-08",
    unjudged=_OF_GBRAIN,
    advice="It is kept as the error of that one call and does not end a job by itself: look at allowed_tools of the job, and at the plugins that were loaded.",
)

RULES_6 = (
    SDK_1,
    SDK_2,
    SDK_3,
    replace(SDK_4, unjudged="ai 6 only warns, unless the caller sets allowSystemInMessages to false"),
    SDK_5,
    replace(SDK_6, unjudged="ai 6 says the schema's error of such a message (SDK-3)"),
    replace(SDK_7, unjudged="ai 6 says the schema's error of such a message (SDK-3)"),
    SDK_8,
    replace(SDK_9, unjudged="ai 6 says the schema's error of such a message (SDK-3)"),
    LG_1,
    GB_1,
    GB_2,
)
RULES_7 = (
    SDK_1,
    SDK_2,
    replace(SDK_3, obsolete="ai 7 has no schema any more: such a message passes, or ends in a bare TypeError"),
    SDK_4,
    SDK_5,
    SDK_6,
    SDK_7,
    SDK_8,
    SDK_9,
    LG_1,
    GB_1,
    GB_2,
)
