"""What is wrong with a stream, each at the event that shows it: the first few of every row of the table, and how many there are."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.reports.stream_report import Analysis
from inspector.rules.base import Severity
from inspector.streams.model import Assembled, Side
from inspector.streams.run import Evidence
from inspector.streams.two_sides import ON_BACKEND
from inspector.streams.violations import BY_NAME, STREAM_RULES, severity_of

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
    marks: dict[tuple[Side, int], list[Mark]] = {}
    judged = analysis.judged

    def add(evidence: Sequence[Evidence], side: Side | None) -> None:
        for shown in evidence:
            row, of = shown.rule, side or (Side.BACKEND if shown.rule.name in ON_BACKEND else Side.CLIENT)
            for nth, violation in enumerate(shown.first, 1):
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
                    shown.total,
                    row.why,
                    row.number,
                    "" if shown.is_only_noted else row.fixed_in_code,
                )
                marks.setdefault((of, violation.event), []).append(mark)

    if judged.sides is not None:
        add(judged.sides.evidence, None)
    for side in judged.alone:
        add(judged.evidence(side), side)
    for finding in analysis.findings:
        if finding.rule not in BY_NAME:
            side = Side(finding.side)
            event = _last_of(judged.alone[side].answers, finding.events[0]) if finding.events and side in judged.alone else 0
            mark = Mark(
                finding.code,
                finding.rule,
                finding.severity,
                finding.silent,
                False,
                side,
                event,
                finding.message,
                1,
                finding.total,
                finding.why,
                len(STREAM_RULES) + 1,
                finding.fixed_in_code,
            )
            marks.setdefault((side, event), []).append(mark)
    return marks


def _last_of(answers: Sequence[Assembled], first: int) -> int:
    """The event that ends the block that `first` began: a rule on the message names the beginning, and what is wrong was whole only there."""
    return next((block.last for answer in answers for block in answer.blocks if block.first == first), first)
