"""The example of a rule after a strategy of the rule: computed from the strategy, once for each of both."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from inspector.conversation import notation
from inspector.conversation.edits import apply
from inspector.conversation.model import Chunk
from inspector.conversation.tree import about_of
from inspector.programs.catalogue import FORMATS
from inspector.rules.base import Case, Rule
from inspector.rules.case_notation import load_case
from inspector.strategies.catalogue import strategy
from inspector.text import jsontext

EXAMPLE_READ_AT = 1_782_600_000_000
"""When the store of an example was read (epoch ms), for the rules that ask how long ago something was."""
_COLUMNS = 4
"""Before the content: seq, role, number, kind."""
_PLACES = re.compile(r" (?=(?:entry|parent)=\S+(?: (?:entry|parent)=\S+)*$)")
_SUPPOSED = ("id", "timestamp", "parentId", "role")
"""What the notation gives each entry of a tree, or says in words of its own."""


@dataclass(frozen=True, slots=True)
class ExampleText:
    """A column of a line; `is_changed` where the repair writes another one."""

    text: str
    is_changed: bool


@dataclass(frozen=True, slots=True)
class RepairedExample:
    """`lines` after the repair; `changed` has the columns that it changes in the lines before, by seq."""

    strategy: str
    lines: tuple[tuple[ExampleText, ...], ...]
    changed: dict[str, frozenset[int]]


def example_case(rule: Rule) -> Case:
    return load_case(rule.example, FORMATS[0].default_reader, EXAMPLE_READ_AT)


def repaired_example(rule: Rule) -> RepairedExample | None:
    """By the first strategy of the rule that repairs it."""
    return next(filter(None, (example_repaired_by(rule, name) for name in rule.repaired_by)), None)


@lru_cache(maxsize=512)
def example_repaired_by(rule: Rule, strategy_name: str) -> RepairedExample | None:
    """None where the rule still reports something after the strategy, or no line of a chunk changes."""
    case = example_case(rule)
    repaired = apply(case.conversation, strategy(strategy_name).edits(case))
    if any(rule.check(case.with_conversation(repaired))):
        return None
    before, after = case.conversation.chunks, repaired.chunks
    if case.tree is None:
        return _compared(strategy_name, _lines(before), _lines(after, is_longer=len(after) > len(before)))
    lines = _with_branches(case.tree.chunks, before, after)
    return _compared(strategy_name, _lines(case.tree.chunks), _lines(lines, path=after, is_longer=len(lines) > len(case.tree.chunks)))


def _with_branches(tree: Sequence[Chunk], before: Sequence[Chunk], after: Sequence[Chunk]) -> list[Chunk]:
    """The file after a repair of its path: what is on no path stays where it is."""
    later = {chunk.key: chunk for chunk in after}
    gone = {chunk.key for chunk in before} - later.keys()
    lines = [later.get(chunk.key, chunk) for chunk in tree if chunk.key not in gone]
    keys = [chunk.key for chunk in lines]
    for place, chunk in enumerate(after):
        if chunk.key not in keys:
            at = keys.index(after[place - 1].key) + 1 if place else 0
            lines.insert(at, chunk)
            keys.insert(at, chunk.key)
    return lines


def _compared(name: str, before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> RepairedExample | None:
    lines, changed = [], dict[str, frozenset[int]]()
    for key, columns in after.items():
        own = before.get(key)
        # The seq is where a row is, which moves with what is inserted before it.
        numbers = frozenset(
            number for number, column in enumerate(columns) if own is None or (number and (number >= len(own) or own[number] != column))
        )
        lines.append(tuple(ExampleText(column, number in numbers) for number, column in enumerate(columns)))
        numbers |= frozenset(range(len(columns), len(own or ())))
        if own is not None and numbers:
            changed[own[0]] = numbers
    is_same = not changed and len(before) == len(after)
    return None if is_same else RepairedExample(name, tuple(lines), changed)


def _lines(chunks: Sequence[Chunk], path: Sequence[Chunk] = (), is_longer: bool = False) -> dict[str, list[str]]:
    """Columns by the key of the chunk. Of an entry of a tree without what the notation supposes: that it follows the line before it, under the id `eN`.

    `path`: where each follows the one before, whatever its own parent is, which the writer sets.
    """
    above = {chunk.key: _id(earlier) for earlier, chunk in pairwise(path)}
    lines = dict[str, list[str]]()
    supposed = None if chunks and chunks[0].msg_idx == 1 else ""
    for place, chunk in enumerate(chunks, start=1):
        about, id_ = about_of(chunk), _id(chunk)
        parent = above.get(chunk.key, chunk.parent)
        words = [f"entry={id_}"] * (id_ != f"e{chunk.msg_idx}") + [f"parent={parent or '-'}"] * (parent not in (supposed, id_))
        supposed = id_
        text = _text(replace(chunk, seq=place if is_longer else chunk.seq, parent=None))
        lines[chunk.key] = _columns(" ".join((text, *(words if about else ()))))
    return lines


def _id(chunk: Chunk) -> str:
    return about_of(chunk).get("id") or chunk.key


def _text(chunk: Chunk) -> str:
    about = {name: value for name, value in about_of(chunk).items() if name not in _SUPPOSED and (name, value) != ("type", "message")}
    payload = {name: value for name, value in chunk.payload.items() if name != "entry"}
    text = notation.dump_chunk(replace(chunk, payload={**payload, "entry": about} if about else payload)).replace(' name=""', "")
    if about and payload == {"type": "control"}:
        return " ".join((*text.split(" ")[:_COLUMNS], f"about={jsontext.compact(about)}"))
    return text


def marked(line: str, changed: frozenset[int]) -> tuple[ExampleText, ...]:
    """A line of the example with the columns that its repair changes."""
    return tuple(ExampleText(column, number in changed) for number, column in enumerate(_columns(line)))


def _columns(line: str) -> list[str]:
    """The last ones of an entry of a tree are what it says of its place, each by itself: a repair that moves it changes no words."""
    columns = line.split(" ", _COLUMNS)
    if len(columns) <= _COLUMNS:
        return columns
    content, *places = _PLACES.split(columns.pop())
    return [*columns, content, *places]
