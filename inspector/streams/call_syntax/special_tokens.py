"""Calls between special tokens, each in a syntax of its own: DeepSeek, Kimi, Mistral, Gemma."""

import html
import json
import re
from typing import Any

from inspector.streams.call_syntax.base import KEY, MOST_CALLS, MOST_PARAMETERS, NAME, Call, Tools, json_at, json_of, skip, wrapped

_S = r"\s{0,200}"
_BAR, _LINE = "[｜|]", "[▁_]"
# What may be left of the next tokens where a text breaks off: no blank, but within the attributes of one.
_TOKEN_CUT = re.compile(r"\s{0,200}(?:<\S{0,60}(?: [a-z]{0,16}(?:=\"[^\"\n]{0,128}\"?)?){0,4})?\Z")


def _deepseek(name: str) -> str:
    """A token of DeepSeek's. Its bars are U+FF5C and its lines U+2581; programs that fold to ASCII leave `|` and `_`."""
    return f"<{_BAR}{name.replace(' ', _LINE)}{_BAR}>"


DEEPSEEK_OPENERS = tuple(f"<{bar}tool{line}{what}{line}begin{bar}>" for bar in "｜|" for line in "▁_" for what in ("calls", "call"))
_OUTER, _OUTER_END = re.compile(_deepseek("tool calls begin")), re.compile(_S + _deepseek("tool calls end"))
_HEAD = re.compile(rf"{_S}{_deepseek('tool call begin')}{_S}(?:function{_S}{_deepseek('tool sep')})?{_S}({NAME}){_S}")
_V3 = re.compile(rf"{_S}```json{_S}")
_V3_END = re.compile(rf"{_S}```{_S}{_deepseek('tool call end')}")
_SEPARATOR, _END = re.compile(_deepseek("tool sep") + _S), re.compile(_S + _deepseek("tool call end"))
_ANY_END = re.compile(_deepseek("tool call end"))


def deepseek_v3(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    return _deepseek_calls(text, at, fenced=True)


def deepseek_v31(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    return _deepseek_calls(text, at, fenced=False)


def _deepseek_calls(text: str, start: int, *, fenced: bool) -> tuple[Call, ...]:
    outer = _OUTER.match(text, start)
    at, calls = outer.end() if outer else start, list[Call]()
    while len(calls) < (MOST_CALLS if outer else 1) and (head := _HEAD.match(text, at)):
        begun = (_V3 if fenced else _SEPARATOR).match(text, head.end())
        if begun is None:
            is_cut = re.fullmatch(r"(?:```[json]{0,4}|<[^>]{0,12})?\s*", text[head.end() : head.end() + 20]) and head.end() + 20 >= len(
                text
            )
            if not is_cut or (fenced and not text.startswith("`", head.end())):
                return wrapped(calls, start, at, False)
            # Where it breaks off here, the name may be longer, or be the word `function`.
            calls.append(Call(skip(text, at), len(text), "", None, "", closed=False))
            break
        if begun.end() < len(text) and text[begun.end()] == "<":
            return ()
        name = "" if begun.end() == len(text) and head[1] == "function" else head[1]
        calls.append(_json_call(text, skip(text, at), name, begun.end(), _V3_END if fenced else _END, _ANY_END))
        at = calls[-1].end
        if not calls[-1].closed:
            break
    if not calls:
        return (Call(start, len(text), "", None, "", closed=False),) if outer and not fenced and _TOKEN_CUT.match(text, at) else ()
    closed = _OUTER_END.match(text, at) if outer else None
    return wrapped(calls, start, closed.end() if closed else at, closed is not None or outer is None)


def _json_call(
    text: str, start: int, name: str, begin: int, closer: re.Pattern[str], any_closer: re.Pattern[str], call_id: str = "", problem: str = ""
) -> Call:
    """A call whose arguments are the JSON object at `begin`."""
    begin = skip(text, begin)
    value = json_at(text, begin)
    if value.state == "whole" and (end := closer.match(text, value.end)):
        arguments = value.value if isinstance(value.value, dict) and not problem else None
        problem = problem or ("" if arguments is not None else "Its arguments are no JSON object.")
        return Call(start, end.end(), name, arguments, text[begin : value.end], call_id, True, (), problem)
    if later := any_closer.search(text, begin):
        return Call(start, later.end(), name, None, text[begin : later.start()], call_id, True, (), "Its arguments are no JSON object.")
    arguments = (
        value.value
        if value.state == "whole" and skip(text, value.end) == len(text) and isinstance(value.value, dict) and not problem
        else None
    )
    return Call(start, len(text), name, arguments, text[begin:], call_id, False)


_KIMI_OUTER = re.compile(r"<\|tool_calls?_section_begin\|>")
_KIMI_OUTER_END = re.compile(_S + r"<\|tool_calls?_section_end\|>")
_KIMI_HEAD = re.compile(rf"{_S}<\|tool_call_begin\|>{_S}({NAME}){_S}<\|tool_call_argument_begin\|>")
_KIMI_ID = re.compile(r"(?:functions\.)?([A-Za-z_][A-Za-z0-9_.-]*):\d+")
_KIMI_END, _KIMI_ANY_END = re.compile(_S + r"<\|tool_call_end\|>"), re.compile(r"<\|tool_call_end\|>")


def kimi_k2(text: str, start: int, tools: Tools) -> tuple[Call, ...]:
    """The name is in the id, `functions.f:0`. Section tokens may be missing; a bare counter gives no name."""
    outer = _KIMI_OUTER.match(text, start)
    at, calls = outer.end() if outer else start, list[Call]()
    while len(calls) < (MOST_CALLS if outer else 1) and (head := _KIMI_HEAD.match(text, at)):
        call_id = _KIMI_ID.fullmatch(head[1])
        problem = "" if call_id else "Its id does not contain the name of a tool."
        calls.append(
            _json_call(text, skip(text, at), call_id[1] if call_id else "", head.end(), _KIMI_END, _KIMI_ANY_END, head[1], problem)
        )
        at = calls[-1].end
        if not calls[-1].closed:
            break
    if not calls:
        is_cut = re.fullmatch(r"\s*(?:<\|tool_call_begin\|>[^<>\s]*)?(?:<[^>]*)?", text[at : at + 200]) and at + 200 >= len(text)
        is_ours = outer is not None or text.startswith("<|tool_call_begin|>functions.", start)
        return (Call(start, len(text), "", None, "", closed=False),) if is_cut and is_ours else ()
    closed = _KIMI_OUTER_END.match(text, at) if outer else None
    return wrapped(calls, start, closed.end() if closed else at, closed is not None or outer is None)


_K3 = re.compile(r'<\|(open|close)\|>(\w{1,16})((?: \w{1,16}="[^"<>]{0,200}"){0,8})<\|sep\|>')
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def kimi_k3(text: str, start: int, tools: Tools) -> tuple[Call, ...]:
    """Elements between tokens; arguments say their type."""
    place, calls, opened = start, list[Call](), False
    while len(calls) < MOST_CALLS and (tag := _K3.match(text, skip(text, place))):
        kind = (tag[1], tag[2])
        if kind == ("open", "tools") and not calls and not opened:
            opened, place = True, tag.end()
        elif kind == ("open", "call") and (opened or not calls):
            calls.append(_k3_call(text, tag))
            place = calls[-1].end
            if not calls[-1].closed:
                return wrapped(calls, start, place, False)
        else:
            is_end = kind == ("close", "tools") and opened
            return wrapped(calls, start, tag.end() if is_end else place, is_end or not opened)
    if not calls:
        is_cut = opened or text.startswith(("<|open|>call", "<|open|>tools"), start)
        return (Call(start, len(text), "", None, "", closed=False),) if is_cut and _TOKEN_CUT.match(text, place) else ()
    return wrapped(calls, start, place, not opened)


def _k3_call(text: str, head: re.Match[str]) -> Call:
    attributes = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(head[3])}
    at, values, problem = head.end(), dict[str, Any](), ""
    name, call_id = attributes.get("tool", ""), attributes.get("index", "")
    while len(values) < MOST_PARAMETERS and (tag := _K3.match(text, skip(text, at))):
        if (tag[1], tag[2]) == ("close", "call"):
            source = text[head.end() : tag.start()].strip()
            return Call(head.start(), tag.end(), name, None if problem or not name else values, source, call_id, True, (), problem)
        end = text.find("<|close|>argument<|sep|>", tag.end())
        if (tag[1], tag[2]) != ("open", "argument") or end < 0:
            break
        own = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(tag[3])}
        raw, key = text[tag.end() : end], own.get("key", "")
        if not key or key in values or "<|open|>" in raw:
            problem = f"The argument {key[:100]} is given twice or holds markup of the call itself."
        parsed = json_of(raw) if own.get("type", "string") != "string" else None
        values[key] = parsed.value if parsed else raw
        if parsed and parsed.state != "whole":
            problem = f"The value of {key[:100]} is declared as type {own['type'][:40]} and is none."
        at = end + len("<|close|>argument<|sep|>")
    return Call(head.start(), len(text), name, None, text[head.end() :], call_id, False)


_MISTRAL = re.compile(rf"\[TOOL_CALLS\]{_S}({NAME})(?:\[CALL_ID\]([A-Za-z0-9_-]{{1,64}}))?\[ARGS\]{_S}")
_MISTRAL_CUT = re.compile(rf"\[TOOL_CALLS\]{_S}(?:({NAME})\[(?:CALL_ID\][A-Za-z0-9_-]{{0,64}}|[A-Z_]{{0,8}})(?:\[[A-Z]{{0,4}})?|{NAME})?\Z")


def mistral_args(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """`[TOOL_CALLS]f[ARGS]{...}`: the JSON is the end."""
    head = _MISTRAL.match(text, at)
    if head is None:
        begun = _MISTRAL_CUT.match(text, at) if len(text) - at < 400 else None
        return (Call(at, len(text), begun[1] or "", None, "", closed=False),) if begun else ()
    value = json_at(text, head.end())
    call_id = head[2] or ""
    if value.state == "whole":
        arguments = value.value if isinstance(value.value, dict) else None
        problem = "" if arguments is not None else "Its arguments are no JSON object."
        return (Call(at, value.end, head[1], arguments, text[head.end() : value.end], call_id, True, (), problem),)
    if value.state == "cut" or head.end() == len(text):
        return (Call(at, len(text), head[1], None, text[head.end() :], call_id, False),)
    return (Call(at, head.end(), head[1], None, "", call_id, False, (), "What follows its opening is no JSON."),)


_GEMMA = re.compile(rf"<\|tool_call>{_S}call:({NAME}?){_S}(?=\{{)")
_GEMMA_END = "<tool_call|>"
_GEMMA_PIECES = re.compile(
    r'<\|"\|>(?P<text>.*?)<\|"\|>|(?P<key>'
    + KEY.replace(":", "")
    + r")(?=\s{0,20}:)|(?P<word>true|false|null|-?\d[\d.eE+-]{0,40})|(?P<mark>[{}\[\],:])|\s+",
    re.DOTALL,
)


def gemma(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """A syntax like JSON's with bare keys, and a token for the quotes."""
    head = _GEMMA.match(text, at)
    if head is None:
        is_cut = len(text) - at < 200 and re.fullmatch(r"<\|tool_call>\s*(?:c|ca|cal|call|call:[A-Za-z0-9_.-]*)?", text[at:])
        return (Call(at, len(text), "", None, "", closed=False),) if is_cut else ()
    end = _outside_strings(text, head.end())
    if end < 0:
        return (Call(at, len(text), head[1], None, text[head.end() :], closed=False),)
    source = text[head.end() : end].strip()
    arguments = _gemma_object(source)
    problem = "" if arguments is not None else "Its arguments cannot be read."
    return (Call(at, end + len(_GEMMA_END), head[1], arguments, source, "", True, (), problem),)


def _outside_strings(text: str, at: int) -> int:
    """Where the closing token is that is in no string; -1 where there is none."""
    quoted = False
    for piece in re.compile(r'<\|"\|>|<tool_call\|>').finditer(text, at):
        if piece[0] == _GEMMA_END and not quoted:
            return piece.start()
        quoted ^= piece[0] != _GEMMA_END
    return -1


def _gemma_object(source: str) -> dict[str, Any] | None:
    pieces, at = list[str](), 0
    while at < len(source):
        piece = _GEMMA_PIECES.match(source, at)
        if piece is None:
            return None
        if piece["text"] is not None:
            pieces.append(json.dumps(piece["text"]))
        elif piece["key"] is not None:
            pieces.append(json.dumps(piece["key"]))
        else:
            pieces.append(piece["word"] or piece["mark"] or "")
        at = piece.end()
    value = json_of("".join(pieces))
    return value.value if isinstance(value.value, dict) else None
