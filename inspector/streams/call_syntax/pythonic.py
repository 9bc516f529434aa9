"""Calls that are written as Python: `[f(x=1), g()]`, with literals for values."""

import ast
import json
import re
from typing import Any

from inspector.streams.call_syntax.base import MOST_CALLS, NAME, Call, Tools, skip, wrapped

LONGEST = 65_536
"""Characters of a call that are given to Python's own parser; more is not read."""
_DEEPEST = 50
_PIECES = re.compile(r'"""|' + r"'''|" + r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|' + r"'[^'\\\n]*(?:\\.[^'\\\n]*)*'|[\[\](){}]", re.DOTALL)
_HEAD = re.compile(r"\[\s{0,20}(" + NAME + r")\(")
_START, _END = re.compile(r"<\|python_start\|>|<\|tool_call_start\|>"), re.compile(r"\s*(?:<\|python_end\|>|<\|tool_call_end\|>)")
_CALL = re.compile(r"(" + NAME + r")\(")
_ENDS = {"[": "]", "(": ")", "{": "}"}


def bracket_end(text: str, at: int) -> int:
    """After the bracket that closes the one at `at`; -1 where there is none, or it is nested or long beyond what is read."""
    stack: list[str] = []
    limit = at + LONGEST
    pieces = iter(_PIECES.finditer(text, at, limit))
    for piece in pieces:
        mark = piece[0]
        if mark in ('"""', "'''"):
            # Three quotes: a text over several lines, up to the next three.
            if not any(later[0] == mark for later in pieces):
                return -1
        elif mark in _ENDS:
            stack.append(_ENDS[mark])
            if len(stack) > _DEEPEST:
                return -1
        elif mark in "])}":
            if stack.pop() != mark:
                return -1
            if not stack:
                return piece.end()
    return -1


def calls_in(source: str) -> list[tuple[str, dict[str, Any] | None, str]] | None:
    """Name, arguments (None: not all are literals with a keyword) and text of each call of `[...]` or of one call; None where it is neither."""
    if len(source) > LONGEST:
        return None
    try:
        tree = ast.parse(source.strip(), mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        calls = [_call(node, source.strip()) for node in nodes[:MOST_CALLS]]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return [call for call in calls if call] if calls and all(calls) else None


def _call(node: ast.expr, source: str) -> tuple[str, dict[str, Any] | None, str] | None:
    name = ast.unparse(node.func) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) else ""
    if not isinstance(node, ast.Call) or not re.fullmatch(NAME, name):
        return None
    text = (ast.get_source_segment(source, node) or "")[len(name) + 1 : -1].strip()
    keys = [word.arg for word in node.keywords]
    if node.args or None in keys or len(set(keys)) != len(keys):
        return name, None, text
    try:
        values = {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
        return (
            name,
            json.loads(json.dumps(values, allow_nan=False)) if json.loads(json.dumps(values, allow_nan=False)) == values else None,
            text,
        )
    except (ValueError, TypeError, RecursionError):
        return name, None, text


def python_calls(text: str, at: int, end: int, weak: bool) -> list[Call]:
    """The calls of the Python text between `at` and `end`."""
    parsed_calls = calls_in(text[at:end])
    if not parsed_calls:
        return []
    problem = "Its arguments are not all literals with a keyword."
    calls, start = list[Call](), at
    for number, (name, arguments, source) in enumerate(parsed_calls):
        # Of several, each starts where its name is; sources are looked for in order.
        stop = end if number == len(parsed_calls) - 1 else max(start, text.find(source, start, end) + len(source))
        calls.append(Call(start, stop, name, arguments, source, "", True, (), "" if arguments is not None else problem, weak))
        start = stop
    return calls


def between_tokens(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """`<|python_start|>[f(x=1)]<|python_end|>`, and LFM2's `<|tool_call_start|>[...]<|tool_call_end|>`."""
    opened = _START.match(text, at)
    if opened is None:
        return ()
    begin = skip(text, opened.end())
    head = _HEAD.match(text, begin) or _CALL.match(text, begin)
    if head is None:
        return (Call(at, len(text), "", None, text[begin:], closed=False),) if len(text) - begin < 2 else ()
    end = bracket_end(text, begin if text[begin] == "[" else head.end() - 1)
    if end < 0:
        closer = _END.search(text, begin)
        if closer:
            return (Call(at, closer.end(), head[1], None, text[head.end() : closer.start()], problem="Its text is no Python call."),)
        return (Call(at, len(text), head[1], None, text[head.end() :], closed=False),)
    calls = python_calls(text, begin, end, weak=False)
    closer = _END.match(text, end)
    return wrapped(calls, at, closer.end() if closer else end, closer is not None)


def bare(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """`[f(x=1)]` that is the whole text: any list of Python looks like it, so that every name must be a declared tool's."""
    head = _HEAD.match(text, at)
    if head is None or tools is None or head[1] not in tools:
        return ()
    end = bracket_end(text, at)
    if end < 0:
        return (Call(at, len(text), head[1], None, text[head.end() :], closed=False, weak=True),)
    calls = python_calls(text, at, end, weak=True)
    return tuple(calls) if skip(text, end) == len(text) and all(call.name in tools for call in calls) else ()
