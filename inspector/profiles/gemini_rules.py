"""Gemini's rules, for models before 3 and for Gemini 3, which wants thought signatures back."""

from dataclasses import replace

from inspector.profiles.base import COUNTED_BY_PROVIDER, OVER_WINDOW, SHORTER, UNANSWERED, UNCALLED, ProviderRule

_SWEEP = "turn structures sent to every model, recorded in public on 2026-10-03"

GE_1 = ProviderRule(
    "GE-1",
    "a history that starts with calls",
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    "I",
    ("google-gemini/gemini-cli #26486", "google-gemini/gemini-cli #11814", "google/adk-python #1581"),
    cause=("A call is before any turn of the user. Usually the start of the history was cut off.",),
    advice="Model contents in a row are one turn: gemini-3 took a call in each of two, with both results after them, four times.",
    repaired_by=("move-results", "start-with-user", "merge-same-role-messages"),
)
GE_2 = ProviderRule(
    "GE-2",
    "responses that do not directly follow the calls",
    "Please ensure that function response turn comes immediately after a function call turn.",
    "I",
    ("langchain-ai/langchain #27799",),
    cause=("Another turn, usually a text of the user, is between the call and its response.",),
    repaired_by=UNCALLED,
)
GE_3 = ProviderRule(
    "GE-3",
    "not as many responses as calls",
    "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    "I",
    ("google-gemini/gemini-cli #17208", "google-gemini/gemini-cli #15568", "vertesia/llumiverse #620", "archestra-ai/archestra #7585"),
    cause=("After its calls, a turn of the model gets fewer or more responses than it has calls. Usually the run was interrupted.",),
    advice="Calls of model contents in a row are counted together. Results of one turn that are split over contents are refused (2.5-flash, 3.1-flash-lite, 3.7-flash).",
    repaired_by=(*UNANSWERED, "deduplicate-results", "keep-first-result", "drop-orphaned-results"),
)
GE_4 = ProviderRule(
    "GE-4",
    "a content without parts",
    "* GenerateContentRequest.contents[{n}].parts: contents.parts must not be empty.",
    "I",
    ("aaif-goose/goose #1458", "vercel/ai #3775", "envoyproxy/ai-gateway #2686"),
    also=("Unable to submit request because it must include at least one parts field, which describes the prompt input.",),
    repaired_by=("drop-empty-blocks",),
)
GE_5 = ProviderRule(
    "GE-5",
    "a part without data: neither text, call, result nor file, and no signature",
    "* GenerateContentRequest.contents[{n}].parts[{m}].data: required oneof field 'data' must have one initialized field",
    "I",
    ("router-for-me/CLIProxyAPI #1292", "envoyproxy/ai-gateway #2686"),
    also=("Unable to submit request because Model input cannot be empty.",),
    advice='{"text": ""} was accepted nine times (2.5-flash, 3-flash-preview), a thought of a signature alone by AI Studio and Vertex. '
    "Vertex says the second text of an input that is empty as a whole. That is not judged.",
    repaired_by=("drop-empty-blocks",),
)
GE_6 = ProviderRule(
    "GE-6",
    "the list ends with a model turn, and the model does not continue one",
    "Requests ending with a model turn are not supported.",
    "IR",
    ("envoyproxy/ai-gateway #2686", _SWEEP),
    date="2026-10",
    also=("Please ensure that multiturn requests ends with a user role or a function response.",),
    advice="Refused by 3.5-flash-lite and by 3.6 and later. 3-flash-preview, 3.1-flash-lite and 3.5-flash go on with the turn, and so do models of 2.5. "
    "Judged only where the model's name says which it is. The second text is of 2023.",
    repaired_by=("end-with-user",),
    at_end=True,
)
GE_7 = ProviderRule(
    "GE-7",
    "a response and user text in one content",
    "(status 400 without a known text: function response and other parts in one content)",
    "I",
    ("envoyproxy/ai-gateway #2686",),
    unjudged="one report, of Vertex only and without its text; a body does not say to which endpoint it goes",
    repaired_by=("order-blocks",),
)
GE_8 = ProviderRule(
    "GE-8",
    "a call of the current turn without its thought signature",
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing "
    "thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}`, position {n}.",
    "I",
    ("lbjlaq/Antigravity-Manager #139", "google/adk-js #149", "https://ai.google.dev/gemini-api/docs/thought-signatures"),
    also=(
        "Function call is missing a thought_signature in functionCall parts.",
        "Unable to submit request because function call `{name}` in the {n}. content block is missing a `thought_signature`.",
    ),
    advice="Of parallel calls only the first bears one, of sequential steps each. Turns before the last user text are not asked. "
    "There is no placeholder for a signature. With a long history the same fault was seen as: Request contains an invalid argument.",
)
GE_9 = ProviderRule(
    "GE-9",
    "a thought signature of another model or route",
    "Invalid thought signature.",
    "C",
    ("docs.apiyi.com",),
    also=("Corrupted thought signature.",),
    unjudged="whether a signature is genuine is known to the provider alone",
)
GE_10 = ProviderRule(
    "GE-10",
    "two contents of one role in a row",
    "Please ensure that multiturn requests alternate between user and model.",
    "IR",
    ("NousResearch/hermes-agent #55125", _SWEEP),
    date="2026-10",
    obsolete="accepted by every model of Gemini 3 that was asked, and the model saw both",
    repaired_by=("merge-same-role-messages",),
)
GE_11 = ProviderRule(
    "GE-11",
    "a role that is neither user nor model",
    "Please use a valid role: user, model.",
    "IR",
    ("songquanpeng/one-api #1385", "the-open-agent/openagent #1666", "blakeblackshear/frigate #24013", _SWEEP),
    date="2026-10",
    also=("Role '{role}' is not supported. Please use a valid role:",),
    advice="`function`, for results, is refused from 3.6 on. `system` was accepted by 3-flash-preview, 3.1-flash-lite and 3.5-flash, and is refused by "
    "3.5-flash-lite and by 3.6 and later. Where the model's name does not say, only a role that no model takes is claimed.",
    repaired_by=("system-first",),
)
GE_12 = ProviderRule(
    "GE-12",
    "more tokens than the model takes",
    "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit}).",
    "I",
    ("google-gemini/gemini-cli #6678", "google-gemini/gemini-cli #12098", "google-gemini/gemini-cli #22609", "arkavo-org/arkavo-edge #371"),
    also=(
        "The input token count exceeds the maximum number of tokens allowed ({limit}).",
        "The input token count exceeds the maximum number of tokens allowed {limit}",
    ),
    cause=(OVER_WINDOW,),
    advice=SHORTER,
    unjudged=COUNTED_BY_PROVIDER,
    is_of_size=True,
)

RULES = (
    *(GE_1, GE_2, GE_3, GE_4, GE_5),
    replace(GE_6, unjudged="models before 3 go on with a model turn; the text of 2023 is not seen any more"),
    GE_7,
    replace(GE_8, unjudged="only Gemini 3 asks for signatures: the profile gemini-3 judges it"),
    replace(GE_9, unjudged="only Gemini 3 checks signatures, and whether one is genuine is known to the provider alone"),
    GE_10,
    GE_11,
    GE_12,
)
RULES_3 = (GE_1, GE_2, GE_3, GE_4, GE_5, GE_6, GE_7, GE_8, GE_9, GE_10, GE_11, GE_12)
