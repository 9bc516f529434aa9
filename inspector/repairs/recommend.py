"""Which strategies to compose where a person names the goal and not the way."""

from collections.abc import Sequence
from contextlib import suppress

from inspector.conversation.edits import EditMismatch, apply
from inspector.detectors.base import Case, Finding, Severity, at_least, findings
from inspector.detectors.catalogue import RULES
from inspector.repairs.base import Strategy
from inspector.repairs.catalogue import STRATEGIES


def recommended(case: Case, found: Sequence[Finding]) -> tuple[Strategy, ...]:
    """Those that findings at warning or above name and that change something, each after the ones before it, in the catalogue's order.

    With those that become needed by the others: a row that goes may have stood between two messages of one number, and a row that
    becomes readable may share its number with the next. What a person must choose is left to them.
    """
    named = _named(found)
    while True:
        chosen: list[Strategy] = []
        current = case
        for strategy in STRATEGIES:
            edits = list(strategy.propose(current)) if strategy.name in named else []
            # A store that holds a key twice can be edited by nobody: which of the two rows is meant?
            with suppress(EditMismatch):
                current = current.again(apply(current.conversation, edits))
                chosen += [strategy] if edits else []
        more = _named(findings(current, RULES)) - named if chosen else frozenset()
        if not more:
            return tuple(chosen)
        named |= more


def _named(found: Sequence[Finding]) -> frozenset[str]:
    names = {name for finding in found if at_least(finding.severity, Severity.WARNING) for name in finding.repaired_by}
    return frozenset(strategy.name for strategy in STRATEGIES if strategy.name in names and not strategy.by_choice)
