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
    problem = "Its input is no JSON object."
    if value.state == "whole":
        arguments = value.value if isinstance(value.value, dict) else None
        problem = problem if arguments is None else ""
        return (Call(at, value.end, head[1], arguments, text[begin : value.end], problem=problem),)
    if value.state == "cut" or begin == len(text):
        return (Call(at, len(text), head[1], None, text[begin:], closed=False),)
    line = text.find("\n", begin)
    end = len(text) if line < 0 else line
    return (Call(at, end, head[1], None, text[begin:end], problem=problem),)
