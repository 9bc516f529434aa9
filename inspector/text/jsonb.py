"""JSON as PostgreSQL's jsonb keeps and prints it, so that what is written can be compared with what is read back, byte for byte.

Keys of an object are ordered by their length in bytes and then by their bytes, numbers keep their decimals, `, ` and `: ` part things
(documentation of PostgreSQL 17, 8.14, and its jsonb_util.c; checked by writing and reading).
"""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from inspector.text.jsontext import MAX_DEPTH

# Other control characters too; everything else is printed as it is.
_ESCAPED = re.compile('["\\\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NEVER = re.compile("[\x00\ud800-\udfff]")
_BEFORE_POINT, _AFTER_POINT = 131_071, 16_383
"""The highest power of ten that numeric holds, and the digits after its point."""


class NotStorable(ValueError):
    """A value that jsonb cannot hold; `reason` says which."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse(text: str) -> Any:
    """The value of a text that jsonb printed, numbers exact whatever their size. Raises NotStorable for what is no JSON or nested too deep."""
    try:
        return json.loads(text, parse_float=Decimal, parse_int=_integer, parse_constant=_no_constant)
    except RecursionError:
        raise NotStorable(f"a value is nested more than {MAX_DEPTH} levels deep") from None
    except InvalidOperation:
        raise NotStorable("a number has more digits than PostgreSQL's numeric") from None
    except json.JSONDecodeError as error:
        raise NotStorable(f"it is no JSON ({error.msg})") from None


def _integer(text: str) -> int | Decimal:
    """Python takes no longer text for an int."""
    return int(text) if len(text) < 4000 else Decimal(text)


def _no_constant(name: str) -> NoReturn:
    raise NotStorable(f"{name} is no JSON number")


def printed(value: Any) -> str:
    """`value` as jsonb prints it. Raises NotStorable."""
    out: list[str] = []
    # Values with their depth, and the texts between them, last first: content may be deeper than Python calls.
    waiting: list[tuple[Any, int] | str] = [(value, 0)]
    while waiting:
        following = waiting.pop()
        if isinstance(following, str):
            out.append(following)
            continue
        item, depth = following
        if depth > MAX_DEPTH:
            raise NotStorable(f"a value is nested more than {MAX_DEPTH} levels deep")
        match item:
            case list() | tuple():
                waiting.append("]")
                waiting += _parted([(inner, depth + 1)] for inner in item)
                waiting.append("[")
            case dict():
                members = sorted(item.items(), key=lambda member: _place(member[0]))
                waiting.append("}")
                waiting += _parted([f"{_string(name)}: ", (inner, depth + 1)] for name, inner in members)
                waiting.append("{")
            case _:
                out.append(_scalar(item))
    return "".join(out)


def _parted(members: Iterable[list[tuple[Any, int] | str]]) -> Iterator[tuple[Any, int] | str]:
    """Last first, with the text between two."""
    for number, member in enumerate(reversed(list(members))):
        if number:
            yield ", "
        yield from reversed(member)


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int() | float() | Decimal():
            return _number(Decimal(value) if isinstance(value, int) else value)
    raise NotStorable(f"a {type(value).__name__} is no JSON value")


def _place(name: str) -> tuple[int, bytes]:
    encoded = name.encode("utf-8", "surrogatepass")
    return len(encoded), encoded


def _string(text: str) -> str:
    if character := _NEVER.search(text):
        raise NotStorable(f"a text holds {character.group()!a}, which PostgreSQL's jsonb cannot keep")
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    return _SHORT.get(match.group()) or f"\\u{ord(match.group()):04x}"


def _number(value: float | Decimal) -> str:
    """Without exponent, as numeric prints: 1e3 is 1000, 1e-3 is 0.001; and without the sign of a zero."""
    decimal = value if isinstance(value, Decimal) else Decimal(repr(value))
    exponent = decimal.as_tuple().exponent
    if not isinstance(exponent, int):
        raise NotStorable("a number is not finite")
    if decimal.adjusted() > _BEFORE_POINT or -exponent > _AFTER_POINT:
        raise NotStorable("a number has more digits than PostgreSQL's numeric")
    return f"{decimal.copy_abs() if decimal.is_zero() else decimal:f}"
