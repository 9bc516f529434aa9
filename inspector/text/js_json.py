"""JSON as JavaScript reads and writes it: the same text refused, the same number and string written the same way."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

_SURROGATE = re.compile("[\ud800-\udfff]")
_TO_JS = json.encoder.encode_basestring
_EXACT = 2**53
_ARRAY_INDEX = re.compile("0|[1-9][0-9]{0,9}")


def parse(text: str) -> Any:
    """The value of `text`, refusing what JSON.parse refuses (NaN, Infinity). Raises ValueError, also for hostile nesting."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply to be read") from None


def canonical(value: Any) -> str:
    """`value` in compact JSON with the keys of every object sorted by UTF-16 code unit, written as JSON.stringify writes it.

    Lone surrogates become lower-case `\\udxxx`. Raises ValueError where the nesting is too deep.
    """
    return _encoded(value, _units)


def stringify(value: Any) -> str:
    """`value` as JSON.stringify writes it: keys that are array indexes come first, in the order of their numbers. Raises ValueError as above."""
    return _encoded(value, _property_order)


def _encoded(value: Any, order: Callable[[str], Any]) -> str:
    parts: list[str] = []
    try:
        _write(value, parts, order)
    except RecursionError:
        raise ValueError("it is nested too deeply to be written") from None
    return "".join(parts)


def number(value: int | float) -> str:
    """`value` as JavaScript writes a number: 1.0 -> 1, 1e21 -> 1e+21, -0.0 -> 0; integers beyond 2^53 round to a double."""
    if isinstance(value, int) and -_EXACT <= value <= _EXACT:
        return str(value)
    try:
        double = float(value)
        sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    except OverflowError:
        return "null"
    if not isinstance(exponent, int):
        return "null"
    if double == 0:
        return "0"
    text = "".join(map(str, digits))
    return ("-" if sign else "") + _digits_text(text, len(text) + exponent)


def _digits_text(digits: str, point: int) -> str:
    # ECMA-262 Number::toString; `point` is where the decimal point is, counted from the first digit.
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def _string(text: str) -> str:
    quoted = _TO_JS(text)
    if _SURROGATE.search(quoted):
        paired = quoted.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", paired)
    return quoted


def _units(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _property_order(key: str) -> int:
    is_index = _ARRAY_INDEX.fullmatch(key) is not None and int(key) < 2**32 - 1
    return int(key) if is_index else 2**32


def _write(value: Any, parts: list[str], order: Callable[[str], Any]) -> None:
    if isinstance(value, str):
        parts.append(_string(value))
    elif value is None or isinstance(value, bool):
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, int | float):
        parts.append(number(value))
    elif isinstance(value, dict):
        separator = "{"
        for key in sorted(value, key=order):
            parts.append(f"{separator}{_string(key)}:")
            _write(value[key], parts, order)
            separator = ","
        parts.append("}" if value else "{}")
    else:
        separator = "["
        for item in value:
            parts.append(separator)
            _write(item, parts, order)
            separator = ","
        parts.append("]" if value else "[]")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
