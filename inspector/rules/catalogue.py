"""Every rule, in the order of its code. The code of a rule that is gone is never given to another one."""

from inspector.programs.registry import registered
from inspector.rules.base import Case, Finding, Rule, cached_per_case, findings
from inspector.text.unknown import UnknownName

RULES: tuple[Rule, ...] = tuple(sorted(registered("rules", "RULE"), key=lambda rule: rule.code))


@cached_per_case
def all_findings(case: Case) -> tuple[Finding, ...]:
    """What all rules report on the case, most dangerous first."""
    return tuple(findings(case, RULES))


class UnknownRule(UnknownName):
    def __init__(self, code: str) -> None:
        super().__init__(f"There is no rule {code!r}; `rules` lists them.")


def rule(code: str) -> Rule:
    """By code or by name."""
    for candidate in RULES:
        if code.upper() == candidate.code or code == candidate.name:
            return candidate
    raise UnknownRule(code)
