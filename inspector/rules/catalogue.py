"""Every rule, in the order of its code. Codes are never reused; retired ones stay listed here."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.programs.registry import members, programs
from inspector.rules.base import Rule


def _registered() -> Iterator[Rule]:
    yield from members("inspector.rules", "RULE")
    for program in programs():
        formats = tuple(each.name for each in program.formats)
        for rule in members(f"{program.package}.rules", "RULE"):
            yield rule if rule.formats else replace(rule, formats=formats)


RULES: tuple[Rule, ...] = tuple(sorted(_registered(), key=lambda rule: rule.code))


class UnknownRule(LookupError):
    def __init__(self, code: str) -> None:
        super().__init__(f"There is no rule {code!r}; `rules` lists them.")


def rule(code: str) -> Rule:
    """By code or by name."""
    for found in RULES:
        if code.upper() == found.code or code == found.name:
            return found
    raise UnknownRule(code)
