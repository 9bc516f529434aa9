"""Which passes OpenClaw 2026.9.6 runs over a history before a request, by api, provider and model: `resolveTranscriptPolicy` as rows of a table."""

import re
from dataclasses import dataclass, replace

RESPONSES = ("openai-responses", "openai-chatgpt-responses", "openai-codex-responses", "azure-openai-responses")


@dataclass(frozen=True, slots=True)
class Policy:
    """`ids`: "" (as they are), "strict" or "strict9"; `native_ids`: the first use of a `toolu_` id stays; `signatures`: thinking is sent signed or not at all;
    `own_thinking`: a turn with thinking is sent whole or not at all; `gemini`, `anthropic`: the checks of turns; `bootstrap`: a user message goes before
    an answer that comes first; `responses`: the family of OpenAI Responses, with its own words for a missing result;
    `merges_users`: neighboring user messages are one."""

    name: str = "any other api"
    ids: str = ""
    native_ids: bool = False
    signatures: bool = False
    drops_thinking: bool = False
    drops_reasoning: bool = False
    own_thinking: bool = False
    gemini: bool = False
    anthropic: bool = False
    bootstrap: bool = False
    responses: bool = False
    merges_users: bool = True


_ANTHROPIC = Policy("anthropic", ids="strict", signatures=True, anthropic=True)
_GOOGLE = Policy("google", ids="strict", gemini=True, bootstrap=True)
_COMPLETIONS = Policy("openai-completions", ids="strict", drops_reasoning=True, gemini=True, anthropic=True, bootstrap=True)
_OF_API = {
    "anthropic-messages": _ANTHROPIC,
    "bedrock-converse-stream": replace(_ANTHROPIC, name="bedrock"),
    "google-generative-ai": _GOOGLE,
    "google-gemini-cli": _GOOGLE,
    "google-vertex": _GOOGLE,
    "openai-completions": _COMPLETIONS,
    "mistral-conversations": Policy("mistral", ids="strict9"),
    **dict.fromkeys(RESPONSES, Policy("openai-responses", responses=True)),
}
_CLAUDE = re.compile(r"(?:^|[./:_-])claude(?:$|[./:_-])")
_KEEPS_THINKING = re.compile(r"(?:^|-)claude-(?:fable-5|mythos-(?:5|preview)|opus-(?:4-[5-8]|5)|sonnet-(?:5|4-6))(?=$|[^a-z0-9])")
_BINDS_PREFIX = re.compile(r"claude-(?:opus-5-5|fable-5-1)(?=$|[^a-z0-9])")
"""Models that tie thinking to the very bytes before it: nothing is put together there."""
_WANTS_REASONING = re.compile(
    r"(?:.*[/:])?(?:kimi-for-coding|kimi-k2\.[56]|kimi-k2\.7-code(?:-highspeed)?|kimi-k3|kimi-k2-thinking(?:-turbo)?"
    r"|mimo-v2-(?:pro|omni)|mimo-v2\.5(?:-pro)?|mimo-v2\.6-(?:flash|pro(?:-ultraspeed)?))(?::[^/]*)?"
)
"""Models whose provider wants its reasoning back."""


def policy_of(provider: str, api: str, model: str) -> Policy:
    """The policy for a request to this model; of an api that is not known only the pairing is left."""
    policy, id_ = _OF_API.get(api, Policy()), model.lower()
    if policy.signatures:
        drops = bool(_CLAUDE.search(id_)) and not _KEEPS_THINKING.search(id_.replace(".", "-"))
        merges = api != "anthropic-messages" or not _BINDS_PREFIX.search(id_)
        return replace(policy, drops_thinking=drops, own_thinking=not drops, native_ids=provider == "anthropic", merges_users=merges)
    if policy.drops_reasoning:
        return replace(policy, drops_reasoning=not _WANTS_REASONING.fullmatch(id_))
    if policy.responses:
        return replace(policy, anthropic=bool(_CLAUDE.search(id_)))
    return policy
