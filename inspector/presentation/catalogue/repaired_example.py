"""The example of a rule after a strategy of the rule: computed from the strategy, once for each of both."""

from dataclasses import dataclass, replace
from functools import lru_cache

from inspector.conversation import notation
from inspector.conversation.edits import apply
from inspector.conversation.model import Chunk
from inspector.programs.catalogue import FORMATS
from inspector.rules.base import Case, Rule
from inspector.rules.case_notation import load_case
from inspector.strategies.catalogue import strategy

EXAMPLE_READ_AT = 1_782_600_000_000
"""When the store of an example was read (epoch ms), for the rules that ask how long ago something was."""
_COLUMNS = 4
"""Before the content: seq, role, number, kind."""


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
    """None where the rule still reports something after the strategy, or no line of a chunk changes. Nor of a tree, whose lines have more than their columns."""
    case = example_case(rule)
    if case.program.numbering.by_place:
        return None
    repaired = apply(case.conversation, strategy(strategy_name).edits(case))
    if any(rule.check(case.with_conversation(repaired))):
        return None
    return _compared(strategy_name, case.conversation.chunks, repaired.chunks)


def _compared(name: str, before: tuple[Chunk, ...], after: tuple[Chunk, ...]) -> RepairedExample | None:
    old = {chunk.key: _columns(chunk) for chunk in before}
    lines, changed = [], dict[str, frozenset[int]]()
    is_longer = any(chunk.key not in old for chunk in after)
    for place, chunk in enumerate(after, start=1):
        columns, own = _columns(replace(chunk, seq=place) if is_longer else chunk), old.get(chunk.key)
        # The seq is where a row is, which moves with what is inserted before it.
        numbers = frozenset(
            number for number, column in enumerate(columns) if own is None or (number and (number >= len(own) or own[number] != column))
        )
        lines.append(tuple(ExampleText(column, number in numbers) for number, column in enumerate(columns)))
        if own is not None and numbers:
            changed[own[0]] = numbers
    is_same = not changed and len(before) == len(after)
    return None if is_same else RepairedExample(name, tuple(lines), changed)


def _columns(chunk: Chunk) -> list[str]:
    return notation.dump_chunk(chunk).split(" ", _COLUMNS)


def marked(line: str, changed: frozenset[int]) -> tuple[ExampleText, ...]:
    """A line of the example with the columns that its repair changes."""
    return tuple(ExampleText(column, number in changed) for number, column in enumerate(line.split(" ", _COLUMNS)))
