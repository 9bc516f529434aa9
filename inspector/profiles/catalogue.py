"""Every profile, by name."""

import re

from inspector.profiles import ai_sdk, anthropic, bedrock, deepseek, gemini, mistral, openai_chat, openai_responses, templates
from inspector.profiles.base import Profile, ProviderRule
from inspector.text.unknown import UnknownName

PROFILES: tuple[Profile, ...] = (
    *openai_chat.OFFERED,
    *anthropic.OFFERED,
    *openai_responses.OFFERED,
    *gemini.OFFERED,
    *bedrock.OFFERED,
    *mistral.OFFERED,
    *deepseek.OFFERED,
    *ai_sdk.OFFERED,
    *templates.OFFERED,
)


_PROVIDERS = {
    "AN": "Anthropic",
    "BR": "Amazon Bedrock",
    "GE": "Google Gemini",
    "MI": "Mistral",
    "OC": "OpenAI",
    "OR": "OpenAI",
    "OV-1": "DeepSeek",
    "OV-1r": "DeepSeek",
    "OV-4": "DeepSeek",
    "SDK": "the Vercel AI SDK",
    "TE": "a chat template",
}
"""Who answers by a rule, by the letters of its id, or by its whole id."""


def provider_of(rule_id: str) -> str:
    """In words; "" where the summary of the rule names it."""
    return _PROVIDERS.get(rule_id) or _PROVIDERS.get(rule_id.partition("-")[0], "")


class UnknownProfile(UnknownName):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no profile {name!r}; `profiles` lists them.")


def _rule(profile_name: str, rule_id: str) -> ProviderRule | None:
    rules = (rule for candidate in PROFILES if candidate.name == profile_name for rule in candidate.rules)
    return next((rule for rule in rules if rule.id == rule_id), None)


def summary_of(profile_name: str, rule_id: str) -> str:
    """A rule of a profile in words; "" where the profile has no such rule."""
    return rule.summary if (rule := _rule(profile_name, rule_id)) else ""


def repaired_by(profile_name: str, rule_id: str) -> tuple[str, ...]:
    """Names of the strategies of a rule of a profile; () where the profile has no such rule."""
    return rule.repaired_by if (rule := _rule(profile_name, rule_id)) else ()


def text_of(profile_name: str, rule_id: str, path: str) -> str:
    """What the provider answers to a request that breaks the rule at the path, without its ids; "" where the profile has no such rule."""
    rule = _rule(profile_name, rule_id)
    number = re.search(r"\d+", path)
    values = {"id": "…", "ids": "…", **({"n": number[0]} if number else {})}
    return rule.say(**values) if rule else ""


def profile(name: str) -> Profile:
    for candidate in PROFILES:
        if candidate.name == name:
            return candidate
    raise UnknownProfile(name)
