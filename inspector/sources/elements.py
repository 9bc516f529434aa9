"""One part of a JSON text that conversations share, a string of an array or a member of an object: found, added, removed or replaced; every other byte stays."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from inspector.programs.formats import Cell, Change, Element
from inspector.sources.dsn import Place
from inspector.sources.problems import Moved, NotAList
from inspector.text import json_pieces, jsontext
from inspector.text.jsontext import Unreadable

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')


class ChangeState(StrEnum):
    """What a store holds of a change: what was there before it, what it puts there, or neither, since another program wrote something else."""

    BEFORE = "before"
    AFTER = "after"
    NEITHER = "neither"


class WrongShape(ValueError):
    """The text is no JSON array of strings only, or no JSON object where a member is expected."""


class Absent(ValueError):
    """The part to be removed is not in the text."""


class Present(ValueError):
    """The part to be added is in the text already."""


class Differs(ValueError):
    """A member of this name is in the text with another value, or more than once."""


@dataclass(frozen=True, slots=True)
class _SharedPart:
    """`name`: the string, or the name of the member; `value`: the JSON text of the member's value. `start` and `end` are those of the whole part."""

    name: str
    value: str = ""
    start: int = 0
    end: int = 0

    def is_same(self, other: "_SharedPart") -> bool:
        """A program that rewrites the text indents it in its own way: values count, not how they are written."""
        return self.name == other.name and (self.value == other.value or _value(self.value) == _value(other.value))


def state(change: Change, stored: Cell | None) -> ChangeState:
    """What `stored`, the record under the key of the change (None: there is none), holds of the change."""
    if not change.element:
        return ChangeState.BEFORE if stored == change.before else ChangeState.AFTER if stored == change.after else ChangeState.NEITHER
    if stored is None and change.element is Element.MEMBER:
        return ChangeState.NEITHER
    try:
        _, parts = _parts(_text(stored.data if stored else b"", change.element), change.element)
        old, new = (_part(cell.data if cell else None, change.element) for cell in (change.before, change.after))
    except WrongShape:
        return ChangeState.NEITHER
    return ChangeState.BEFORE if _holds(parts, old, new) else ChangeState.AFTER if _holds(parts, new, old) else ChangeState.NEITHER


def whole(place: Place, change: Change, stored: Cell | None) -> Change:
    """The change of the whole record that carries out `change` on what is stored now. Raises NotAList, Moved."""
    if not change.element:
        return change
    if change.element is Element.MEMBER and stored is None:
        raise Moved(place, [(change.key, "is gone")], 1)
    if stored is not None and stored.type not in ("text", "blob", "file"):
        raise NotAList(place, change.key, change.element)
    before, after = (cell.data if cell else None for cell in (change.before, change.after))
    try:
        data = spliced(stored.data if stored else b"", before, after, change.element)
    except WrongShape as error:
        raise NotAList(place, change.key, change.element) from error
    except Absent as error:
        raise Moved(place, [(change.key, f"no longer lists {error}")], 1) from error
    except Present as error:
        raise Moved(place, [(change.key, f"already lists {error}")], 1) from error
    except Differs as error:
        raise Moved(place, [(change.key, f"lists {error} with another value")], 1) from error
    return Change(change.key, stored, Cell(data, stored.type if stored else "text"))


def spliced(text: bytes, before: bytes | None, after: bytes | None, element: Element = Element.STRING) -> bytes:
    """The text without the part `before` (None: nothing is removed) and with `after` (None: nothing is added).

    Strings are given plain (UTF-8), members as JSON text. A new part follows the last one, before the white space before the
    bracket, so that removing it gives the first bytes back. Blank text counts as an empty array. Raises WrongShape, Absent, Present, Differs.
    """
    source = _text(text, element)
    opening, parts = _parts(source, element)
    old, new = _part(before, element), _part(after, element)
    if new is not None and (old is None or old.name != new.name) and any(part.name == new.name for part in parts):
        raise Present(new.name) if element is Element.STRING or _holds(parts, new, old) else Differs(new.name)
    if old is None:
        if new is None:
            return text
        end = parts[-1].end if parts else opening
        # Members are indented like the first one; a list of strings is compact in every program that is known here.
        indent = source[opening : parts[0].start] if parts and element is Element.MEMBER else ""
        result = source[:end] + (f",{indent}" if parts else "") + _written(after, element) + source[end:]
    else:
        if all(part.name != old.name for part in parts):
            raise Absent(old.name)
        if element is Element.MEMBER and not _holds(parts, old, None):
            raise Differs(old.name)
        # The last of equal ones: what an earlier addition put there.
        at = max(number for number, part in enumerate(parts) if part.name == old.name)
        start, end = parts[at].start, parts[at].end
        if new is not None:
            result = source[:start] + _written(after, element) + source[end:]
        elif at:
            result = source[: parts[at - 1].end] + source[end:]
        else:
            result = source[:start] + source[parts[1].start if len(parts) > 1 else end :]
    return result.encode("utf-8", "surrogateescape")


def _holds(parts: Sequence[_SharedPart], present: _SharedPart | None, absent: _SharedPart | None) -> bool:
    """Whether `present` is there (None: nothing need be), and `absent` is not; a member is there where its name occurs once, with its value."""
    if present is not None:
        alike = [part for part in parts if part.name == present.name]
        if not alike or not alike[-1].is_same(present) or (present.value and len(alike) > 1):
            return False
    return absent is None or (present is not None and absent.name == present.name) or all(part.name != absent.name for part in parts)


def _text(data: bytes, element: Element) -> str:
    text = data.decode("utf-8", "surrogateescape")
    return "[]" if element is Element.STRING and not text.strip(" \t\r\n") else text


def _part(data: bytes | None, element: Element) -> _SharedPart | None:
    if data is None:
        return None
    text = data.decode("utf-8", "surrogateescape")
    if element is Element.STRING:
        return _SharedPart(text)
    _, parts = _members(f"{{{text}}}")
    if len(parts) != 1:
        raise WrongShape
    return parts[0]


def _written(data: bytes | None, element: Element) -> str:
    text = (data or b"").decode("utf-8", "surrogateescape")
    # Same as JSON.stringify for every well-formed string: compact, non-ASCII raw.
    return json.dumps(text, ensure_ascii=False) if element is Element.STRING else text


def _value(text: str) -> str:
    return json.dumps(json.loads(text), sort_keys=True) if text else ""


def _parts(source: str, element: Element) -> tuple[int, list[_SharedPart]]:
    """Where the inside of the array or object begins, and its parts. Raises WrongShape."""
    return _strings(source) if element is Element.STRING else _members(source)


def _members(source: str) -> tuple[int, list[_SharedPart]]:
    try:
        parsed = jsontext.parse(source)
    except Unreadable as error:
        raise WrongShape from error
    if not isinstance(parsed, dict):
        raise WrongShape
    spans = json_pieces.member_spans(source)
    return source.index("{") + 1, [_SharedPart(name, source[at:end], start, end) for name, start, at, end in spans]


def _strings(source: str) -> tuple[int, list[_SharedPart]]:
    """A scan of its own, since `json` gives no positions."""
    at = _space(source, 0)
    if source[at : at + 1] != "[":
        raise WrongShape
    opening = at + 1
    parts: list[_SharedPart] = []
    at = _space(source, opening)
    while source[at : at + 1] != "]" or parts:
        match = _STRING.match(source, at)
        if match is None:
            raise WrongShape
        try:
            parts.append(_SharedPart(json.loads(match[0]), "", match.start(), match.end()))
        except ValueError as error:
            raise WrongShape from error
        at = _space(source, match.end())
        if source[at : at + 1] == "]":
            break
        if source[at : at + 1] != ",":
            raise WrongShape
        at = _space(source, at + 1)
    if _space(source, at + 1) != len(source):
        raise WrongShape
    return opening, parts


def _space(source: str, at: int) -> int:
    match = _SPACE.match(source, at)
    return match.end() if match else at
