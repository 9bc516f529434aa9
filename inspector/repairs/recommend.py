"""Which strategies to compose where a person names the goal and not the way."""

from collections.abc import Sequence

from inspector.conversation.edits import apply
from inspector.detectors.base import Case, Finding, Severity, at_least
from inspector.repairs.base import Strategy
from inspector.repairs.catalogue import STRATEGIES


def recommended(case: Case, findings: Sequence[Finding]) -> tuple[Strategy, ...]:
    """Those that findings at warning or above name and that change something, each after the ones before it, in the catalogue's order.

    What a person must choose is left to them.
    """
    named = {name for finding in findings if at_least(finding.severity, Severity.WARNING) for name in finding.repaired_by}
    chosen: list[Strategy] = []
    for strategy in STRATEGIES:
        edits = list(strategy.propose(case)) if strategy.name in named and not strategy.by_choice else []
        if edits:
            chosen.append(strategy)
            case = case.again(apply(case.conversation, edits))
    return tuple(chosen)
