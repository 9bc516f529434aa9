"""Reading of request bodies that may hold anything: every value is looked at before it is trusted."""

import re
from collections.abc import Iterable
from typing import Any

from inspector.profiles.base import Violation

_NUMBER = re.compile(r"\d+")


def entry(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[dict[str, Any]]:
    """One object for each element of a list, so that indexes stay those of the body; [] where it is no list."""
    return [entry(element) for element in value] if isinstance(value, list) else []


def word(value: Any) -> str:
    """A role, type or id; "" where it is no string. Only strings are hashed and compared."""
    return value if isinstance(value, str) else ""


def by_place(violations: Iterable[Violation]) -> list[Violation]:
    """In the order of the indexes in their paths: what is only known at the end of the list is reported where it began."""
    return sorted(violations, key=lambda violation: [int(number) for number in _NUMBER.findall(violation.path)])
