"""What can be judged of a text that is no whole request: of one that is cut off the turns before, and messages without the list around them."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from inspector.projections.openai_responses import CALL_TYPES
from inspector.text import jsontext

LISTS = ("messages", "contents", "input", "prompt")
"""Members of a body that hold its messages."""
MOST = 5_000_000
"""Characters of a text that are gone through."""
# Strings of JSON and of Python; one that is cut off goes to the end.
_TOKEN = re.compile(r"""("[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?)|[{}\[\],]""", re.DOTALL)
_MODEL_ITEMS = frozenset(("reasoning", *CALL_TYPES))
_OF_ANSWERS = ("stop_reason", "finish_reason", "usage", "choices", "candidates", "output")


@dataclass(slots=True)
class _Open:
    """An object or list that is not closed yet. `ends` are the places after its members that are objects or lists, `end` the one after the last whole member."""

    bracket: str
    end: int
    name: str = ""
    count: int = 0
    ends: list[int] = field(default_factory=list)

    @property
    def step(self) -> str:
        return self.name if self.bracket == "{" else str(self.count)


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that ends in the middle of an object or a list. `path` is where, with the steps that are known; `line` is from 1.

    `ends` are the places after each whole message where the cut is in their list, else ().
    """

    text: str
    path: str
    line: int
    ends: tuple[int, ...]
    end: int
    """The place after the last member that is whole, of that list or of the body."""
    closing: str
    """Of the list of messages and what is around it."""
    closed: str
    """The text up to the last value that is whole, closed."""

    @property
    def where(self) -> str:
        return f"in line {self.line:,} at {self.path}" if self.line > 1 else f"at {self.path}"

    def up_to(self, count: int) -> str:
        """The text with its first `count` messages, closed; without `ends` with all of them."""
        return self.text[: self.ends[count - 1] if self.ends else self.end] + self.closing


def cut_of(text: str) -> Cut | None:
    """None where the text is no object or list, is closed, or has no step that is whole."""
    if not text.startswith(("{", "[")) or len(text) > MOST:
        return None
    opened: list[_Open] = []
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in ("{", "["):
            opened.append(_Open(word, token.end()))
        elif word in ("}", "]"):
            opened.pop()
            if not opened:
                return None
            opened[-1].end = token.end()
            opened[-1].ends.append(token.end())
        elif word == ",":
            opened[-1].end = max(opened[-1].end, token.start())
            opened[-1].count += 1
            opened[-1].name = ""
        elif opened[-1].bracket == "{" and not opened[-1].name:
            opened[-1].name = word[1:-1] if word.endswith(word[0]) else ""
    path = ".".join(step for step in ("messages" if text.startswith("[") else "", *(one.step for one in opened)) if step)
    depth = next((depth for depth, one in enumerate(opened[:2]) if one.bracket == "[" and (not depth or opened[0].name in LISTS)), None)
    if not path or (depth is not None and not opened[depth].ends):
        return None
    closing = ["]" if one.bracket == "[" else "}" for one in opened]
    return Cut(
        text,
        path,
        text.count("\n") + 1,
        () if depth is None else tuple(opened[depth].ends),
        opened[depth or 0].end,
        "".join(reversed(closing[: (depth or 0) + 1])),
        text[: opened[-1].end] + "".join(reversed(closing)),
    )


def messages_of(body: Any) -> list[Any]:
    """The list of a body, or the bare list."""
    if isinstance(body, list):
        return body
    return next((body[name] for name in LISTS if isinstance(body.get(name), list)), [])


def before_last_turn(messages: list[Any]) -> int:
    """How many messages come before the last turn of the model, all where it has none: what is cut off may be the result of its call."""
    last = next((number for number in reversed(range(len(messages))) if _is_of_model(messages[number])), len(messages))
    while 0 < last < len(messages) and _is_of_model(messages[last - 1]):
        last -= 1
    return last


def _is_of_model(message: Any) -> bool:
    return isinstance(message, dict) and (message.get("role") in ("assistant", "model") or message.get("type") in _MODEL_ITEMS)


def unlisted(text: str) -> Iterator[str]:
    """The text as a list, where it may be messages that were taken out of one: one after the other, with commas between them or on lines of their own."""
    if not text.startswith("{") or len(text) > MOST:
        return
    yield f"[{text.rstrip().removesuffix(',')}]"
    with suppress(jsontext.Unreadable):
        yield json.dumps(jsontext.values(text))
    yield f"[{text}"


def are_messages(values: list[Any]) -> bool:
    """Whether all may be messages, and none an answer, which has a message in it or is one with what came with it."""
    return bool(values) and all(
        isinstance(value, dict)
        and ("role" in value or value.get("type") in _MODEL_ITEMS)
        and not any(name in value for name in _OF_ANSWERS)
        for value in values
    )
