"""What is wrong with a stream, each at the event that shows it: the first few of every row of the table, and how many there are."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.reports.stream_report import Analysis
from inspector.rules.base import Severity
from inspector.streams.model import Assembled, Side
from inspector.streams.run import Evidence
from inspector.streams.two_sides import ON_BACKEND
from inspector.streams.violations import BY_NAME, ROWS, severity_of

RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True)
class Mark:
    """One thing that is wrong, at its event: number `nth` of `total` of its code."""

    code: str
    name: str
    severity: Severity
    silent: bool
    is_two_sided: bool
    side: Side
    event: int
    text: str
    nth: int
    total: int
    why: str = ""
    number: int = 0
    fixed_in_code: str = ""

    @property
    def weight(self) -> tuple[int, bool, int, str, int]:
        """What only both sides prove says more than what one side shows of the same fault."""
        return RANK[self.severity], not self.is_two_sided, self.number, self.code, self.nth


def marks_of(analysis: Analysis) -> dict[tuple[Side, int], list[Mark]]:
    """The first violations of every row of the table, and what the rules say of the message, by side and event."""
    found: dict[tuple[Side, int], list[Mark]] = {}
    judged = analysis.judged

    def add(evidence: Sequence[Evidence], side: Side | None) -> None:
        for each in evidence:
            row, of = each.row, side or (Side.BACKEND if each.row.name in ON_BACKEND else Side.CLIENT)
            for nth, violation in enumerate(each.first, 1):
                mark = Mark(
                    row.code,
                    row.name,
                    severity_of(violation),
                    row.silent,
                    row.two_sided,
                    of,
                    violation.event,
                    violation.text,
                    nth,
                    each.total,
                    row.why,
                    row.number,
                    "" if each.is_only_noted else row.fixed_in_code,
                )
                found.setdefault((of, violation.event), []).append(mark)

    if judged.sides is not None:
        add(judged.sides.found, None)
    for side in judged.alone:
        add(judged.found(side), side)
    for each in analysis.findings:
        if each.rule not in BY_NAME:
            side = Side(each.side)
            event = _last_of(judged.alone[side].answers, each.events[0]) if each.events and side in judged.alone else 0
            mark = Mark(
                each.code,
                each.rule,
                each.severity,
                each.silent,
                False,
                side,
                event,
                each.message,
                1,
                each.total,
                each.why,
                len(ROWS) + 1,
                each.fixed_in_code,
            )
            found.setdefault((side, event), []).append(mark)
    return found


def _last_of(answers: Sequence[Assembled], first: int) -> int:
    """The event that ends the block that `first` began: a rule on the message names the beginning, and what is wrong was whole only there."""
    return next((block.last for answer in answers for block in answer.blocks if block.first == first), first)
