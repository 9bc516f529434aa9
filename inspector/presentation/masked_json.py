"""Secrets out of stored JSON, so that it can still be read as what it was: a row stays a row, a body a body."""

import json
from typing import Any

from inspector.presentation.json_text import json_text
from inspector.presentation.masking import mask, masked, secrets_in
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable


def masked_bytes(data: bytes) -> bytes:
    """`data` with its secrets masked; JSON stays JSON with the same members. Data without a secret is returned byte for byte."""
    text = data.decode("utf-8", "surrogateescape")
    flat = masked(text)
    if flat == text:
        return data
    changed = flat.encode("utf-8", "surrogateescape")
    try:
        value = jsontext.parse(jsontext.decode(data))
    except Unreadable:
        return changed
    try:
        if _shape(jsontext.parse(jsontext.decode(changed))) == _shape(value):
            return changed
    except Unreadable:
        pass
    # A mask that swallowed a quote or a bracket: mask string by string instead.
    return jsontext.encode(jsontext.compact(_masked(value)))


def masked_output(text: str) -> str:
    """`text` with its secrets masked; JSON stays JSON, indented as it was."""
    flat = masked(text)
    if flat == text or not text.lstrip().startswith(("{", "[", '"')):
        return flat
    try:
        value = json.loads(text)
    except ValueError:
        return flat
    try:
        if _shape(json.loads(flat)) == _shape(value):
            return flat
    except ValueError:
        pass
    return json_text(_masked(value))


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return ("members", [_shape(member) for member in value.values()])
    if isinstance(value, list):
        return [_shape(member) for member in value]
    return str if isinstance(value, str) else (type(value), value)


def _masked(value: Any, name: str = "", around: str = "") -> Any:
    """`name` is that of the member that `value` is, or is a list in; `around` that of the object with that member: some secrets are recognized only by them."""
    if isinstance(value, dict):
        return {masked(member): _masked(below, member, name) for member, below in value.items()}
    if isinstance(value, list):
        return [_masked(item, name, around) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str) and (own := masked(value)) != value:
        return own
    for alone in ({name: value}, {name: [value]}, {around: {name: value}}):
        if spans := secrets_in(jsontext.compact(alone)):
            return mask(value if isinstance(value, str) else jsontext.compact(value), spans[0].kind)
    return value
