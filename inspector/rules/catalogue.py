"""Every rule, in the order of its code. The code of a rule that is gone is never given to another one."""

from inspector.programs.registry import registered
from inspector.rules.base import Rule
from inspector.text.unknown import UnknownName

RULES: tuple[Rule, ...] = tuple(sorted(registered("rules", "RULE"), key=lambda rule: rule.code))


class UnknownRule(UnknownName):
    def __init__(self, code: str) -> None:
        super().__init__(f"There is no rule {code!r}; `rules` lists them.")


def rule(code: str) -> Rule:
    """By code or by name."""
    for candidate in RULES:
        if code.upper() == candidate.code or code == candidate.name:
            return candidate
    raise UnknownRule(code)
