"""Calls whose tag is the tool and whose children are its parameters: `<read_file><path>a</path></read_file>`, alone or in toolbridge's wrapper."""

import html
import re
from itertools import islice
from typing import Any

from inspector.streams.call_syntax.base import MOST_CALLS, MOST_PARAMETERS, Call, Tools, json_of, schema_of, skip, typed, wrapped

_TAG = r"[A-Za-z_][A-Za-z0-9_.-]{0,127}"
_OPEN = re.compile(rf"<(?:[A-Za-z_]\w{{0,40}}:)?({_TAG})(?:\s[^<>]{{0,2000}})?(/?)>")
_MOST_NESTED = 1000
_WRAPPER, _WRAPPER_END = re.compile(r"<toolbridge[_:]calls>"), re.compile(r"</toolbridge[_:]calls>")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?")
_BEGUN = re.compile(rf"\s{{0,200}}(?:</?(?:{_TAG})?)?\Z")


def _closing(text: str, name: str, at: int) -> re.Match[str] | None:
    """The closing tag that belongs to the tag which was opened before `at`; tags of the same name within it are counted."""
    depth = 1
    tags = re.compile(rf"<(/?)(?:[A-Za-z_]\w{{0,40}}:)?{re.escape(name)}(?=[\s/>])[^<>]{{0,2000}}>").finditer(text, at)
    for match in islice(tags, _MOST_NESTED):
        depth += -1 if match[1] else 0 if match[0].endswith("/>") else 1
        if depth == 0:
            return match
    return None


def in_wrapper(text: str, start: int, tools: Tools) -> tuple[Call, ...]:
    """toolbridge: numbers and the words of booleans are converted, character references and CDATA decoded, a repeated child is a list."""
    opened = _WRAPPER.match(text, start)
    if opened is None:
        return ()
    at, calls = opened.end(), list[Call]()
    while len(calls) < MOST_CALLS and (tag := _OPEN.match(text, skip(text, at))):
        call = _called(text, tag, tools, converts=True)
        if call is None:
            return ()
        calls.append(call)
        at = call.end
        if not call.closed:
            break
    if not calls:
        return (Call(start, len(text), "", None, "", closed=False),) if _BEGUN.match(text, at) else ()
    closed = _WRAPPER_END.match(text, skip(text, at))
    return wrapped(calls, start, closed.end() if closed else at, closed is not None)


def direct(text: str, at: int, tools: Tools) -> tuple[Call, ...]:
    """A declared tool's own tag. Any document of tags looks like it: it must not be within one."""
    tag = _OPEN.match(text, at)
    # A tag with a namespace or attributes is one of a document.
    if tag is None or tools is None or tag[1] not in tools or tag[0] not in (f"<{tag[1]}>", f"<{tag[1]}/>"):
        return ()
    call = _called(text, tag, tools, converts=False)
    return (call,) if call and not call.problem else ()


def _called(text: str, tag: re.Match[str], tools: Tools, *, converts: bool) -> Call | None:
    name = tag[1]
    if converts and tools is not None and name not in tools:
        name = next((tool for tool in sorted(tools) if tool.lower() == name.lower()), name)
    if tag[2]:
        return Call(tag.start(), tag.end(), name, {}, "")
    end = _closing(text, tag[1], tag.end())
    if end is None:
        # Cut off, and not another document: it must go on with a child.
        child = _OPEN.match(text, skip(text, tag.end()))
        is_cut = child is not None or _BEGUN.match(text, tag.end()) is not None
        return Call(tag.start(), len(text), name, None, text[tag.end() :], closed=False) if is_cut else None
    body = text[tag.end() : end.start()]
    values, guessed, problem = _children(body, schema_of(tools, name), converts=converts)
    return Call(tag.start(), end.end(), name, None if problem else values, body.strip(), "", True, tuple(guessed), problem)


def _children(body: str, schema: Any, *, converts: bool) -> tuple[dict[str, Any], list[str], str]:
    values, guessed, at = dict[str, list[Any]](), list[str](), skip(body, 0)
    count = 0
    while at < len(body):
        tag = _OPEN.match(body, at)
        end = None if tag is None or tag[2] else _closing(body, tag[1], tag.end())
        count += 1
        if tag is None or count > MOST_PARAMETERS or (end is None and not tag[2]):
            return {}, [], "It holds something else than one tag for each parameter."
        raw = body[tag.end() : end.start()] if end else ""
        if converts:
            value = _converted(raw)
        else:
            value, is_guess = typed(raw[1:-1] if len(raw) > 1 and raw[0] == raw[-1] == "\n" else raw, schema.get(tag[1]))
            guessed += [tag[1]] if is_guess else []
        values.setdefault(tag[1], []).append(value)
        at = skip(body, end.end() if end else tag.end())
    return {key: items[0] if len(items) == 1 else items for key, items in values.items()}, guessed, ""


def _converted(raw: str) -> Any:
    bare = raw.strip()
    if bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    if _NUMBER.fullmatch(bare):
        return json_of(bare).value
    if "<" in bare and not bare.startswith("<![CDATA["):
        return raw
    data = _CDATA.fullmatch(bare)
    return data[1] if data else html.unescape(raw)
