"""JSON for other programs: what commands print and the `.json` twins answer."""

import json
import math
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import Any

Json = dict[str, Any]


def json_fields(value: object, names: str) -> Json:
    """The attributes of `value` that `names` lists, as JSON in this order; `id=oid` where the JSON field has another name than the attribute.

    Tuples become lists, sets sorted lists, enum members their values, and moments ISO 8601.
    """
    pairs = (name.partition("=") for name in names.split())
    return {name: _plain(attrgetter(attribute or name)(value)) for name, _, attribute in pairs}


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, frozenset):
        return sorted(value)
    return value.isoformat() if isinstance(value, datetime) else value.value if isinstance(value, Enum) else value


def json_text(value: Any) -> str:
    """ASCII only, so that no terminal obeys it and no encoding refuses it; a number over the range of a double becomes null."""
    try:
        return json.dumps(value, indent=2, allow_nan=False, default=_moment)
    except ValueError:
        return json.dumps(_finite(value), indent=2, allow_nan=False, default=_moment)


def _moment(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
