"""The tool calls that a text ends with, as their call syntax encodes them: exactly or not at all."""

import re
from dataclasses import dataclass
from typing import Any

from inspector.streams.call_syntax.base import Tools
from inspector.streams.leaked_calls import TextCall, Where, calls_in
from inspector.text import js_json, jsontext
from inspector.text.jsontext import Unreadable

_CLOSED_THINKING = re.compile(r"[ \t]*</think>\s*\Z")


@dataclass(frozen=True, slots=True)
class Leaked:
    """`call_id` is the id that the text gives ("" where its syntax has none); `guessed` names parameters that were kept as text though they may be another value."""

    name: str
    input: dict[str, Any]
    call_id: str = ""
    guessed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeakedEnding:
    """`before` is the text before the calls, without a closing think tag."""

    before: str
    calls: tuple[Leaked, ...]


def recovered(text: str, inside: Where | None = None, tools: Tools = None) -> LeakedEnding | None:
    """The calls that `text` ends with, with nothing but blanks between them. None where one is cut off, is of no declared tool, has words after it, or could be read in two ways."""
    leaked_calls = list(calls_in(text, tools, inside or Where()))
    ends = [*(leak.start for leak in leaked_calls[1:]), len(text)]
    if not leaked_calls or any(text[leak.end : end].strip() for leak, end in zip(leaked_calls, ends, strict=True)):
        return None
    before = text[: leaked_calls[0].start].rstrip(" \t")
    # What is before them in their line would be separated from them.
    if before and not before.endswith(("\n", "</think>")):
        return None
    calls = [_leaked(leak) for leak in leaked_calls]
    return LeakedEnding(_without_mark(before), tuple(call for call in calls if call)) if all(calls) else None


def _leaked(call: TextCall) -> Leaked | None:
    if call.arguments is None or call.confidence == "low":
        return None
    try:
        # As the program that reads it again writes numbers.
        return Leaked(call.name, jsontext.parse(js_json.stringify(call.arguments)), call.call_id, call.guessed)
    except (Unreadable, ValueError):
        return None


def _without_mark(before: str) -> str:
    place = before.rfind("</think>")
    mark = _CLOSED_THINKING.match(before, before.rfind("\n", 0, place) + 1 if place >= 0 else len(before))
    return before[: mark.start()] if mark else before
