"""The lines of a JSON text: on which one a path begins, and the text with what is wrong below the line that it is about."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from json.decoder import WHITESPACE  # type: ignore[attr-defined]

AROUND = 4
"""Lines that are shown before and after one that is marked, in a text of more than MOST."""
MOST = 120
LARGEST = 1_000_000
"""Characters of a text whose lines are shown."""
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


def line_of(text: str, path: str) -> int | None:
    """The line on which the value at `path` begins, as deep as the text has it; None where it has not even the first step. `text` is JSON."""
    at = _blank(text, 0)
    steps = path.split(".")
    if text[at : at + 1] == "[" and not steps[0].isdigit():
        # A bare list of messages.
        del steps[0]
    else:
        at = _value_at(text, at, steps.pop(0))
        if at < 0:
            return None
    for step in steps:
        inner = _value_at(text, at, step)
        if inner < 0:
            break
        at = inner
    return text.count("\n", 0, at) + 1


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
