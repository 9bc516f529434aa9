"""The lines of a JSON text: on which one a path begins, and the text with what is wrong below the line that it is about."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from typing import Any

AROUND = 4
"""Lines that are shown before and after one that is marked, in a text of more than MOST."""
MOST = 120
LARGEST = 1_000_000
"""Characters of a text whose lines are shown."""
DEPTH = 3
"""Steps below a path that are looked at for an id: a message has blocks, and a block its call."""
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Line:
    """`marks` say what is wrong there; `skipped` is how many lines before this one are left out."""

    number: int
    text: str
    marks: tuple[str, ...] = ()
    skipped: int = 0


def on_lines(text: str) -> str:
    """As it is where it has lines already, else the same JSON with a line for each value; "" for what is no JSON or too large to be shown."""
    try:
        if len(text) > LARGEST:
            return ""
        value = json.loads(text)
        return text if text.strip().count("\n") > 1 else json.dumps(value, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


def error_line(text: str) -> int | None:
    """Where it stops to be JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno
    except (ValueError, RecursionError):
        return None
    return None


def lines_of(text: str, path: str, words: str = "") -> range | None:
    """The lines of the value at `path`, as deep as the text has it; of its parts that have an id among `words` alone, where there are such.

    None where it has not even the first step. `text` is JSON.
    """
    at = _blank(text, 0)
    steps = path.split(".")
    if text[at : at + 1] == "[" and not steps[0].isdigit():
        # A bare list of messages.
        del steps[0]
    else:
        at = _value_at(text, at, steps.pop(0))
        if at < 0:
            return None
    at = _inner(text, at, steps)
    value, _ = _DECODER.raw_decode(text, at)
    places = [_inner(text, at, named) for named in _named(value, words, DEPTH)] or [at]
    end = max(_DECODER.raw_decode(text, place)[1] for place in places)
    return range(text.count("\n", 0, min(places)) + 1, text.count("\n", 0, end) + 2)


def _inner(text: str, at: int, steps: Iterable[str]) -> int:
    """Where the value after `steps` from the one at `at` begins, or the deepest before it that is there."""
    for step in steps:
        inner = _value_at(text, at, step)
        if inner < 0:
            break
        at = inner
    return at


def _named(value: Any, words: str, depth: int) -> Iterator[list[str]]:
    """The steps to the objects that have an id among `words`."""
    members = tuple(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for step, member in members:
        if isinstance(member, str) and str(step).lower().endswith("id") and member and _is_among(member, words):
            yield []
            return
    for step, member in members if depth else ():
        yield from ([str(step), *steps] for steps in _named(member, words, depth - 1))


def _is_among(name: str, words: str) -> bool:
    return name in words and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", words) is not None


def _blank(text: str, at: int) -> int:
    return int(WHITESPACE.match(text, at).end())


def _value_at(text: str, at: int, step: str) -> int:
    """Where the member or element `step` of the value at `at` begins; -1 where there is none."""
    opening, count = text[at], 0
    if opening not in "{[":
        return -1
    at = _blank(text, at + 1)
    while text[at] not in "}]":
        name = str(count)
        if opening == "{":
            name, end = _DECODER.raw_decode(text, at)
            at = _blank(text, _blank(text, end) + 1)
        if name == step:
            return at
        _, end = _DECODER.raw_decode(text, at)
        at = _blank(text, end)
        if text[at] == ",":
            at = _blank(text, at + 1)
        count += 1
    return -1


def listing(text: str, marks: Iterable[tuple[int, str]]) -> tuple[Line, ...]:
    """Its lines, each with its marks; of a long text those near a mark."""
    by_line: dict[int, list[str]] = {}
    for number, words in marks:
        by_line.setdefault(number, []).append(words)
    lines = text.split("\n")
    near = {number + by for number in by_line for by in range(-AROUND, AROUND + 1)}
    shown = [number for number in range(1, len(lines) + 1) if len(lines) <= MOST or number in near or number <= AROUND]
    return tuple(
        Line(number, lines[number - 1], tuple(by_line.get(number, ())), number - before - 1)
        for before, number in zip([0, *shown], shown, strict=False)
    )
