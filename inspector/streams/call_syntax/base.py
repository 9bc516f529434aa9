"""What a syntax is, what its parser gives, and how values in text are read: exactly or not at all."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

Tools = Collection[str] | None
"""Names of the tools that the request declared (None: not known); as a mapping, with the JSON schema of each tool's parameters."""

NAME = r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}"
KEY = r"[A-Za-z0-9_.:-]{1,128}"
# More than this is no message of a model, and each costs a look at what follows it.
MOST_CALLS = 200
MOST_PARAMETERS = 200
_SPACE = re.compile(r"\s*")
_LITERAL_START = frozenset('-0123456789tfnTFN[{"')
_LITERALS = {"True": True, "False": False, "None": None}
_NAMED = re.compile(r'"(?:name|tool_name)"\s{0,20}:\s{0,20}"(' + NAME + ')"')


class Sort(StrEnum):
    """`tokens`: special tokens that no prose holds; `tags`: XML-like tags or a prefix made for calls; `loose`: shapes of ordinary text, recognized by the tool's name alone."""

    TOKENS = "tokens"
    TAGS = "tags"
    LOOSE = "loose"


@dataclass(frozen=True, slots=True)
class Call:
    """A call as written at `start` to `end`; the first of a wrapper starts with it, the last ends with it.

    `arguments` is None where they are cut off or could be read in two ways (`problem`: a sentence). `guessed` names parameters that may be text or another value:
    they are kept as text. `weak`: written without the marks of its syntax. `closed`: nothing of its syntax is missing. A call with a problem that is not closed is
    no more than an opening: `end` is the end of that.
    """

    start: int
    end: int
    name: str
    arguments: dict[str, Any] | None
    argument_text: str
    call_id: str = ""
    closed: bool = True
    guessed: tuple[str, ...] = ()
    problem: str = ""
    weak: bool = False


Parser = Callable[[str, int, Tools], tuple[Call, ...]]
"""Text, place of an opener, declared tools; returns the calls that begin there, none where it is another syntax."""


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """`openers` are literals with which it begins; `whole` parses the form that has none and is only looked for where it is the whole text."""

    id: str
    title: str
    models: str
    openers: tuple[str, ...]
    parser: Parser
    sort: Sort = Sort.TAGS
    gives_id: bool = False
    note: str = ""
    whole: Parser | None = None


def skip(text: str, at: int) -> int:
    """The first place at or after `at` that is no white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


class ParsedValue(NamedTuple):
    """`state`: whole, cut (the text ends within it) or bad."""

    state: str
    value: Any
    end: int


def _no_constant(name: str) -> Any:
    raise Unreadable("not-json", f"not JSON: {name} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def json_at(text: str, at: int) -> ParsedValue:
    """The JSON value that begins at `at`."""
    try:
        _, end = _DECODER.raw_decode(text, at)
        return ParsedValue("whole", jsontext.parse(text[at:end]), end)
    except json.JSONDecodeError as error:
        is_cut = error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip()) - len("fals") or error.pos >= len(text) - 6
        return ParsedValue("cut" if is_cut else "bad", None, len(text) if is_cut else at)
    except (ValueError, RecursionError):
        return ParsedValue("bad", None, at)


def json_of(text: str) -> ParsedValue:
    """The value of `text` as a whole."""
    at = skip(text, 0)
    value = json_at(text, at)
    return value if value.state == "whole" and skip(text, value.end) == len(text) else ParsedValue("bad", None, 0)


def name_in(text: str, at: int) -> str:
    """The name that damaged JSON still has whole."""
    match = _NAMED.search(text, at, at + 4000)
    return match[1] if match else ""


def schema_of(tools: Tools, name: str) -> Mapping[str, Any]:
    """What the request declares of the parameters of a tool, by name; nothing where it does not."""
    schema = tools.get(name) if isinstance(tools, Mapping) else None
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def typed(text: str, schema: Any) -> tuple[Any, bool]:
    """The value that untyped `text` stands for, and whether it had to be guessed.

    A declared type decides: text, or JSON and then the words of Python. Without one, text that could be another value too stays text, and that is reported.
    """
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind == "string":
        return text, False
    bare = text.strip()
    if bare[:1] not in _LITERAL_START:
        return text, isinstance(kind, str)
    value = json_of(bare) if bare not in _LITERALS else ParsedValue("whole", _LITERALS[bare], len(bare))
    if value.state != "whole":
        return text, isinstance(kind, str)
    return (value.value, False) if isinstance(kind, str) and _fits(value.value, kind) else (text, True)


def _fits(value: Any, kind: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "integer": is_number and value == value // 1 if is_number else False,
        "number": is_number,
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
        "null": value is None,
    }.get(kind, False)


def without_frame(value: str) -> str:
    """Models set a value in lines of its own: one newline on each side is frame, everything else is value."""
    value = value[1:] if value.startswith("\n") else value
    return value[:-1] if value.endswith("\n") else value


def wrapped(calls: list[Call], start: int, end: int, closed: bool) -> tuple[Call, ...]:
    """The calls with what is around them: the first starts, the last ends with the wrapper; where that is not closed, the last is not."""
    if calls:
        calls[0] = replace(calls[0], start=start)
        calls[-1] = replace(calls[-1], end=max(end, calls[-1].end), closed=calls[-1].closed and closed)
    return tuple(calls)
