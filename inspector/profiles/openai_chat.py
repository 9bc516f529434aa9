"""OpenAI Chat Completions: tool messages directly after their calls, and the form of calls and contents."""

from collections.abc import Iterator
from typing import Any

from inspector.profiles.base import Profile, Request, Violation
from inspector.profiles.bodies import by_place, entries, entry, word
from inspector.profiles.openai_chat_rules import ELSEWHERE, RULES, TAKEN_NAME, violation
from inspector.profiles.openai_pairing import Fault, unpaired

LONGEST_ID = 64
_RULE = {Fault.UNANSWERED: "OC-1", Fault.NO_CALLS: "OC-2", Fault.UNKNOWN_ID: "OC-3"}
_NEED_CONTENT = frozenset({"system", "developer", "user", "assistant", "tool"})
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_NAMES = ((bool, "a boolean"), (dict, "an object"), (list, "an array"), (int, "an integer"), (float, "a decimal"))


def check(request: Request) -> Iterator[Violation]:
    """In order of place."""
    yield from by_place(_violations(request))


def _violations(request: Request) -> Iterator[Violation]:
    for pairing_fault in unpaired(request.messages):
        ids = ", ".join(pairing_fault.ids)
        yield violation(_RULE[pairing_fault.fault], f"messages.{pairing_fault.n}", pairing_fault.open_ended, ids=ids, id=ids)
    for n, message in enumerate(map(entry, request.messages)):
        role = word(message.get("role"))
        if role in _NEED_CONTENT and message.get("content") is None and not (role == "assistant" and _instead(message)):
            yield violation("OC-6", f"messages.{n}")
        if message.get("tool_calls") == []:
            yield violation("OC-5", f"messages.{n}.tool_calls", n=n)
        for m, call in enumerate(entries(message.get("tool_calls"))):
            length = len(word(call.get("id")))
            if length > LONGEST_ID:
                yield violation("OC-4", f"messages.{n}.tool_calls.{m}", n=n, m=m, limit=LONGEST_ID, length=length)
            function = entry(call.get("function"))
            arguments = function.get("arguments", "")
            if not isinstance(arguments, str):
                yield violation("OC-8", f"messages.{n}.tool_calls.{m}", n=n, m=m, kind=_kind(arguments))
            if not TAKEN_NAME.fullmatch(word(function.get("name"))):
                yield violation("OC-10", f"messages.{n}.tool_calls.{m}", n=n, m=m)


def _instead(message: dict[str, Any]) -> bool:
    return any(message.get(name) for name in _INSTEAD_OF_CONTENT)


def _kind(value: Any) -> str:
    return next((name for kind, name in _NAMES if isinstance(value, kind)), "null")


OPENAI_CHAT = Profile(
    "openai-chat",
    "OpenAI Chat Completions",
    "Sizes, tokens, images, how long names of tools are and whether arguments are JSON are not judged.",
    (*RULES, *ELSEWHERE),
    check,
    models=("openai", "gpt", "o1", "o3", "o4"),
)

OFFERED = (OPENAI_CHAT,)
