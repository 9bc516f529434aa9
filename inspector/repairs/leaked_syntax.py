"""The text forms in which models leak a tool call, read exactly or not at all."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from inspector.conversation import js_json, jsontext
from inspector.conversation.jsontext import Unreadable
from inspector.detectors.tool_call_in_thinking import CALL, FENCE

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_OPENED = {
    "<function=": (re.compile(r"<function=([^<>\n]*)>"), re.compile(r"\s*<parameter=([^<>\n]*)>"), re.compile(r"\s*</function>")),
    "<invoke": (re.compile(r'<invoke name="([^"<>\n]*)">'), re.compile(r'\s*<parameter name="([^"<>\n]*)">'), re.compile(r"\s*</invoke>")),
}
_TOOL_CALL, _TOOL_CALL_END = re.compile(r"<tool_call>\s*"), re.compile(r"\s*</tool_call>")
_END_OF_VALUE = "</parameter>"
_MARKUP = re.compile(r"</?(?:function|invoke|parameter|tool_call)\b")


@dataclass(frozen=True, slots=True)
class Leaked:
    """`before` is the text in front of the call, without a closing think tag; parameters of the tag forms are texts."""

    before: str
    name: str
    input: dict[str, Any]


def recovered(text: str) -> Leaked | None:
    """The one call that `text` ends with. None where it is cut off, followed by words, one of several, or could be read in two ways."""
    fences = [edge for match in FENCE.finditer(text) for edge in match.span()]
    start = next((match for match in CALL.finditer(text) if bisect_left(fences, match.end()) % 2 == 0), None)
    if start is None:
        return None
    at, wrapper = start.start(1), None
    if start.group(1) == "<tool_call":
        wrapper = _TOOL_CALL.match(text, at)
        if wrapper is None:
            return None
        at = wrapper.end()
    marker = next((marker for marker in _OPENED if text.startswith(marker, at)), "")
    call, end = _tags(text, at, marker) if marker else _json(text, at) if wrapper else (None, at)
    closed = _TOOL_CALL_END.match(text, end) if wrapper else None
    rest = text[closed.end() if closed else end :]
    if call is None or (wrapper and not closed) or rest.strip():
        return None
    return Leaked(text[: start.start()], *call)


_Call = tuple[str, dict[str, Any]]


def _tags(text: str, at: int, marker: str) -> tuple[_Call | None, int]:
    opened, parameter, closing = _OPENED[marker]
    head = opened.match(text, at)
    if head is None or not _NAME.fullmatch(head.group(1)):
        return None, at
    at, values = head.end(), dict[str, Any]()
    while found := parameter.match(text, at):
        end = text.find(_END_OF_VALUE, found.end())
        value = text[found.end() : end]
        # A value that holds such markup itself could end elsewhere.
        if end < 0 or found.group(1) in values or not _NAME.fullmatch(found.group(1)) or _MARKUP.search(value):
            return None, at
        values[found.group(1)] = _without_frame(value)
        at = end + len(_END_OF_VALUE)
    close = closing.match(text, at)
    return ((head.group(1), values), close.end()) if close else (None, at)


def _without_frame(value: str) -> str:
    """Models set a value in lines of its own: the one newline on each side is frame, everything else is value."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "\n" else value


def _json(text: str, at: int) -> tuple[_Call | None, int]:
    end = text.rfind("</tool_call>")
    try:
        value = jsontext.parse(text[at:end]) if end >= at else None
        if not isinstance(value, dict) or value.keys() != {"name", "arguments"}:
            return None, at
        name, arguments = value["name"], value["arguments"]
        arguments = jsontext.parse(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(arguments, dict):
            return None, at
        return (name, jsontext.parse(js_json.stringify(arguments))), len(text[:end].rstrip())
    except (Unreadable, ValueError):
        return None, at
