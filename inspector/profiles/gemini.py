"""Gemini generateContent: turns of calls and responses, empty contents, and the thought signatures of Gemini 3."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from inspector.profiles.base import Profile, Request, Violation
from inspector.profiles.bodies import by_place, entries, entry, word
from inspector.profiles.gemini_rules import GE_1, GE_2, GE_3, GE_4, GE_5, GE_6, GE_8, RULES, RULES_3
from inspector.projections.base import GEMINI

_REST = frozenset({"thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "mediaResolution"})


def check(signed: bool, request: Request) -> Iterator[Violation]:
    """One pass over the contents. `signed`: calls of the current turn must bear signatures, as Gemini 3 wants them."""
    yield from by_place(_found(signed, request))


def _found(signed: bool, request: Request) -> Iterator[Violation]:
    waiting: tuple[int, int] | None = None
    before = ""
    unsigned: list[Violation] = []
    content: dict[str, Any] = {}
    index = -1
    for index, content in enumerate(map(entry, request.messages)):
        role = "model" if content.get("role") == "model" else "user"
        parts = entries(content.get("parts"))
        calls = [(place, part) for place, part in enumerate(parts) if _call(part) is not None]
        responses = [place for place, part in enumerate(parts) if _has(part, "functionResponse", "function_response")]
        yield from _empty(index, content, parts)
        if waiting is not None and len(responses) != waiting[1]:
            last = index == len(request.messages) - 1
            place = index if responses else waiting[0]
            yield Violation("GE-3", f"contents.{place}", (), GE_3.text, open_ended=last and 0 < len(responses) < waiting[1])
        elif waiting is None and responses:
            yield Violation("GE-2", f"contents.{index}.parts.{responses[0]}", (), GE_2.text)
        if calls and before in ("", "model"):
            yield Violation("GE-1", f"contents.{index}.parts.{calls[0][0]}", (), GE_1.text)
        if role == "user" and not responses:
            # Signatures are asked for from the last text of the user on.
            unsigned = []
        elif calls and not _signature(calls[0][1]):
            name = word(entry(_call(calls[0][1])).get("name"))
            unsigned.append(Violation("GE-8", f"contents.{index}.parts.{calls[0][0]}", (), GE_8.say(name=name, n=index + 1)))
        waiting = (index, len(calls)) if calls else None
        before = role
    if waiting is not None:
        yield Violation("GE-3", f"contents.{waiting[0]}", (), GE_3.text, open_ended=True)
    if content.get("role") == "model":
        yield Violation("GE-6", f"contents.{index}", (), GE_6.text, open_ended=True)
    if signed:
        yield from unsigned


def _empty(index: int, content: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Violation]:
    """An empty text is only refused where the whole content is empty: beside a signature or other parts it is in use."""
    if not parts:
        yield Violation("GE-4", f"contents.{index}", (), GE_4.say(n=index))
        return
    hollow = all(set(part) == {"text"} and part["text"] == "" for part in parts)
    for place, part in enumerate(parts):
        if hollow or all(name in _REST or value is None for name, value in part.items()):
            yield Violation("GE-5", f"contents.{index}.parts.{place}", (), GE_5.say(n=index, m=place))


def _has(part: dict[str, Any], *names: str) -> bool:
    return any(part.get(name) is not None for name in names)


def _call(part: dict[str, Any]) -> Any:
    call = part.get("functionCall")
    return part.get("function_call") if call is None else call


def _signature(part: dict[str, Any]) -> bool:
    return bool(word(part.get("thoughtSignature")) or word(part.get("thought_signature")))


_UNKNOWABLE = (
    "Whether signatures are genuine, sizes, declared tools, the rules of Vertex beside those of AI Studio and alternation are not judged."
)

GEMINI_PROFILE = Profile(
    "gemini", "Gemini generateContent, models before 3", _UNKNOWABLE, RULES, partial(check, False), wire=GEMINI, models=("gemini",)
)
GEMINI_3_PROFILE = Profile(
    "gemini-3",
    "Gemini generateContent, Gemini 3: calls bear thought signatures",
    _UNKNOWABLE,
    RULES_3,
    partial(check, True),
    wire=GEMINI,
    models=("gemini-3", "gemini-flash-latest", "gemini-pro-latest"),
)

OFFERED = (GEMINI_PROFILE, GEMINI_3_PROFILE)
