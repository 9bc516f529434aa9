"""OpenAI Chat Completions: the rules on tool calls and their results."""

from collections.abc import Iterator

from inspector.profiles.base import Profile, ProviderRule, Request, Violation

_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {ids}"
)
_NO_CALL = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."

RULES = (
    ProviderRule(
        "OC-1",
        "a call is not answered directly after its message",
        _UNANSWERED,
        "I",
        "2026-07",
        ("CLIProxyAPI #2798", "ellmer #459", "litellm #10083"),
    ),
    ProviderRule(
        "OC-2",
        "a tool message without calls before it",
        _NO_CALL,
        "I",
        "2026-07",
        ("morphic #136", "open-chat-studio #1659"),
    ),
)


def check(request: Request) -> Iterator[Violation]:
    """One pass: `waiting` is what the last assistant message called and no tool message has answered yet."""
    waiting: list[str] = []
    called = False
    caller = 0

    def unanswered(open_ended: bool) -> Iterator[Violation]:
        if waiting:
            yield Violation("OC-1", f"messages.{caller}", (), _UNANSWERED.format(ids=", ".join(waiting)), open_ended)

    for index, message in enumerate(request.messages):
        if message.get("role") == "tool":
            if not called:
                yield Violation("OC-2", f"messages.{index}", (), _NO_CALL)
            elif str(message.get("tool_call_id")) in waiting:
                waiting.remove(str(message["tool_call_id"]))
            continue
        yield from unanswered(open_ended=False)
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        # An observed request may hold anything: what is no list of calls calls nothing.
        calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        waiting, called, caller = [str(call.get("id", "")) for call in calls], bool(calls), index
    yield from unanswered(open_ended=True)


OPENAI_CHAT = Profile(
    "openai-chat",
    "OpenAI Chat Completions",
    "Only the two rules on pairing are known yet: limits on sizes, ids and content types are not judged.",
    RULES,
    check,
    models=("openai", "gpt", "o1", "o3", "o4"),
)

OFFERED = (OPENAI_CHAT,)
