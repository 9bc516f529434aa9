"""Where the members and elements of a JSON text are, and the text with some of them exchanged: all between them stays as it is."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from inspector.text import jsontext

_SPACE = re.compile(r"[ \t\n\r]*")
_BLANKS = " \t\n\r"
_NAME = re.compile(r'"([^"\\]*)"[ \t\n\r]*:[ \t\n\r]*')
"""The name of a member without escapes, as nearly all are, up to its value."""
_NEXT = re.compile(r"[ \t\n\r]*,?[ \t\n\r]*")
_DECODER = json.JSONDecoder()

Span = tuple[int, int]
Piece = tuple[str, int | None]
"""A new text, and the number of the old piece whose place it takes; None = it had none."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A value whose JSON text is known."""

    text: str


def skip(text: str, at: int) -> int:
    """The next place from `at` on that is no white space."""
    if text[at : at + 1] not in _BLANKS:
        return at
    space = _SPACE.match(text, at)
    return space.end() if space else at


def elements(text: str) -> list[Span]:
    """Where each element of the array `text` is. The text must be JSON that `jsontext.parse` has accepted."""
    spans: list[Span] = []
    at = skip(text, skip(text, 0) + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        spans.append((at, end))
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)
    return spans


def members(text: str) -> dict[str, tuple[int, int, int]]:
    """Start of the name, start and end of the value of each member of the object `text`; of two equal names the last, as JSON.parse has it."""
    return {name: (start, at, end) for name, start, at, end in member_spans(text)}


def member_spans(text: str) -> list[tuple[str, int, int, int]]:
    """As `members`, of equal names each one: name, start of the name, start and end of the value."""
    return [(name, start, at, end) for name, start, at, end, _ in member_values(text)]


MemberValue = tuple[str, int, int, int, Any]


def member_values(text: str) -> list[MemberValue]:
    """As `member_spans`, each with its value at the end."""
    spans: list[MemberValue] = []
    at = skip(text, skip(text, 0) + 1)
    while text[at] != "}":
        start = at
        if plain := _NAME.match(text, at):
            name, at = plain[1], plain.end()
        else:
            name, at = _DECODER.raw_decode(text, at)
            at = skip(text, skip(text, at) + 1)
        value, end = _DECODER.raw_decode(text, at)
        spans.append((name, start, at, end, value))
        after = _NEXT.match(text, end)
        at = after.end() if after else end
    return spans


def value_of(text: str, name: str) -> str | None:
    """The text of a member; None where `text` is no object or has no such member."""
    if text[skip(text, 0) :][:1] != "{":
        return None
    span = members(text).get(name)
    return None if span is None else text[span[1] : span[2]]


def rearranged(text: str, spans: Sequence[Span], pieces: Sequence[Piece]) -> str:
    """The array or object `text` with `pieces` instead of what is at `spans`; what separated two neighbors still does, and joins new ones too."""
    opening = skip(text, 0) + 1
    closing = len(text.rstrip(" \t\n\r")) - 1
    if not spans:
        return text[:opening] + ", ".join(piece for piece, _ in pieces) + text[closing:]
    between = [text[end:start] for (_, end), (start, _) in pairwise(spans)]
    usual = between[0] if between else "," + (text[opening : spans[0][0]] or " ")
    parts: list[str] = []
    previous: int | None = None
    for number, (piece, old) in enumerate(pieces):
        if number:
            follows = old is not None and previous is not None and old == previous + 1
            parts.append(between[previous] if follows and previous is not None else usual)
        parts.append(piece)
        previous = old
    if not parts:
        return text[:opening] + text[closing:]
    return text[: spans[0][0]] + "".join(parts) + text[spans[-1][1] :]


def amended(
    text: str, values: dict[str, str], removed_names: frozenset[str] = frozenset(), known_members: Sequence[MemberValue] | None = None
) -> str:
    """The object `text` with members set to other texts or left out; new ones follow the others. `known_members` are its `member_values`, where they are known."""
    spans = member_values(text) if known_members is None else known_members
    last = {name: number for number, (name, *_) in enumerate(spans)}
    if not removed_names and values.keys() <= last.keys():
        return _exchanged(text, [(*spans[number][2:4], values[spans[number][0]]) for number in sorted(last[name] for name in values)])
    pieces: list[Piece] = []
    for number, (name, start, at, end, _) in enumerate(spans):
        if name in removed_names:
            continue
        is_set = name in values and last[name] == number
        pieces.append((text[start:at] + values[name] if is_set else text[start:end], number))
    # After the name, whose text may have other escapes than ours.
    colon = ":" if not spans else text[spans[0][1] : spans[0][2]].rpartition('"')[2]
    pieces += [(f"{jsontext.compact(name)}{colon}{value}", None) for name, value in values.items() if name not in last]
    return rearranged(text, [(start, end) for _, start, _, end, _ in spans], pieces)


def _exchanged(text: str, places: Sequence[tuple[int, int, str]]) -> str:
    """The text with what is at each place (start, end, in order) exchanged for another text."""
    parts: list[str] = []
    at = 0
    for start, end, new in places:
        parts += (text[at:start], new)
        at = end
    return "".join((*parts, text[at:]))


def encoded(value: Any) -> str:
    """Compact JSON; a Verbatim in it keeps its own text."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{jsontext.compact(name)}:{encoded(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(encoded(item) for item in value) + "]"
    return jsontext.compact(value)
