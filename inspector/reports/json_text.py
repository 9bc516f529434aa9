"""JSON for other programs: what commands print and the `.json` twins answer."""

import json
import math
from datetime import datetime
from typing import Any


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
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
