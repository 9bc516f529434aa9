"""Mistral: what its own validator, mistral-common, asks of a request, as served with tokenizer v11 and with v13."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from inspector.profiles.base import Profile, Request, Violation
from inspector.profiles.bodies import by_place, entries, entry, word
from inspector.profiles.mistral_rules import (
    ID_ANSWERED_TWICE,
    ID_CALLED_TWICE,
    MI_1,
    MI_2,
    MI_3,
    MI_4,
    MI_7,
    MI_8,
    MI_9,
    MI_10,
    MI_11,
    MI_12,
    MI_13,
    MISSING_ID,
    RULES,
    STRICT_RULES,
    UNEXPECTED_ID,
)
from inspector.projections.base import MISTRAL

_NINE = re.compile(r"^[a-zA-Z0-9]{9}$")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_ROLES = frozenset({"system", "user", "assistant", "tool"})
_AFTER = {
    "system": frozenset({"user", "assistant", "system"}),
    "user": frozenset({"assistant", "system", "user"}),
    "assistant": frozenset({"assistant", "user", "tool"}),
    "tool": frozenset({"assistant", "tool"}),
}
_AFTER_NOW = _AFTER | {"tool": frozenset({"assistant", "tool", "user"})}
_CHUNKS = {
    "text": "TextChunk",
    "image": "ImageChunk",
    "image_url": "ImageURLChunk",
    "input_audio": "AudioChunk",
    "audio_url": "AudioURLChunk",
    "thinking": "ThinkChunk",
}
"""Types of chunks that mistral-common knows, by its name for each."""
_SEEN_AND_HEARD = frozenset(_CHUNKS) - {"thinking"}
_WORDS = frozenset({"text", "thinking"})
_TAKES = {"system": _WORDS, "user": _SEEN_AND_HEARD, "assistant": _WORDS, "tool": frozenset({"text"})}
_TAKES_NOW = _TAKES | {"system": _WORDS | {"input_audio"}, "tool": _SEEN_AND_HEARD}


def check(strict: bool, request: Request) -> Iterator[Violation]:
    """One pass over the messages. `strict`: as mistral-common 1.11.0 serves tokenizer v11, else as 1.13.1 serves v13."""
    yield from by_place(_violations(strict, request))


def _violations(strict: bool, request: Request) -> Iterator[Violation]:
    count = len(request.messages)
    if count == 0:
        yield Violation("MI-9", "messages", (), MI_9.text)
    after = _AFTER if strict else _AFTER_NOW
    previous = ""
    caller = 0
    expected: set[str] = set()
    observed: set[str] = set()
    for index, message in enumerate(map(entry, request.messages)):
        role = word(message.get("role"))
        if role not in _ROLES:
            yield Violation("MI-10", f"messages.{index}", (), MI_10.say(role=role))
            continue
        calls = entries(message.get("tool_calls")) if role == "assistant" else []
        if previous and role not in after[previous]:
            rule = MI_7 if role == "system" else MI_2
            yield Violation(rule.id, f"messages.{index}", (), rule.say(role=role, previous=previous))
        # The validator's own way: the first message takes no part in the pairing.
        if previous and role == "tool":
            yield from _paired(index, word(message.get("tool_call_id")), expected, observed)
        elif previous and role == "assistant":
            if len(expected) != len(observed):
                yield Violation("MI-1", f"messages.{caller}", (), MI_1.text)
            caller, expected, observed = index, set(), set()
            for place, call in enumerate(calls):
                if (name := _call_id(call)) in expected:
                    yield Violation("MI-6", f"messages.{index}.tool_calls.{place}", (), ID_CALLED_TWICE.format(id=name))
                expected.add(name)
        yield from _of_form(strict, index, role, message, calls)
        last = index == count - 1
        if last and count == 1 and role not in ("user", "system"):
            yield Violation("MI-9", f"messages.{index}", (), MI_9.also[0])
        elif last and role == "assistant" and message.get("prefix") is not True:
            yield Violation("MI-3", f"messages.{index}", (), MI_3.text if strict else f"{MI_3.also[0]} assistant", open_ended=True)
        previous = role
    if len(expected) != len(observed):
        yield Violation("MI-1", f"messages.{caller}", (), MI_1.text, open_ended=previous != "user")


def _paired(index: int, name: str, expected: set[str], observed: set[str]) -> Iterator[Violation]:
    if name in observed:
        yield Violation("MI-6", f"messages.{index}", (), ID_ANSWERED_TWICE.format(id=name))
    elif name not in expected:
        yield Violation("MI-6", f"messages.{index}", (), UNEXPECTED_ID.format(id=name))
    else:
        observed.add(name)


def _of_form(strict: bool, index: int, role: str, message: dict[str, Any], calls: list[dict[str, Any]]) -> Iterator[Violation]:
    for place, call in enumerate(calls):
        name = word(entry(call.get("function")).get("name"))
        path = f"messages.{index}.tool_calls.{place}"
        yield from _of_id(strict, path, _call_id(call), called=True)
        if not _NAME.match(name):
            yield Violation("MI-8", path, (), MI_8.say(name=name))
    if role != "assistant" and not isinstance(message.get("content"), (str, list)):
        yield Violation("MI-12", f"messages.{index}", (), MI_12.also[0] if strict and role == "user" else MI_12.text)
    if role == "tool":
        yield from _of_id(strict, f"messages.{index}", word(message.get("tool_call_id")), called=False)
        if message.get("name") is not None and not _NAME.match(word(message["name"])):
            yield Violation("MI-8", f"messages.{index}", (), MI_8.say(name=word(message["name"])))
    takes = (_TAKES if strict else _TAKES_NOW)[role]
    for place, chunk in enumerate(entries(message.get("content"))):
        kind = word(chunk.get("type"))
        if kind in _CHUNKS and kind not in takes:
            text = MI_13.also[0] if strict else MI_13.say(chunk=_CHUNKS[kind], role=role)
            yield Violation("MI-13", f"messages.{index}.content.{place}", (), text)


def _of_id(strict: bool, path: str, name: str, called: bool) -> Iterator[Violation]:
    if not strict and name in ("", "null"):
        yield Violation("MI-11", path, (), MI_11.text)
    elif strict and called and name == "null":
        yield Violation("MI-4", path, (), MISSING_ID)
    elif strict and not _NINE.match(name):
        yield Violation("MI-4", path, (), MI_4.say(id=name))


def _call_id(call: dict[str, Any]) -> str:
    """A call without an id counts as one of the id `null` there."""
    return word(call["id"]) if "id" in call else "null"


_UNKNOWABLE = "Types of content that mistral-common does not know, the schema of tools, and the limits of the API itself (images, length) are not judged."
_MODELS = ("mistral", "ministral", "magistral", "devstral", "codestral", "pixtral", "open-mi")

MISTRAL_STRICT_PROFILE = Profile(
    "mistral-strict",
    "Mistral, as mistral-common 1.11.0 serves tokenizer v11: no user message after a tool message, ids of nine characters",
    _UNKNOWABLE
    + " The live API takes a user message after a tool message today, which this version refuses (MI-2): the profile mistral says what is sendable.",
    STRICT_RULES,
    partial(check, True),
    wire=MISTRAL,
    models=_MODELS,
)
MISTRAL_PROFILE = Profile(
    "mistral",
    "Mistral, as mistral-common 1.13.1 serves tokenizer v13",
    _UNKNOWABLE,
    RULES,
    partial(check, False),
    wire=MISTRAL,
    models=_MODELS,
)

OFFERED = (MISTRAL_STRICT_PROFILE, MISTRAL_PROFILE)
