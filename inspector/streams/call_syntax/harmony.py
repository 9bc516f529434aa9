"""gpt-oss's harmony: a message on a channel that is addressed to a tool."""

import re
from typing import Any

from inspector.streams.call_syntax.base import NAME, Call, Tools, json_at, name_in, skip

_B = r"[ \t\r\n]{0,20}"
_START = r"(?:<\|start\|>)?(?:assistant)?"
_TO = rf"to=(?P<to>{NAME})"
_FORMS = (
    re.compile(
        rf"{_START}{_B}<\|channel\|>{_B}(?:commentary|analysis|final){_B}{_TO}{_B}(?:<\|constrain\|>{_B}\w{{1,20}}|json|code)?{_B}<\|message\|>"
    ),
    re.compile(
        rf"{_START}{_B}{_TO}{_B}<\|channel\|>{_B}(?:commentary|analysis|final){_B}(?:<\|constrain\|>{_B}\w{{1,20}}|json|code)?{_B}<\|message\|>"
    ),
)
_LEAKED = re.compile(rf"{_START}(?:commentary|analysis){_B}to=(?P<to>functions\.{NAME})(?:{_B}(?:json|code)\b)?{_B}(?=\{{)")
_BEGUN = re.compile(
    rf"{_START}{_B}(?:<\|channel\|>{_B}(?:commentary|analysis){_B})?(?:to=[A-Za-z0-9_.:-]{{0,128}})?[^\S\n]?(?:<\|?[a-z]{{0,12}}\|?>?)?(?:json)?\Z"
)
_CALL = "<|call|>"


def parse(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """`to=` may be before or after the channel; where a server stripped the tokens, words are left, which only a declared name makes a call."""
    head = next((match for form in _FORMS if (match := form.match(text, at))), None)
    leaked = None if head else _LEAKED.match(text, at)
    opened = head or leaked
    if opened is None:
        begun = _BEGUN.match(text, at) if len(text) - at < 300 else None
        return (Call(at, len(text), "", None, "", closed=False),) if begun and "to=" in begun[0] else ()
    name = opened["to"].removeprefix("functions.")
    begin = skip(text, opened.end())
    value = json_at(text, begin) if begin < len(text) else None
    if value is None or value.state == "cut":
        return (Call(at, len(text), name, None, text[begin:], closed=False, weak=leaked is not None),)
    if value.state == "whole":
        end = skip(text, value.end)
        is_closed = text.startswith(_CALL, end)
        arguments: dict[str, Any] | None = value.value if isinstance(value.value, dict) else None
        stop = end + len(_CALL) if is_closed else value.end
        problem = "" if arguments is not None else "Its arguments are no JSON object."
        return (
            Call(at, stop, name, arguments, text[begin : value.end], "", is_closed or leaked is not None, (), problem, leaked is not None),
        )
    end = text.find(_CALL, begin)
    if end < 0:
        return (Call(at, opened.end(), name, None, "", closed=False, problem="What follows its head is no JSON.", weak=leaked is not None),)
    name = name or name_in(text, begin)
    return (Call(at, end + len(_CALL), name, None, text[begin:end], problem="Its arguments are no JSON.", weak=leaked is not None),)
