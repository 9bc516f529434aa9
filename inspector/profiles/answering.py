"""By whose rules a session is judged: those of the provider that its last answer, or a later change of the model, names."""

from collections.abc import Mapping

from inspector.conversation.model import Conversation
from inspector.profiles.anthropic import ANTHROPIC_COMPATIBLE, ANTHROPIC_PROFILE
from inspector.profiles.bedrock import BEDROCK_PROFILE
from inspector.profiles.catalogue import profile
from inspector.profiles.deepseek import DEEPSEEK_THINKING
from inspector.profiles.gemini import GEMINI_3_PROFILE, GEMINI_PROFILE
from inspector.profiles.mistral import MISTRAL_PROFILE
from inspector.profiles.openai_chat import OPENAI_CHAT
from inspector.profiles.openai_responses import OPENAI_RESPONSES_PROFILE
from inspector.programs.registry import program_or_default
from inspector.projections.catalogue import for_wire

_OF_API: Mapping[str, str] = {
    "bedrock-converse-stream": BEDROCK_PROFILE.name,
    "openai-completions": OPENAI_CHAT.name,
    **dict.fromkeys(
        ("openai-responses", "azure-openai-responses", "openai-codex-responses", "openai-chatgpt-responses"), OPENAI_RESPONSES_PROFILE.name
    ),
    **dict.fromkeys(("google-generative-ai", "google-gemini-cli", "google-vertex"), GEMINI_PROFILE.name),
    "mistral-conversations": MISTRAL_PROFILE.name,
}
_OF_PROVIDER: Mapping[str, str] = {
    **dict.fromkeys(("anthropic", "anthropic-vertex"), ANTHROPIC_PROFILE.name),
    "amazon-bedrock": BEDROCK_PROFILE.name,
    "openai": OPENAI_RESPONSES_PROFILE.name,
    **dict.fromkeys(("google", "google-gemini-cli", "google-vertex"), GEMINI_PROFILE.name),
    "mistral": MISTRAL_PROFILE.name,
    "deepseek": OPENAI_CHAT.name,
}


def own_profile(conversation: Conversation, usual: str = "") -> tuple[str, str]:
    """The profile for a conversation of which nobody asked for another, and why that one; ("usual", "") where it names no provider.

    `usual`: that of its source, "" that of its format. One that a person or a bundle brought, and not the format, stays.
    """
    program = program_or_default(conversation.format)
    providers = program.providers
    usual = usual or providers.usual_profile
    api, provider, model = (conversation.fact(name) or "" for name in ("api", "provider", "model"))
    if not providers.are_named or usual != providers.usual_profile or not (api or provider):
        return usual, ""
    if providers.profiles:
        name = providers.profiles.get(provider, usual)
    else:
        name = _named(api, provider, model, conversation.fact("thinking") or "off")
    answers = f"{(model or 'a model')[:80]!r} of {(provider or 'a provider without a name')[:60]}{f' over {api[:60]}' if api else ''} answers in this session"
    if providers.profiles and provider not in providers.profiles:
        return (
            usual,
            f"judged as {usual}, which is an assumption: {answers}, and what {program.title} sends to that provider is not known here",
        )
    if name == usual:
        return usual, ""
    unsure = ", whose own rules are not known" if name == ANTHROPIC_COMPATIBLE.name else ""
    return name, f"judged as {name}, since {answers}{unsure}"


def own_judges(conversation: Conversation, projection: str, usual: str) -> tuple[str, str]:
    """(projection, profile), both of one wire shape."""
    name, why = own_profile(conversation, usual)
    judge = profile(name)
    return (for_wire(judge.wire, projection, judge.projection).name if why else projection), name


def _named(api: str, provider: str, model: str, thinking: str) -> str:
    if provider == "deepseek" and thinking != "off":
        return DEEPSEEK_THINKING.name
    name = _OF_API.get(api) or ("" if api == "anthropic-messages" else _OF_PROVIDER.get(provider, ""))
    if name == GEMINI_PROFILE.name and model.rpartition("/")[2].startswith("gemini-3"):
        return GEMINI_3_PROFILE.name
    if name:
        return name
    is_own = _OF_PROVIDER.get(provider) == ANTHROPIC_PROFILE.name or "claude" in model.lower()
    return ANTHROPIC_PROFILE.name if is_own else ANTHROPIC_COMPATIBLE.name
