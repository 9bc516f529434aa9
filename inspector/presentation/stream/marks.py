"""What is wrong with a stream, each at the event that shows it: the first few of every row of the table, and how many there are."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from inspector.presentation.stream.report import StreamAnalysis
from inspector.rules.base import Severity
from inspector.streams.model import Assembled, Side
from inspector.streams.violations import BY_NAME, severity_of

RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a finding arose, as far as a capture shows it: `name` for lists, `sentence` for the page of the stream."""

    name: str
    sentence: str


BETWEEN = Place("between backend and client", "It arose between backend and client: both sides prove it.")
BACKEND = Place("backend", "It came from the backend: its own side shows it.")
CLIENT = Place("client's side", "The client's side shows it, the backend's does not.")
NOT_SHOWN = Place("backend or after it", "Whether it arose in the backend or after it is not shown.")


def place_of(rule: str, on_sides: Collection[str], sides: Collection[str]) -> Place:
    """`on_sides` are those of the captured `sides` on which the rule named `rule` is found."""
    of_streams = BY_NAME.get(rule)
    if of_streams and of_streams.two_sided:
        return BETWEEN
    if Side.BACKEND.value in on_sides:
        return BACKEND
    # The message is judged on one side only.
    return CLIENT if of_streams and Side.BACKEND.value in sides else NOT_SHOWN


@dataclass(frozen=True, slots=True)
class StreamMark:
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
    why: str
    fixed_in_code: str

    @property
    def weight(self) -> tuple[int, bool, bool, str, int]:
        """What only both sides prove says more than what one side shows of the same damage; rules on the message come last."""
        return RANK[self.severity], not self.is_two_sided, self.name not in BY_NAME, self.code, self.nth


def marks_of(analysis: StreamAnalysis) -> dict[tuple[Side, int], list[StreamMark]]:
    """The first violations of every stream rule, and what the rules say of the message, by side and event."""
    marks: dict[tuple[Side, int], list[StreamMark]] = {}
    for mark in _marks(analysis):
        marks.setdefault((mark.side, mark.event), []).append(mark)
    return marks


def _marks(analysis: StreamAnalysis) -> Iterator[StreamMark]:
    for side, evidence in analysis.judged.by_side():
        rule, in_code = evidence.rule, "" if evidence.is_only_noted else evidence.rule.fixed_in_code
        for nth, violation in enumerate(evidence.first, 1):
            place = (side, violation.event, violation.text, nth, evidence.total)
            yield StreamMark(rule.code, rule.name, severity_of(violation), rule.silent, rule.two_sided, *place, rule.why, in_code)
    for finding in analysis.findings:
        if finding.rule not in BY_NAME:
            side = Side(finding.side)
            own = analysis.judged.alone.get(side)
            place = (side, _last_of(own.answers, finding.events[0]) if finding.events and own else 0, finding.message, 1, finding.total)
            yield StreamMark(
                finding.code, finding.rule, finding.severity, finding.silent, False, *place, finding.why, finding.fixed_in_code
            )


def _last_of(answers: Sequence[Assembled], first: int) -> int:
    """The event that ends the block that `first` began: a rule on the message names the beginning, and what is wrong was whole only there."""
    return next((block.last for answer in answers for block in answer.blocks if block.first == first), first)
