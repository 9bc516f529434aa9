"""Calls as a bare name and pairs of keys and values: `<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>`."""

import re
from dataclasses import dataclass
from typing import Any

from inspector.streams.call_syntax.base import (
    MOST_CALLS,
    MOST_PARAMETERS,
    NAME,
    Call,
    Parser,
    Tools,
    json_of,
    schema_of,
    skip,
    typed,
    wrapped,
)

_S = r"\s{0,200}"
# Hunyuan's tokens may carry a suffix, the same one in a whole call.
_SUFFIX = r"(?:[:_][A-Za-z0-9]{1,16})?"


@dataclass(frozen=True, slots=True)
class Pairs:
    """`prefix` is before the names of all tags; `call` is the tag of a call, `outer` that of the wrapper ("": there is none). `lines`: the name ends with a line (None: either)."""

    call: str
    outer: str = ""
    prefix: str = ""
    needed: bool = False
    lines: bool | None = None

    def pattern(self, name: str, closing: bool = False) -> re.Pattern[str]:
        return re.compile(f"{_S}<{'/' if closing else ''}{re.escape(self.prefix)}{name}{_SUFFIX if not self.prefix else ''}>")


def parser(form: Pairs) -> Parser:
    outer, outer_end = form.pattern(form.outer), form.pattern(form.outer, closing=True)
    head = re.compile(form.pattern(form.call).pattern + rf"{_S}({NAME})(\s{{0,200}})(?=<)(?:<tool_sep{_SUFFIX}>)?")
    opener, end = form.pattern(form.call), form.pattern(form.call, closing=True)
    key, key_end = form.pattern("arg_key"), form.pattern("arg_key", closing=True)
    kind = re.compile(rf"{_S}<{re.escape(form.prefix)}arg_type>([a-z]{{1,16}})</{re.escape(form.prefix)}arg_type>")
    value, value_end = form.pattern("arg_value"), form.pattern("arg_value", closing=True)

    def parse(text: str, start: int, tools: Tools) -> tuple[Call, ...]:
        opened = outer.match(text, start) if form.outer else None
        if form.needed and opened is None:
            return ()
        at, calls = opened.end() if opened else start, list[Call]()
        while len(calls) < (MOST_CALLS if opened else 1) and (called := head.match(text, at)):
            if form.lines is not None and ("\n" in called[2]) is not form.lines:
                return ()
            call = call_at(text, called, tools)
            if call is None:
                return ()
            calls.append(call)
            at = call.end
            if not call.closed:
                break
        if not calls:
            begun = opener.match(text, at)
            is_cut = begun is not None and re.fullmatch(rf"\s*(?:{NAME})?\s*(?:<[^>\s]{{0,20}})?", text[begun.end() : begun.end() + 200])
            is_end = begun is not None and is_cut is not None and begun.end() + 200 >= len(text)
            is_end = is_end or (
                opened is not None and re.fullmatch(r"\s*(?:<[^>\s]{0,20})?", text[at : at + 40]) is not None and at + 40 >= len(text)
            )
            return (Call(start, len(text), "", None, "", closed=False),) if is_end and form.lines is not True else ()
        closed = outer_end.match(text, at) if opened else None
        return wrapped(calls, start, closed.end() if closed else at, closed is not None or opened is None)

    def call_at(text: str, called: re.Match[str], tools: Tools) -> Call | None:
        start, name, at = skip(text, called.start()), called[1], called.end()
        values, guessed, problem, schema = dict[str, Any](), list[str](), "", schema_of(tools, name)
        while len(values) < MOST_PARAMETERS and (opened := key.match(text, at)):
            closed = key_end.search(text, opened.end())
            type_mark = kind.match(text, closed.end()) if closed else None
            begun = value.match(text, type_mark.end() if type_mark else closed.end()) if closed else None
            ended = value_end.search(text, begun.end()) if begun else None
            if closed is None or begun is None or ended is None:
                is_cut = closed is None or ended is None
                return Call(start, len(text), name, None, text[called.end() :], closed=False) if is_cut else None
            # A pattern's leading blanks belong to the value.
            raw, own = text[begun.end() : ended.end() - len(ended[0].lstrip())], text[opened.end() : closed.start()].strip()
            if not own or own in values or key.search(raw) or opener.search(raw):
                problem = f"The parameter {own[:100]} is given twice or holds markup of the call itself."
                values[own] = None
            elif type_mark and type_mark[1] not in ("string", "str"):
                read = json_of(raw)
                values[own] = read.value
                problem = problem or (
                    "" if read.state == "whole" else f"The value of {own[:100]} is declared as type {type_mark[1]} and is none."
                )
            else:
                values[own], is_guess = (raw, False) if type_mark else typed(raw, schema.get(own))
                guessed += [own] if is_guess else []
            at = ended.end()
        closing = end.match(text, at)
        if closing:
            source = text[called.end() : closing.start()].strip()
            return Call(
                start, closing.end(), name, None if problem else values, source, guessed=tuple(guessed), problem=problem, weak=not values
            )
        if re.fullmatch(r"\s*(?:<[^>\s]{0,20})?", text[at : at + 60]) and at + 60 >= len(text):
            return Call(start, len(text), name, None, text[called.end() :], closed=False)
        return None

    return parse
