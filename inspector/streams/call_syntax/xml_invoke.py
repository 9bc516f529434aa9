"""Calls as nested tags, a head with the name and one tag for each parameter: `<invoke name="f"><parameter name="x">1</parameter></invoke>` and its kin."""

import re
from dataclasses import dataclass
from typing import Any

from inspector.streams.call_syntax.base import (
    KEY,
    MOST_CALLS,
    MOST_PARAMETERS,
    NAME,
    Call,
    Parser,
    Tools,
    json_at,
    json_of,
    schema_of,
    skip,
    typed,
    without_frame,
    wrapped,
)

_S = r"\s{0,200}"
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tags:
    """`outer` is the wrapper (None: there is none), `needed` whether a head without it is no call. `head` and `parameter` have the groups `name`, and the latter may
    have `string`; a head with a group `empty` ends itself. `markup` is what makes a value end in two ways. `json_body`: an object may replace the parameters.
    """

    outer: re.Pattern[str] | None
    outer_end: re.Pattern[str] | None
    head: re.Pattern[str]
    end: re.Pattern[str]
    end_mark: re.Pattern[str]
    """The same without blanks before it, which would be tried at each of them."""
    parameter: re.Pattern[str]
    parameter_end: str
    markup: re.Pattern[str]
    needed: bool = True
    json_body: bool = False
    cdata: bool = False
    doubled: bool = False


def tags(
    prefix: str,
    outer: str | None,
    *,
    needed: bool = True,
    outer_end: str = "",
    head: str = "",
    end: str = "",
    parameter: str = "",
    parameter_end: str = "",
    markup: str = "",
    json_body: bool = False,
    cdata: bool = False,
    doubled: bool = False,
) -> Tags:
    """The form whose tags have `prefix`; what is not given is as in `<invoke name="f">` and `<parameter name="x">`."""
    return Tags(
        re.compile(outer) if outer else None,
        re.compile(_S + (outer_end or "</" + (outer or "")[1:])) if outer else None,
        re.compile(_S + (head or rf'<{prefix}invoke name="(?P<name>{NAME})"{_S}(?P<empty>/?)>')),
        re.compile(_S + (end or rf"</{prefix}invoke>")),
        re.compile(end or rf"</{prefix}invoke>"),
        re.compile(_S + (parameter or rf'<{prefix}parameter name="(?P<name>{KEY})"(?: string="(?P<string>true|false)")?>')),
        parameter_end or f"</{prefix}parameter>",
        re.compile(markup or rf"</?{prefix}(?:invoke|parameter)\b"),
        needed,
        json_body,
        cdata,
        doubled,
    )


def parser(form: Tags) -> Parser:
    def parse(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
        return _read(form, text, at, tools)

    return parse


def _read(form: Tags, text: str, start: int, tools: Tools) -> tuple[Call, ...]:
    outer = form.outer.match(text, start) if form.outer else None
    if outer is None and form.needed and form.outer:
        return ()
    at, calls = outer.end() if outer else start, list[Call]()
    # Without a wrapper every call begins again, with an opener of its own.
    while len(calls) < (MOST_CALLS if outer else 1):
        head = form.head.match(text, at)
        if head is None:
            break
        call = _invoked(form, text, head, tools)
        calls.append(call)
        at = call.end
        if not call.closed:
            break
    if not calls:
        return _beginning(text, start, at, outer is not None)
    if outer is None or form.outer_end is None:
        return wrapped(calls, start, at, True)
    closed = form.outer_end.match(text, at)
    return wrapped(calls, start, closed.end() if closed else at, closed is not None)


_TAG_CUT = re.compile(r"\s{0,200}(?:[<\]][^\s>]{0,40}(?:[ ](?:n(?:a(?:m(?:e(?:=(?:\"[^\"<>\n]{0,128})?)?)?)?)?)?)?)?\Z")


def _beginning(text: str, start: int, at: int, is_opened: bool) -> tuple[Call, ...]:
    """A wrapper or head with which the text ends."""
    if _TAG_CUT.match(text, at) and (is_opened or "name=" in text[at:]):
        return (Call(start, len(text), "", None, text[at:].strip(), closed=False),)
    return ()


def _invoked(form: Tags, text: str, head: re.Match[str], tools: Tools) -> Call:
    start, name = head.start() + len(head[0]) - len(head[0].lstrip()), head["name"]
    if form.doubled and name.count(".") == 1 and len(set(name.split("."))) == 1:
        name = name.split(".")[0]
    if head.groupdict().get("empty"):
        return Call(start, head.end(), name, {}, "")
    at, body = head.end(), head.end()
    values, guessed, problem, schema = dict[str, Any](), list[str](), "", schema_of(tools, name)
    if form.json_body and text.startswith("{", skip(text, at)):
        value = json_at(text, skip(text, at))
        close = form.end.match(text, value.end) if value.state == "whole" else None
        if close and isinstance(value.value, dict):
            return Call(start, close.end(), name, value.value, text[body : close.start()].strip())
    while len(values) < MOST_PARAMETERS and (parameter := form.parameter.match(text, at)):
        end = text.find(form.parameter_end, parameter.end())
        if end < 0:
            return Call(start, len(text), name, None, text[body:], closed=False)
        raw, key = text[parameter.end() : end], parameter["name"]
        if form.markup.search(raw):
            problem = f"The value of {key} holds markup of the call itself and could end elsewhere."
            break
        if key in values:
            problem = f"The parameter {key} is given twice."
            break
        values[key], is_guess, wrong = _value(form, parameter, raw, schema.get(key))
        guessed += [key] if is_guess else []
        problem = problem or wrong
        at = end + len(form.parameter_end)
    close = form.end.match(text, at)
    if close:
        source = text[body : close.start()].strip()
        return Call(start, close.end(), name, None if problem else values, source, guessed=tuple(guessed), problem=problem)
    if skip(text, at) == len(text) or (not problem and _TAG_CUT.match(text, at)):
        return Call(start, len(text), name, None, text[body:], closed=False)
    later = form.end_mark.search(text, at)
    # Up to the next head: what closes another call does not close this one.
    if later and not form.head.search(text, head.end(), later.start()):
        problem = problem or "It contains something else than parameters."
        return Call(start, later.end(), name, None, text[body : later.start()].strip(), problem=problem)
    return Call(start, head.end(), name, None, "", closed=False, problem="What follows its opening is no parameter.")


def _value(form: Tags, parameter: re.Match[str], raw: str, schema: Any) -> tuple[Any, bool, str]:
    is_text = parameter.groupdict().get("string")
    if is_text == "true":
        return raw, False, ""
    if is_text == "false":
        read = json_of(raw)
        return read.value, False, "" if read.state == "whole" else f"The value of {parameter['name']} is declared as JSON and is none."
    if form.cdata and (data := _CDATA.fullmatch(raw.strip())):
        return data[1], False, ""
    value, is_guess = typed(without_frame(raw), schema)
    return value, is_guess, ""


FUNCTION = tags(
    "",
    rf"<tool_call>{_S}(?=<function=)",
    needed=False,
    outer_end="</tool_call>",
    head=rf"<function=(?P<name>{NAME})>",
    end="</function>",
    parameter=rf"<parameter=(?P<name>{KEY})>",
    parameter_end="</parameter>",
    markup=r"</?(?:function|parameter|tool_call)\b",
)

_OLD = re.compile(rf"<invoke>{_S}<tool_name>({NAME})</tool_name>{_S}<parameters>")
_OLD_PARAMETER = re.compile(rf"{_S}<({KEY})>")
_OLD_END = re.compile(rf"{_S}</parameters>{_S}</invoke>")
_OLD_OUTER, _OLD_OUTER_END = re.compile(rf"<function_calls>{_S}(?=<invoke>)"), re.compile(rf"{_S}</function_calls>")


def oldest(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """`<invoke><tool_name>f</tool_name><parameters><x>1</x></parameters></invoke>`: the tag of a parameter is its name."""
    outer = _OLD_OUTER.match(text, at)
    start, calls = skip(text, outer.end()) if outer else at, list[Call]()
    while len(calls) < (MOST_CALLS if outer else 1) and (head := _OLD.match(text, start)):
        call = _oldest(text, start, head, tools)
        calls.append(call)
        if not call.closed:
            return wrapped(calls, at, call.end, False)
        start = skip(text, call.end)
    closed = _OLD_OUTER_END.match(text, calls[-1].end) if outer and calls else None
    return wrapped(calls, at, closed.end() if closed else calls[-1].end if calls else at, closed is not None or outer is None)


def _oldest(text: str, start: int, head: re.Match[str], tools: Tools) -> Call:
    at, values, guessed, schema = head.end(), dict[str, Any](), list[str](), schema_of(tools, head[1])
    while len(values) < MOST_PARAMETERS and (parameter := _OLD_PARAMETER.match(text, at)):
        end = text.find(f"</{parameter[1]}>", parameter.end())
        if end < 0 or parameter[1] in values:
            break
        values[parameter[1]], is_guess = typed(without_frame(text[parameter.end() : end]), schema.get(parameter[1]))
        guessed += [parameter[1]] if is_guess else []
        at = end + len(parameter[1]) + 3
    close = _OLD_END.match(text, at)
    if close:
        return Call(start, close.end(), head[1], values, text[head.end() : close.start()].strip(), guessed=tuple(guessed))
    return Call(start, len(text), head[1], None, text[head.end() :], closed=False)


def legacy(form: Tags) -> Parser:
    """The form with names in attributes, and the oldest one with names in tags."""

    def parse(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
        return oldest(text, at, tools) or _read(form, text, at, tools)

    return parse


_NS = r"\]<\]minimax\[>\["
_NS_TAG = re.compile(rf"\s{{0,200}}{_NS}\s{{0,20}}<(/?)([A-Za-z0-9_.:-]{{1,128}})(?: name=\"({NAME})\")?>")


def namespaced(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """MiniMax M3: a namespace token before every tag; a parameter's tag is its name, and its value goes to the next such token."""
    opened = _NS_TAG.match(text, at)
    if opened is None or opened[1] or opened[2] not in ("tool_call", "invoke"):
        return ()
    is_wrapped = opened[2] == "tool_call"
    place, calls = opened.end() if is_wrapped else at, list[Call]()
    while len(calls) < MOST_CALLS and (head := _NS_TAG.match(text, place)) and head[2] == "invoke" and head[3] and not head[1]:
        call = _in_namespace(text, head, tools)
        calls.append(call)
        place = call.end
        if not call.closed:
            break
    if not calls:
        return (Call(at, len(text), "", None, text[place:], closed=False),) if len(text) - place < 40 else ()
    closer = _NS_TAG.match(text, place)
    is_closed = closer is not None and (closer[1], closer[2]) == ("/", "tool_call")
    return wrapped(calls, at, closer.end() if closer and is_closed else place, is_closed or not is_wrapped)


def _in_namespace(text: str, head: re.Match[str], tools: Tools) -> Call:
    start, at, values, guessed = head.start(), head.end(), dict[str, Any](), list[str]()
    schema = schema_of(tools, head[3])
    while tag := _NS_TAG.match(text, at):
        source = text[head.end() : tag.start()]
        if tag[1] and tag[2] == "invoke":
            return Call(start, tag.end(), head[3], values, source, guessed=tuple(guessed))
        end = text.find("]<]minimax[>[", tag.end())
        closer = _NS_TAG.match(text, end) if end >= 0 else None
        if end < 0 or closer is None:
            break
        if tag[1] or (closer[1], closer[2]) != ("/", tag[2]) or tag[2] in values or len(values) == MOST_PARAMETERS:
            # Tags within a value: lists and objects, which this form writes in ways that are not read here.
            later = re.compile(rf"{_NS}\s{{0,20}}</invoke>").search(text, at)
            if later:
                return Call(
                    start,
                    later.end(),
                    head[3],
                    None,
                    text[head.end() : later.start()],
                    problem="It holds more than one value for each parameter.",
                )
            break
        values[tag[2]], is_guess = typed(text[tag.end() : end], schema.get(tag[2]))
        guessed += [tag[2]] if is_guess else []
        at = closer.end()
    return Call(start, len(text), head[3], None, text[head.end() :], closed=False)
