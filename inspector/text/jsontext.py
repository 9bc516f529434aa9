"""JSON as stored text: read with stated limits, written as JavaScript writes it, spliced without touching what is around."""

import json
import re
from typing import Any

from inspector.text import limits

# Far below where Python gives up, which depends on how deep the caller is: what was read can then be compared and written too.
MAX_DEPTH = 400
# A string that is cut off goes to the end: tried again from each quote in it, a torn line of a megabyte would take half an hour.
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = " \t\n\r"


class Unreadable(ValueError):
    """The text is no JSON that can be read here; `damage` is a short code, `reason` says what is wrong and where."""

    def __init__(self, damage: str, reason: str, *, is_cut: bool = False) -> None:
        super().__init__(reason)
        self.damage = damage
        self.reason = reason
        self.is_cut = is_cut
        """Whether it is an object or a list as far as it goes, and ends too early."""


def _no_constant(name: str) -> Any:
    raise Unreadable("not-json", f"not JSON: {name} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def decode(data: bytes) -> str:
    """The text of stored bytes. WTF-8 (a surrogate encoded on its own) passes and round-trips; other bytes raise Unreadable."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise Unreadable("not-utf8", f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}") from None


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def parse(text: str) -> Any:
    """The value of `text`. Integers stay exact. Raises Unreadable: `not-json`, and the codes of `limits.OWN_DAMAGE`."""
    refuse_large(text)
    if _depth(text) > MAX_DEPTH:
        raise Unreadable("too-deep", f"nested more than {MAX_DEPTH} levels deep, which is over what is read here")
    try:
        if text[:1] in ("{", "["):
            # Without a look for blanks around it: of a long stream there are a million.
            value, end = _DECODER.raw_decode(text)
            if end == len(text):
                return value
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _not_json(error) from None
    except Unreadable:
        raise
    except ValueError:
        raise Unreadable("huge-integer", "holds an integer of over 4,300 digits, which is over what is read here") from None


_CUT = (
    ("Invalid \\uXXXX escape", re.compile(r"u?[0-9A-Fa-f]{0,3}")),
    ("Expecting value", re.compile(r"\s*(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-)?")),
    ("Expecting ',' delimiter", re.compile(r"\s*|(?<=[0-9])(?:[.]|[eE][+-]?)")),
    ("Expecting", re.compile(r"\s*")),
)
"""How the decoder reports what ends too early outside of a string, and what is left of the text where it stopped."""


def ends_early(error: json.JSONDecodeError) -> bool:
    """Whether the text is an object or a list as far as it goes."""
    if error.doc.lstrip(_SPACE)[:1] not in ("{", "["):
        return False
    # The line end that a file has is no character of a string.
    is_blank = not error.doc[error.pos :].strip(_SPACE)
    if error.msg.startswith("Unterminated string") or (error.msg.startswith("Invalid control character") and is_blank):
        # Where the end is a bracket, a quote in the middle is missing as likely.
        return not error.doc.rstrip(_SPACE).endswith(("]", "}"))
    return any(error.msg.startswith(message) and end.fullmatch(error.doc, error.pos) for message, end in _CUT)


def _not_json(error: json.JSONDecodeError) -> Unreadable:
    reason = f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos} of {len(error.doc):,}"
    return Unreadable("not-json", reason, is_cut=ends_early(error))


def refuse_large(text: str | bytes) -> None:
    """Raises Unreadable where a text has more than is read of one value."""
    if len(text) > limits.most_members():
        members = text.count("," if isinstance(text, str) else b",")  # type: ignore[arg-type]
        if len(text) > limits.LARGEST_VALUE or members > limits.most_members():
            raise Unreadable("too-large", limits.reason(f"{len(text):,} characters and {members:,} commas"))


def object_of(text: str | bytes) -> dict[str, Any]:
    """The JSON object that a text is; {} where it cannot be read or is none."""
    try:
        value = parse(text if isinstance(text, str) else decode(text))
    except Unreadable:
        return {}
    return value if isinstance(value, dict) else {}


def row_of(data: bytes) -> dict[str, Any]:
    """The JSON object that we made of a row: each of its values has a limit of its own, and all together none. {} where it is something else."""
    try:
        value = json.loads(decode(data))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def shown(value: Any) -> str:
    """A value as text: itself where it is one, "" for None, else its JSON. Hostile files hold anything."""
    return value if isinstance(value, str) else "" if value is None else compact(value)


def type_name(value: Any) -> str:
    """What JSON calls the type of a parsed value."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")


def object_or_text(text: str) -> dict[str, Any] | str:
    """The JSON object that a text is; the text itself where it cannot be read or is none."""
    try:
        value = parse(text)
    except Unreadable:
        return text
    return value if isinstance(value, dict) else text


def values(text: str) -> list[Any]:
    """The values of a text that holds several, one after the other. Raises Unreadable as `parse` does."""
    if _depth(text) > MAX_DEPTH:
        raise Unreadable("too-deep", f"nested more than {MAX_DEPTH} levels deep, which is over what is read here")
    parsed_values: list[Any] = []
    at = _skip(text, 0)
    try:
        while at < len(text):
            value, end = _DECODER.raw_decode(text, at)
            parsed_values.append(value)
            at = _skip(text, end)
    except json.JSONDecodeError as error:
        raise _not_json(error) from None
    except Unreadable:
        raise
    except ValueError:
        raise Unreadable("huge-integer", "holds an integer of over 4,300 digits, which is over what is read here") from None
    return parsed_values


def _depth(text: str) -> int:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for match in _STRUCTURE.finditer(text):
        depth += (match[0] in "[{") - (match[0] in "]}")
        deepest = max(deepest, depth)
    return deepest


def compact(value: Any) -> str:
    """As JSON.stringify writes it: no spaces, non-ASCII raw, lone surrogates as lower-case escapes."""
    text = _ENCODER.encode(value)
    return text if text.isascii() else _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def members(text: str) -> dict[str, tuple[int, int]]:
    """Where each value of the top-level object is in `text` (start, end). The last of two equal keys wins, as in JSON.parse."""
    spans: dict[str, tuple[int, int]] = {}
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise Unreadable("not-object", "not a JSON object")
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        spans[name] = (at, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return spans


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def amended(text: str, values: dict[str, Any]) -> str:
    """`text`, an object, with top-level members set to other values; of one that is an object itself only what differs is encoded again.

    A missing member is put after the others; every other character stays. Raises Unreadable where `text` is no object.
    """
    old = parse(text)
    spans = members(text)
    texts: dict[str, str] = {}
    for name, value in values.items():
        before = old.get(name)
        # An old text has no place for members that were removed.
        if isinstance(value, dict) and isinstance(before, dict) and before.keys() <= value.keys():
            inner = {key: item for key, item in value.items() if key not in before or compact(item) != compact(before[key])}
            texts[name] = _with_members(text[slice(*spans[name])], {key: compact(item) for key, item in inner.items()})
        else:
            texts[name] = compact(value)
    return _with_members(text, texts)


def _with_members(text: str, texts: dict[str, str]) -> str:
    spans = members(text)
    end = text.rindex("}")
    missing = ",".join(f"{compact(name)}:{value}" for name, value in texts.items() if name not in spans)
    text = text[:end] + ("," if spans and missing else "") + missing + text[end:]
    for name in sorted(texts.keys() & spans.keys(), key=lambda name: spans[name], reverse=True):
        start, stop = spans[name]
        text = text[:start] + texts[name] + text[stop:]
    return text
