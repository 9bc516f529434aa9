"""What can be judged of a text that is no whole request: the beginning of one that is cut off, and messages without the list around them."""

import re
from dataclasses import dataclass, field
from typing import Any

from inspector.projections.openai_responses import OUTPUT_TYPES
from inspector.wires.detection import ITEMS

LISTS = ("messages", "contents", "input", "prompt")
"""Members of a body that hold its messages."""
MOST, _DEEPEST, _STEP = 5_000_000, 200, 60
"""Characters of a text that are gone through, levels of it, and characters of a step of a path."""
# Strings of JSON and of Python, which have no line end in them: one that is cut off goes to the end of its line.
_TOKEN = re.compile(r"""("[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?)|[{}\[\],:]|[^\s{}\[\],:"']+""", re.DOTALL)
_LITERAL = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null|True|False|None")
_LITERALS = ("true", "false", "null", "True", "False", "None")
_ROLES = frozenset(("user", "assistant", "system", "developer", "tool", "function", "model"))
_OF_OTHERS = ("stop_reason", "finish_reason", "usage", "choices", "candidates", "object", "level", "event.name")
"""Members of answers, of objects that an API stores, and of records of a log."""
_TEXTS, _BLOCKS = ("content", "output"), ("content", "parts", "tool_calls")
"""Members of a message that may be a text, and that may be a list."""
_TORN_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$")


@dataclass(slots=True)
class _Open:
    """An object or list that is not closed yet. `ends` are the places after its members that are objects or lists, `end` the one after the last whole member.

    `text` is the string that the member `name` is, as far as it goes.
    """

    bracket: str
    end: int
    name: str = ""
    count: int = 0
    ends: list[int] = field(default_factory=list)
    text: re.Match[str] | None = None

    @property
    def step(self) -> str:
        return self.name if self.bracket == "{" else str(self.count)

    @property
    def closing(self) -> str:
        return "}" if self.bracket == "{" else "]"


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that ends in the middle of an object or a list. `path` is where, with the steps that are known; `line` is from 1.

    `count` is how many messages are whole, None where the list itself is. `whole` is the text with these, `begun` with the next one too, as far as it goes, "" where
    nothing of it can be judged; `closed` has the last value that is whole. All three are closed. `rest` are the lines after it, which are something else.
    """

    path: str
    line: int
    count: int | None
    whole: str
    begun: str
    closed: str
    rest: str

    @property
    def where(self) -> str:
        line = f"in line {self.line:,} " if self.line > 1 else ""
        return f"{line}at {self.path}" if self.path else f"{line}after its messages"


def cut_of(text: str) -> Cut | None:
    """None where the text is no object or list of JSON or Python, or is closed."""
    if not text.startswith(("{", "[")) or len(text) > MOST:
        return None
    opened: list[_Open] = []
    end = len(text)
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in ("{", "["):
            opened.append(_Open(word, token.end()))
        elif word in ("}", "]"):
            closed = opened.pop()
            if not opened or closed.closing != word:
                return None
            opened[-1].end = token.end()
            opened[-1].ends.append(token.end())
        elif word == ",":
            opened[-1].end = max(opened[-1].end, token.start())
            opened[-1].count += 1
            opened[-1].name, opened[-1].text = "", None
        elif token[1]:
            _read_text(token, opened[-1])
            if not _is_closed(word) and token.end() < end:
                end = token.end()
                break
        elif (
            word != ":"
            and not _LITERAL.fullmatch(word)
            and not (token.end() == end and any(literal.startswith(word) for literal in _LITERALS))
        ):
            return None
        if len(opened) > _DEEPEST:
            return None
    depth = next((depth for depth, one in enumerate(opened[:2]) if one.bracket == "[" and (not depth or opened[0].name in LISTS)), None)
    level = opened[depth or 0]
    steps = ("messages" if text.startswith("[") else "", *(one.step for one in opened))
    return Cut(
        ".".join(step[:_STEP] for step in steps if step),
        text.count("\n", 0, end) + 1,
        None if depth is None else len(level.ends),
        text[: level.end] + _closing(opened[: (depth or 0) + 1]),
        "" if depth is None else _begun(text, opened, depth),
        text[: opened[-1].end] + _closing(opened),
        text[end:],
    )


def _read_text(token: re.Match[str], one: _Open) -> None:
    """A string: the name of a member, its value, or an element."""
    if one.bracket == "{" and not one.name:
        one.name = token[0][1:-1] if _is_closed(token[0]) else ""
        return
    one.text = token
    if _is_closed(token[0]):
        one.end = token.end()


def _is_closed(word: str) -> bool:
    return len(word) > 1 and word.endswith(word[0])


def _closing(opened: list[_Open]) -> str:
    return "".join(one.closing for one in reversed(opened))


def _closed_text(word: str) -> str:
    return word if _is_closed(word) else _TORN_ESCAPE.sub(r"\1", word) + word[0]


def _begun(text: str, opened: list[_Open], depth: int) -> str:
    """The text with the message that is cut off, without what of it is not whole; of a text, as it begins."""
    message, inner = opened[depth + 1 : depth + 2], opened[depth + 2 :]
    if not message:
        return ""
    (one,) = message
    around = _closing(opened[: depth + 2])
    if inner and one.name in _BLOCKS and inner[0].ends:
        return text[: inner[0].end] + inner[0].closing + around
    if not inner and one.name in _TEXTS and one.text:
        return text[: one.text.start()] + _closed_text(one.text[0]) + around
    return text[: one.end] + around


def laid_out(text: str) -> str:
    """JSON on one line, which may be cut off, with a line for each value; as it is where it has lines or is no JSON."""
    if len(text) > MOST or "\n" in text:
        return text
    tokens = [token[0] for token in _TOKEN.finditer(text)]
    if any(word.startswith("'") for word in tokens):
        return text
    parts: list[str] = []
    depth, before = 0, ""
    for word in tokens:
        depth -= word in ("}", "]")
        if (before in ("{", "[")) != (word in ("}", "]")) or before == ",":
            parts.append(f"\n{'  ' * depth}")
        parts.append(": " if word == ":" else word)
        depth += word in ("{", "[")
        before = word
        if depth > _DEEPEST:
            return text
    return "".join(parts)


_LAST_COMMA = re.compile(r",\s*[\]}]")


def last_commas(text: str) -> list[int]:
    """Where commas are before a closing bracket."""
    places: list[int] = []
    before: re.Match[str] | None = None
    for token in _TOKEN.finditer(text) if len(text) <= MOST and _LAST_COMMA.search(text) else ():
        if token[0] in ("}", "]") and before and before[0] == ",":
            places.append(before.start())
        before = token
    return places


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
    if not isinstance(message, dict):
        return False
    kind = message.get("type")
    # Tools that the provider runs itself have items of their own, of the model too.
    is_item = "role" not in message and isinstance(kind, str) and kind not in OUTPUT_TYPES
    return message.get("role") in ("assistant", "model") or is_item


def can_be_judged(message: Any) -> bool:
    """Of one that is cut off: whether what it is and whose result it is are known, and something of what it says."""
    if not isinstance(message, dict):
        return False
    if message.get("type") in OUTPUT_TYPES:
        return "call_id" in message and "output" in message
    says = next((message[name] for name in _BLOCKS if message.get(name)), "")
    is_of_call = message.get("role") not in ("tool", "function") or "tool_call_id" in message or "toolCallId" in str(says)
    # A blank text may come before a call.
    last = says[-1].get("text") if isinstance(says, list) and isinstance(says[-1], dict) else says
    return isinstance(message.get("role"), str) and is_of_call and bool(says) and not (isinstance(last, str) and not last.strip())


def unlisted(text: str) -> str:
    """The text with the bracket of a list before it, where it may be messages that were taken out of one, with commas between them or each on lines of its own."""
    if not text.startswith("{") or len(text) > MOST:
        return ""
    return "[" + _LINE_END.sub(r"},\1{", text.rstrip().removesuffix(","))


_LINE_END = re.compile(r"\}([ \t\r]*\n\s*)\{")


def are_messages(values: list[Any]) -> bool:
    """Whether all may be messages, or items of a request for Responses."""
    return bool(values) and all(map(_is_message, values))


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or any(name in value for name in _OF_OTHERS):
        return False
    kind = value.get("type")
    is_item = isinstance(kind, str) and kind != "message" and (kind in ITEMS or kind.endswith("_call"))
    return is_item or (value.get("role") in _ROLES and any(name in value for name in _BLOCKS))
