"""Which violations only follow from another one: a call without its result joins the answer after it to its own, and the rules on one answer fail on both."""

from dataclasses import replace
from functools import cache

from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import PROFILES

HOW = "two answers run together in one message"
"""How the rules that follow from a cause come to fail."""


@cache
def _follows() -> dict[str, tuple[str, ...]]:
    return {rule.id: rule.follows for profile in PROFILES for rule in profile.rules if rule.follows}


def with_causes(judgement: Judgement) -> Judgement:
    """The same, where each violation that follows from one in the same message names the rule of that."""
    by_message: dict[str, set[str]] = {}
    for violation in judgement.violations:
        by_message.setdefault(_message(violation.path), set()).add(violation.id)
    follows = _follows()
    violations = (
        replace(violation, cause=next((id_ for id_ in follows.get(violation.id, ()) if id_ in by_message[_message(violation.path)]), ""))
        for violation in judgement.violations
    )
    return replace(judgement, violations=tuple(violations))


def _message(path: str) -> str:
    return ".".join(path.split(".")[:2])
