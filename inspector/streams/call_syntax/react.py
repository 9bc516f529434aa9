"""ReAct: `Action: f` and `Action Input: {...}` on lines of their own."""

import re

from inspector.streams.call_syntax.base import NAME, Call, Tools, json_at, skip

_HEAD = re.compile(rf"Action:[ \t]{{0,20}}({NAME})[ \t]{{0,20}}\r?\n[ \t]{{0,20}}Action Input:[ \t]{{0,20}}")
_BEGUN = re.compile(rf"Action:[ \t]{{0,20}}({NAME})[ \t]{{0,20}}\r?\n(?:Action(?: Input:?)?)?\s{{0,20}}\Z")


def parse(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """The input must be a JSON object. Words after it (a synthetic `Observation:`) are no part of it."""
    if at and text[at - 1] not in "\n\t ":
        return ()
    head = _HEAD.match(text, at)
    if head is None:
        begun = _BEGUN.match(text, at) if len(text) - at < 400 else None
        return (Call(at, len(text), begun[1], None, "", closed=False),) if begun else ()
    begin = skip(text, head.end())
    value = json_at(text, begin)
    if value.state == "whole":
        is_object = isinstance(value.value, dict)
        return (
            Call(
                at,
                value.end,
                head[1],
                value.value if is_object else None,
                text[begin : value.end],
                problem="" if is_object else "Its input is no JSON object.",
            ),
        )
    if value.state == "cut" or begin == len(text):
        return (Call(at, len(text), head[1], None, text[begin:], closed=False),)
    line = text.find("\n", begin)
    return (
        Call(
            at,
            len(text) if line < 0 else line,
            head[1],
            None,
            text[begin : None if line < 0 else line],
            problem="Its input is no JSON object.",
        ),
    )
