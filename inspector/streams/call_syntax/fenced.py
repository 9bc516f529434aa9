"""Calls that are the whole text: JSON in a code fence, Python in one that is called `tool_code`, and JSON without anything around."""

import re
from collections.abc import Collection

from inspector.streams.call_syntax.base import Call, Tools, json_at, name_in, skip, wrapped
from inspector.streams.call_syntax.json_in_tags import named
from inspector.streams.call_syntax.pythonic import python_calls

_OPEN = re.compile(r"```(json|tool_call|tool_code)?[ \t]{0,20}\r?\n")
_CLOSE = re.compile(r"\s{0,200}```\s*\Z")
_ARGUMENTS = named(ignored=frozenset({"type"}))


def fence(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """One fence and nothing else, with one call of a declared tool in it."""
    opened = _OPEN.match(text, at)
    if opened is None or tools is None:
        return ()
    begin = skip(text, opened.end())
    if opened[1] == "tool_code":
        end = text.rfind("```", begin)
        if end < 0 or not _CLOSE.match(text, end):
            return ()
        calls = python_calls(text, begin, end, weak=True)
        return wrapped(calls, at, len(text.rstrip()), True) if all(call.name in tools for call in calls) else ()
    call = _json(text, begin, tools, "arguments")
    closed = _CLOSE.match(text, call.end) if call and call.closed else None
    if call is None or (call.closed and closed is None and skip(text, call.end) < len(text)):
        return ()
    return wrapped([call], at, len(text.rstrip()), closed is not None)


def bare_json(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """Llama's `{"name": ..., "parameters": ...}` that is the whole text; any JSON looks like it, so that the name must be a declared tool's."""
    if tools is None or not text.startswith("{", at):
        return ()
    call = _json(text, at, tools, "parameters")
    return (call,) if call and (not call.closed or skip(text, call.end) == len(text)) else ()


def _json(text: str, begin: int, tools: Collection[str], member: str) -> Call | None:
    value = json_at(text, begin)
    if value.state == "cut" and f'"{member}"' in text[begin : begin + 4000]:
        name = name_in(text, begin)
        return Call(begin, len(text), name, None, text[begin:], closed=False, weak=True) if name in tools else None
    if value.state != "whole" or not isinstance(value.value, dict) or member not in value.value:
        return None
    read = _ARGUMENTS(text[begin : value.end], value.value)
    return Call(begin, value.end, read[0], read[1], read[2], problem=read[4], weak=True) if read and read[0] in tools else None
