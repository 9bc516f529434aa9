"""Calls that are JSON objects, one or several, between an opening and a closing mark."""

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inspector.streams.call_syntax.base import MOST_CALLS, NAME, Call, ParsedValue, Parser, Tools, json_at, json_of, name_in, skip, wrapped
from inspector.streams.call_syntax.pythonic import bracket_end
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

Read = tuple[str, dict[str, Any] | None, str, str, str] | None
"""Name, arguments, their text, id and problem of one object; None where it is no call."""
Reader = Callable[[str, Mapping[str, Any]], Read]
_WHOLE_NAME = re.compile(NAME)
_NO_JSON = "Its text is no JSON."


def named(
    name: str = "name", arguments: tuple[str, ...] = ("arguments", "parameters"), id_: str = "", ignored: frozenset[str] = frozenset()
) -> Reader:
    """Reads objects with a member for the name and one for the arguments. Members that the form does not know are a problem: they may matter."""

    def read(source: str, value: Mapping[str, Any]) -> Read:
        own = value.get(name)
        if not isinstance(own, str) or not _WHOLE_NAME.fullmatch(own):
            return None
        keys = [key for key in arguments if key in value]
        text = _source(source, keys[0]) if keys else ""
        arguments_given = value[keys[0]] if keys else None
        call_id = value.get(id_) if id_ else ""
        if isinstance(arguments_given, str):
            text, arguments_given = arguments_given, json_of(arguments_given).value
        strange = sorted(set(value) - {name, *keys[:1], id_} - ignored)
        if strange:
            return own, None, text, "", f"It has members that this form does not know: {', '.join(strange)[:200]}."
        if not isinstance(arguments_given, dict):
            return own, None, text, "", "Its arguments are no JSON object." if keys else "It has no arguments."
        return own, arguments_given, text, call_id if isinstance(call_id, str) else str(call_id) if isinstance(call_id, int) else "", ""

    return read


def keyed(source: str, value: Mapping[str, Any]) -> Read:
    """Reads `{"f": {...}}`: the one member is the name."""
    if len(value) != 1:
        return None
    ((name, arguments),) = value.items()
    if not _WHOLE_NAME.fullmatch(name):
        return None
    is_object = isinstance(arguments, dict)
    return name, arguments if is_object else None, _source(source, name), "", "" if is_object else "Its arguments are no JSON object."


def _source(source: str, key: str) -> str:
    try:
        return source[slice(*jsontext.members(source)[key])]
    except (Unreadable, ValueError, KeyError, IndexError):
        return ""


@dataclass(frozen=True, slots=True)
class Form:
    """`opener` ends before the JSON; its group 1, if any, is the name. `closer` None: the JSON is the end. `listed`: the objects are in an array (`maybe`: or not)."""

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
    at, opened_name = skip(text, opened.end()), opened[1] if opened.re.groups else ""
    if at == len(text):
        return (Call(start, at, opened_name or "", None, "", closed=False, weak=form.weak),)
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
        call = _object(form, text, at, opened_name or "")
        if call is None:
            return ()
        calls.append(call)
        at = skip(text, call.end)
        if not call.closed or call.problem == _NO_JSON:
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
            (Call(start, len(text), opened_name or "", None, "", closed=False, weak=form.weak),)
            if skip(text, at) == len(text) and not closed
            else ()
        )
    if calls[-1].problem == _NO_JSON or form.closer is None:
        return wrapped(calls, start, calls[-1].end if not is_list else at, closed or calls[-1].problem == _NO_JSON)
    closer = form.closer.match(text, skip(text, at))
    if closer is None and skip(text, at) < len(text):
        later = form.closer.search(text, at)
        if later and calls[-1].closed:
            problem = "Something else is between it and its closing mark."
            calls[-1] = replace(calls[-1], end=later.end(), arguments=None, problem=problem)
            return wrapped(calls, start, later.end(), True)
    return wrapped(calls, start, closer.end() if closer else at, closer is not None and closed)


def _object(form: Form, text: str, at: int, opened_name: str) -> Call | None:
    value = json_at(text, at)
    if value.state != "whole" and form.python:
        value = _python(text, at) or value
    if value.state != "whole":
        later = form.closer.search(text, at) if form.closer else None
        name = opened_name or name_in(text, at)
        if later:
            return Call(at, later.end(), name, None, text[at : later.start()].strip(), problem=_NO_JSON, weak=form.weak)
        return Call(at, len(text), name, None, text[at:], closed=False, weak=form.weak) if value.state == "cut" else None
    source = text[at : value.end]
    read = form.read(source, value.value) if isinstance(value.value, dict) else None
    if read is None:
        return None
    name, arguments, argument_text, call_id, problem = read
    if opened_name and name != opened_name:
        arguments, problem = None, f"It is opened as {opened_name} and named {name}."
    return Call(at, value.end, name, arguments, argument_text or source, call_id, True, (), problem, form.weak)


def _python(text: str, at: int) -> ParsedValue | None:
    """A dict as Python writes it, of values that JSON has too."""
    end = bracket_end(text, at)
    if end < 0:
        return None
    try:
        return ParsedValue("whole", json.loads(json.dumps(ast.literal_eval(text[at:end]), allow_nan=False)), end)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
