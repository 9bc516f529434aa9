"""Where a request body's list, messages and blocks are in its text."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inspector.text import json_pieces, jsontext
from inspector.text.jsontext import Unreadable
from inspector.wires.shapes.base import At, WireShape

LIMIT = 1 << 26
"""Bytes: twice what the providers take that say how much they take (Anthropic: 32 MB)."""
MOST = 100_000
"""Messages: what Anthropic takes in one request, and more than any other says."""
_MARK = "\ufeff"


class NotARequest(Exception):
    """The bytes are no request body. `reason` is the end of a sentence that starts with their place, and says what to do next; `what` is the same
    without what to do at a terminal, for a page."""

    def __init__(self, reason: str, what: str = "") -> None:
        super().__init__(reason)
        self.reason, self.what = reason, what or reason


@dataclass(frozen=True)
class Parsed:
    """A JSON text and its value; `mark` is the byte order mark before it, or ""."""

    mark: str
    text: str
    value: Any


_UTF_16, _GZIP = (b"\xff\xfe", b"\xfe\xff"), b"\x1f\x8b"


def is_mistaken(head: bytes) -> bool:
    """Whether bytes that start so are what people save instead of a body: another encoding, a packed one, a page."""
    return head.startswith((*_UTF_16, _GZIP)) or head.lstrip().startswith(b"<")


def parsed(data: bytes) -> Parsed:
    """Raises NotARequest."""
    if len(data) > LIMIT:
        raise NotARequest(f"is over {LIMIT >> 20} MB, which no provider takes as a request: check that it is the right file.")
    if not data.strip():
        raise NotARequest("is empty: save the body of the request that was sent, as JSON.")
    if data.startswith(_GZIP):
        raise NotARequest("is packed with gzip: unpack it, with `gunzip` say.")
    if data.startswith(_UTF_16):
        raise NotARequest("is UTF-16, and requests are UTF-8: convert it, with `iconv -f UTF-16 -t UTF-8` say.")
    try:
        text = jsontext.decode(data)
        mark = _MARK if text.startswith(_MARK) else ""
        return Parsed(mark, text[len(mark) :], jsontext.parse(text[len(mark) :]))
    except Unreadable as problem:
        if data.lstrip().startswith(b"<"):
            raise NotARequest("is HTML or XML, no JSON: save the request that was sent, not the page or the answer.") from None
        if several(data) or _begins_with_line(data):
            raise NotARequest(
                "holds several JSON values, and a request body is a single one: save the one that you mean as a file of its own."
            ) from None
        if problem.is_cut:
            raise NotARequest("is cut off at its end, so that it cannot be read: take the whole of it, as it was sent or stored.") from None
        raise NotARequest(f"is no request body that can be read ({problem.reason}): take the whole body, as it was sent.") from None


def several(data: bytes) -> list[Any]:
    """The JSON values of bytes that hold more than one; [] of other bytes."""
    try:
        values = jsontext.values(jsontext.decode(data).removeprefix(_MARK))
    except Unreadable:
        return []
    return values if len(values) > 1 else []


def _begins_with_line(data: bytes) -> bool:
    """Whether the first line is a JSON value of its own, and more comes after it, which may be torn."""
    first, _, following = data.lstrip().partition(b"\n")
    if not following.strip():
        return False
    try:
        jsontext.parse(jsontext.decode(first))
    except Unreadable:
        return False
    return True


@dataclass(frozen=True)
class Layout:
    """`values` are the elements of the list, `spans` where they are in `text`; `start` and `end` are those of the list."""

    mark: str
    text: str
    body: Mapping[str, Any]
    """The object around the list; empty where there is none."""
    values: list[Any]
    start: int
    end: int

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        if self.text[self.start] != "[":
            return [(self.start, self.end)]
        return [(self.start + first, self.start + last) for first, last in json_pieces.elements(self.text[self.start : self.end])]

    def element(self, index: int) -> str:
        start, end = self.spans[index]
        return self.text[start:end]

    def member(self, name: str) -> str | None:
        """The text of a member of the body."""
        return json_pieces.value_of(self.text, name)


def laid_out(data: bytes, shape: WireShape) -> Layout:
    """The list of the shape in a whole body, or the bare list. Raises NotARequest."""
    json_text = parsed(data)
    value = json_text.value
    if isinstance(value, list):
        start = json_pieces.skip(json_text.text, 0)
        return Layout(json_text.mark, json_text.text, {}, _messages(value), start, len(json_text.text.rstrip(" \t\n\r")))
    if not isinstance(value, dict):
        raise NotARequest("is JSON, but neither a request body nor a list of messages: save the body of the request that was sent.")
    name = next((name for name in shape.lists if isinstance(value.get(name), list)), None)
    if name is None and shape.lists == ("input",) and isinstance(value.get("input"), str):
        # One user message, said without a list.
        _, start, end = json_pieces.members(json_text.text)["input"]
        return Layout(json_text.mark, json_text.text, value, [{"role": "user", "content": value["input"]}], start, end)
    if name is None:
        what = f"has no list {' or '.join(shape.lists)}, as a request of the shape {shape.wire} has"
        raise NotARequest(f"{what}: name another --format.", f"{what}.")
    _, start, end = json_pieces.members(json_text.text)[name]
    return Layout(json_text.mark, json_text.text, value, _messages(value[name]), start, end)


def _messages(values: list[Any]) -> list[Any]:
    if not values:
        raise NotARequest("holds an empty list and no messages: save the request as it was sent.")
    if len(values) > MOST:
        raise NotARequest(f"holds {len(values):,} messages, and no provider takes more than {MOST:,}: check that it is one request.")
    if not any(isinstance(value, dict) for value in values):
        raise NotARequest("holds a list of something else than messages: save the body of the request that was sent.")
    return values


class BlockTexts:
    """The texts of the blocks of one message; the members of the message are looked up once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._members: dict[str, tuple[int, int, int]] | None = None
        self._lists: dict[str, list[str]] = {}

    def at(self, path: At) -> str:
        if not path:
            return self.text
        if self._members is None:
            self._members = json_pieces.members(self.text)
        name = str(path[0])
        _, start, end = self._members[name]
        member = self.text[start:end]
        if len(path) == 1:
            return member
        if name not in self._lists:
            self._lists[name] = [member[first:last] for first, last in json_pieces.elements(member)]
        return self._lists[name][int(path[1])]
