"""The lines of a JSON text: on which one a path begins, and the text with what is wrong below the line that it is about."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from typing import Any

from inspector.text import jsontext

AROUND = 4
"""Lines that are shown before and after one that is marked, in a text of more than MOST."""
MOST = 120
LARGEST = 1_000_000
"""Characters of a text whose lines are shown."""
DEPTH = 3
"""Steps below a path that are looked at for an id: a message has blocks, and a block its call."""
_DECODER = json.JSONDecoder()
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(frozen=True, slots=True)
class Line:
    """`marks` say what is wrong there; `skipped` is how many lines before this one are left out."""

    number: int
    text: str
    marks: tuple[str, ...] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class LineChange:
    """Lines that a repair takes out or puts in, a value each. `lines` of the text are those taken out, else the one after which the others belong."""

    lines: range
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether a page shows all that is put in, so that it can be copied."""
        return 0 < len(self.added) <= 40 and all(len(line) <= 300 for line in self.added)


def on_lines(text: str) -> str:
    """As it is where it has lines already or a key twice, else the same JSON with a line for each value; "" for what is no JSON or too large to be shown."""
    try:
        if len(text) > LARGEST:
            return ""
        value = json.loads(text, object_pairs_hook=_unique_keys)
        return text if text.strip().count("\n") > 1 else json.dumps(value, indent=2, ensure_ascii=False)
    except _Doubled:
        return text
    except (ValueError, RecursionError):
        return ""


class _Doubled(Exception):
    """Written again, one of both would be gone."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Doubled
    return value


def error_line(text: str) -> int | None:
    """Where it stops to be JSON; None where it does not, or only ends too early."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return None if jsontext.ends_early(error) else error.lineno
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


def line_changes(text: str, repaired: str) -> tuple[LineChange, ...]:
    """Both are JSON. () where a line of `text` cannot be named: of an object that has a member twice, one is not in what is compared."""
    before, after = (json.dumps(json.loads(body), indent=2, ensure_ascii=False).split("\n") for body in (text, repaired))
    # The same values in the same order, however the text is laid out.
    places = [number for number, line in enumerate(text.split("\n"), start=1) for _ in _TOKEN.finditer(line)]
    tokens = [0, *accumulate(sum(1 for _ in _TOKEN.finditer(line)) for line in before)]
    if tokens[-1] != len(places):
        return ()
    # A value that becomes the last, or is it no more, changes by its comma alone.
    values, new_values = ([line.rstrip(",") for line in lines] for lines in (before, after))
    changes, room = [], 0
    for kind, start, end, first, last in SequenceMatcher(None, values, new_values).get_opcodes():
        if kind == "equal":
            room = end - start
            continue
        up = min(room, _steps_up(new_values, first, last) if kind == "insert" else _steps_up(values, start, end) if kind == "delete" else 0)
        start, end, first, last, room = start - up, end - up, first - up, last - up, 0
        lines = range(places[tokens[start] if end > start else max(0, tokens[start] - 1)], places[max(0, tokens[end] - 1)] + 1)
        added = _flush_left(after[first:last])
        if kind == "insert" and start and after[first - 1] == f"{before[start - 1]},":
            # It comes after what was the last, and whoever copies it copies the comma.
            added = (f", {added[0]}", *added[1:])
        changes.append(LineChange(lines, _flush_left(before[start:end]), added))
    return tuple(changes)


def _steps_up(lines: list[str], start: int, end: int) -> int:
    """How far a run of lines can begin earlier and say the same, until it begins with the bracket of what it is."""
    outermost, up = min(map(_indent, lines[start:end])), 0
    while start > up and lines[start - up - 1] == lines[end - up - 1] and _indent(lines[start - up]) > outermost:
        up += 1
    return up


def _flush_left(lines: list[str]) -> tuple[str, ...]:
    indent = min(map(_indent, lines), default=0)
    return tuple(line[indent:] for line in lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


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
