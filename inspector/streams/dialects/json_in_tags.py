"""Calls that are JSON objects, one or several, between an opening and a closing mark."""

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.conversation import jsontext
from inspector.conversation.jsontext import Unreadable
from inspector.streams.dialects.base import MOST_CALLS, NAME, Call, Parser, Tools, Value, json_at, json_of, name_in, skip, wrapped
from inspector.streams.dialects.pythonic import bracket_end

Read = tuple[str, dict[str, Any] | None, str, str, str] | None
"""Name, arguments, their text, id and trouble of one object; None where it is no call."""
Reader = Callable[[str, Mapping[str, Any]], Read]
_WHOLE_NAME = re.compile(NAME)
_NO_JSON = "Its text is no JSON."


def named(
    name: str = "name", arguments: tuple[str, ...] = ("arguments", "parameters"), id_: str = "", besides: frozenset[str] = frozenset()
) -> Reader:
    """Reads objects with a member for the name and one for the arguments. Members that the form does not know are trouble: they may matter."""

    def read(source: str, value: Mapping[str, Any]) -> Read:
        own = value.get(name)
        if not isinstance(own, str) or not _WHOLE_NAME.fullmatch(own):
            return None
        keys = [key for key in arguments if key in value]
        text = _source(source, keys[0]) if keys else ""
        given = value[keys[0]] if keys else None
        call_id = value.get(id_) if id_ else ""
        if isinstance(given, str):
            text, given = given, json_of(given).value
        strange = sorted(set(value) - {name, *keys[:1], id_} - besides)
        if strange:
            return own, None, text, "", f"It has members that this form does not know: {', '.join(strange)[:200]}."
        if not isinstance(given, dict):
            return own, None, text, "", "Its arguments are no JSON object." if keys else "It has no arguments."
        return own, given, text, call_id if isinstance(call_id, str) else str(call_id) if isinstance(call_id, int) else "", ""

    return read


def keyed(source: str, value: Mapping[str, Any]) -> Read:
    """Reads `{"f": {...}}`: the one member is the name."""
    if len(value) != 1:
        return None
    ((name, given),) = value.items()
    if not _WHOLE_NAME.fullmatch(name):
        return None
    return (
        name,
        given if isinstance(given, dict) else None,
        _source(source, name),
        "",
        "" if isinstance(given, dict) else "Its arguments are no JSON object.",
    )


def _source(source: str, key: str) -> str:
    try:
        return source[slice(*jsontext.members(source)[key])]
    except (Unreadable, ValueError, KeyError, IndexError):
        return ""


@dataclass(frozen=True, slots=True)
class Form:
    """`opener` ends in front of the JSON; its group 1, if any, is the name. `closer` None: the JSON is the end. `listed`: the objects stand in an array (`maybe`: or not)."""

    opener: re.Pattern[str]
    closer: re.Pattern[str] | None
    read: Reader
    listed: str = "no"
    between: str = ""
    python: bool = False
    weak: bool = False


def parser(form: Form) -> Parser:
    def parse(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
        opened = form.opener.match(text, at)
        return _objects(form, text, at, opened) if opened else ()

    return parse


def _objects(form: Form, text: str, start: int, opened: re.Match[str]) -> tuple[Call, ...]:
    at, said = skip(text, opened.end()), opened[1] if opened.re.groups else ""
    if at == len(text):
        return (Call(start, at, said or "", None, "", closed=False, weak=form.weak),)
    is_list = text[at] == "[" and form.listed != "no"
    if form.listed == "yes" and not is_list:
        return ()
    at, calls, closed = at + is_list, list[Call](), not is_list
    while len(calls) < MOST_CALLS:
        at = skip(text, at)
        if is_list and text.startswith("]", at):
            at, closed = at + 1, True
            break
        if not text.startswith("{", at):
            break
        call = _object(form, text, at, said or "")
        if call is None:
            return ()
        calls.append(call)
        at = skip(text, call.end)
        if not call.closed or call.trouble == _NO_JSON:
            break
        if is_list:
            if text.startswith(",", at):
                at += 1
        elif form.between and text.startswith(form.between.strip(), at):
            at += len(form.between.strip())
        else:
            break
    if not calls:
        return (
            (Call(start, len(text), said or "", None, "", closed=False, weak=form.weak),)
            if skip(text, at) == len(text) and not closed
            else ()
        )
    if calls[-1].trouble == _NO_JSON or form.closer is None:
        return wrapped(calls, start, calls[-1].end if not is_list else at, closed or calls[-1].trouble == _NO_JSON)
    closer = form.closer.match(text, skip(text, at))
    if closer is None and skip(text, at) < len(text):
        later = form.closer.search(text, at)
        if later and calls[-1].closed:
            return _in_trouble(calls, start, later.end())
    return wrapped(calls, start, closer.end() if closer else at, closer is not None and closed)


def _in_trouble(calls: list[Call], start: int, end: int) -> tuple[Call, ...]:
    last = calls.pop()
    calls.append(
        Call(
            last.start,
            end,
            last.name,
            None,
            last.argument_text,
            last.call_id,
            True,
            (),
            "Something else stands between it and its closing mark.",
            last.weak,
        )
    )
    return wrapped(calls, start, end, True)


def _object(form: Form, text: str, at: int, said: str) -> Call | None:
    found = json_at(text, at)
    if found.state != "whole" and form.python:
        found = _python(text, at) or found
    if found.state != "whole":
        later = form.closer.search(text, at) if form.closer else None
        name = said or name_in(text, at)
        if later:
            return Call(at, later.end(), name, None, text[at : later.start()].strip(), trouble=_NO_JSON, weak=form.weak)
        return Call(at, len(text), name, None, text[at:], closed=False, weak=form.weak) if found.state == "cut" else None
    source = text[at : found.end]
    read = form.read(source, found.value) if isinstance(found.value, dict) else None
    if read is None:
        return None
    name, arguments, argument_text, call_id, trouble = read
    if said and name != said:
        arguments, trouble = None, f"It is opened as {said} and spelled as {name}."
    return Call(at, found.end, name, arguments, argument_text or source, call_id, True, (), trouble, form.weak)


def _python(text: str, at: int) -> Value | None:
    """A dict as Python spells it, of values that JSON has too."""
    end = bracket_end(text, at)
    if end < 0:
        return None
    try:
        return Value("whole", json.loads(json.dumps(ast.literal_eval(text[at:end]), allow_nan=False)), end)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
