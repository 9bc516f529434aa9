"""Gemini generateContent: turns of calls and responses, empty contents, roles, and the thought signatures of Gemini 3."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from inspector.profiles.base import Profile, Request, Violation
from inspector.profiles.bodies import by_place, entries, entry, word
from inspector.profiles.gemini_rules import GE_1, GE_2, GE_3, GE_4, GE_5, GE_6, GE_8, GE_11, RULES, RULES_3
from inspector.projections.base import GEMINI

_NOT_DATA = frozenset({"thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "mediaResolution"})
_VERSION = re.compile(r"gemini-(\d{1,2})(?:\.(\d{1,2}))?(?!\d)")
_STRICT_SINCE = (3, 6)
_FIRST_STRICT = "gemini-3.5-flash-lite"
_ROLES = frozenset({"", "user", "model"})
"""A content may leave its role out."""
_OLD_ROLE = "function"
_LISTED = frozenset({"system", "system_1", "assistant", "developer", "context", "user_context"})
"""Roles that a refusal of Gemini 3 lists as valid. Which models take them is not known in full: 3 to 3.5 took `system`, those from 3.6 on do not."""


def check(signed: bool, request: Request) -> Iterator[Violation]:
    """One pass over the contents. `signed`: calls of the current turn must bear signatures, as Gemini 3 wants them."""
    yield from by_place(_violations(signed, request))


def _violations(signed: bool, request: Request) -> Iterator[Violation]:
    strict = is_strict(request.model) if signed else False
    roles = _roles(signed, strict)
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
        if word(content.get("role")) not in roles:
            yield Violation("GE-11", f"contents.{index}", (), GE_11.text)
        yield from _empty(index, content, parts)
        goes_on = role == "model" and not responses
        if waiting is not None and not goes_on and len(responses) != waiting[1]:
            last = index == len(request.messages) - 1
            place = index if responses else waiting[0]
            yield Violation("GE-3", f"contents.{place}", (), GE_3.text, open_ended=last and 0 < len(responses) < waiting[1])
        elif waiting is None and responses:
            yield Violation("GE-2", f"contents.{index}.parts.{responses[0]}", (), GE_2.text)
        if calls and not before:
            yield Violation("GE-1", f"contents.{index}.parts.{calls[0][0]}", (), GE_1.text)
        if role == "user" and not responses:
            # Signatures are asked for from the last text of the user on.
            unsigned = []
        elif calls and not (goes_on and waiting) and not _signature(calls[0][1]):
            name = word(entry(_call(calls[0][1])).get("name"))
            unsigned.append(Violation("GE-8", f"contents.{index}.parts.{calls[0][0]}", (), GE_8.say(name=name, n=index + 1)))
        waiting = _waiting(waiting if goes_on else None, index, len(calls))
        before = role
    if waiting is not None:
        yield Violation("GE-3", f"contents.{waiting[0]}", (), GE_3.text, open_ended=True)
    if strict and content.get("role") == "model":
        yield Violation("GE-6", f"contents.{index}", (), GE_6.text, open_ended=True)
    if signed:
        yield from unsigned


def _waiting(waiting: tuple[int, int] | None, index: int, calls: int) -> tuple[int, int] | None:
    """The content with the first call that is not answered yet, and how many calls wait: those of model contents in a row are one turn."""
    if waiting is None:
        return (index, calls) if calls else None
    return waiting[0], waiting[1] + calls


def is_strict(model: str | None) -> bool | None:
    """Whether the model refuses a request that ends with a model turn, and roles other than user and model; None where the name does not say."""
    name = (model or "").rpartition("/")[2]
    version = _VERSION.search(name)
    return (int(version[1]), int(version[2] or 0)) >= _STRICT_SINCE or name.startswith(_FIRST_STRICT) if version else None


def _roles(signed: bool, strict: bool | None) -> frozenset[str]:
    if strict:
        return _ROLES
    return _ROLES | {_OLD_ROLE} | (_LISTED if signed else frozenset())


def _empty(index: int, content: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Violation]:
    """A part needs data, and an empty text or a bare signature is data: both were accepted."""
    if not parts:
        yield Violation("GE-4", f"contents.{index}", (), GE_4.say(n=index))
        return
    for place, part in enumerate(parts):
        if not _signature(part) and all(name in _NOT_DATA or value is None for name, value in part.items()):
            yield Violation("GE-5", f"contents.{index}.parts.{place}", (), GE_5.say(n=index, m=place))


def _has(part: dict[str, Any], *names: str) -> bool:
    return any(part.get(name) is not None for name in names)


def _call(part: dict[str, Any]) -> Any:
    call = part.get("functionCall")
    return part.get("function_call") if call is None else call


def _signature(part: dict[str, Any]) -> bool:
    return bool(word(part.get("thoughtSignature")) or word(part.get("thought_signature")))


_UNKNOWABLE = (
    "Whether signatures are genuine, sizes, declared tools and rules that Vertex has and AI Studio has not are not judged. Contents of one role may follow each other: "
    "calls of model contents in a row are one turn, as the API took them; results split over contents it refused. "
    "How a request may end, and which roles it may have, depends on the model (GE-6, GE-11): it is not claimed where the model is not known."
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
