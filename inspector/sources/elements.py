"""Adds, removes or replaces one string in the text of a JSON array and leaves every other byte as it was."""

import json
import re

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')


class NotAnArray(ValueError):
    """The text is no JSON array that holds strings only."""


class Absent(ValueError):
    """The element to be removed is not in the array."""


class Present(ValueError):
    """The element to be added is in the array already."""


def spliced(text: bytes, before: bytes | None, after: bytes | None) -> bytes:
    """The array text with element `before` gone (None: nothing removed) and `after` in (None: nothing added).

    Elements are the plain strings (UTF-8), not their JSON. A new one goes behind the last, before the white space in front of the
    bracket, so that taking it out again gives the first bytes back. Blank text counts as an empty array.
    """
    source = text.decode("utf-8", "surrogateescape")
    if not source.strip(" \t\r\n"):
        source = "[]"
    opening, tokens = _tokens(source)
    names = [name for name, _, _ in tokens]
    old, new = _name(before), _name(after)
    if new is not None and new in names:
        raise Present(new)
    if old is None:
        if new is None:
            return text
        end = tokens[-1][2] if tokens else opening
        result = source[:end] + ("," if tokens else "") + _written(new) + source[end:]
    else:
        if old not in names:
            raise Absent(old)
        # The last of equal ones: what an earlier addition put there.
        at = len(names) - 1 - names[::-1].index(old)
        _, start, end = tokens[at]
        if new is not None:
            result = source[:start] + _written(new) + source[end:]
        elif at:
            result = source[: tokens[at - 1][2]] + source[end:]
        else:
            result = source[:start] + source[tokens[1][1] if len(tokens) > 1 else end :]
    return result.encode("utf-8", "surrogateescape")


def _name(element: bytes | None) -> str | None:
    return None if element is None else element.decode("utf-8", "surrogateescape")


def _written(name: str) -> str:
    # Same as JSON.stringify for every well-formed string: compact, non-ASCII raw.
    return json.dumps(name, ensure_ascii=False)


def _tokens(source: str) -> tuple[int, list[tuple[str, int, int]]]:
    """Where the array's inside begins, and (string, start, end) of each element; a scan of its own, since `json` tells no positions."""
    at = _space(source, 0)
    if source[at : at + 1] != "[":
        raise NotAnArray
    opening = at + 1
    tokens: list[tuple[str, int, int]] = []
    at = _space(source, opening)
    while source[at : at + 1] != "]" or tokens:
        match = _STRING.match(source, at)
        if match is None:
            raise NotAnArray
        try:
            tokens.append((json.loads(match[0]), match.start(), match.end()))
        except ValueError as error:
            raise NotAnArray from error
        at = _space(source, match.end())
        if source[at : at + 1] == "]":
            break
        if source[at : at + 1] != ",":
            raise NotAnArray
        at = _space(source, at + 1)
    if _space(source, at + 1) != len(source):
        raise NotAnArray
    return opening, tokens


def _space(source: str, at: int) -> int:
    match = _SPACE.match(source, at)
    return match.end() if match else at
