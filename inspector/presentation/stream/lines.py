"""The events of one side as lines of text: what folds is folded, what is wrong is below its event."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.presentation.stream.report import StreamAnalysis
from inspector.presentation.stream.split_secrets import split_secrets, without_secrets
from inspector.presentation.stream.words import ENDS, cell_words, event_words, when
from inspector.presentation.visible import beginning
from inspector.streams.model import ObservedEvent, Side, StreamViolation
from inspector.streams.run import run
from inspector.streams.two_sides import ON_BACKEND
from inspector.streams.violations import BY_NAME, severity_of

QUOTED = 60
"""Characters of a run of words that are shown."""
_ALONE = frozenset({"call", "finish", "terminal", "error", "malformed", "signature"})


@dataclass(slots=True)
class EventLine:
    """Events `first` to `last` (None: the end of the side). `wrong` are violations by their rows."""

    first: int | None
    last: int | None
    kind: str
    summary: str
    state: str
    at: float | None = None
    count: int = 1
    size: int = 0
    quote: str = ""
    words: str = ""
    wrong: list[StreamViolation] = field(default_factory=list)


def event_lines(analysis: StreamAnalysis, side: Side) -> Iterator[EventLine]:
    """One pass; no more than one line is in memory. What only the comparison of both sides shows is at the events that show it."""
    compared = _compared(analysis, side)
    shown = {finding.rule for finding in analysis.findings if finding.side == side.value}
    ran, pending = run(analysis.exchange, side), None
    masks = split_secrets(analysis.exchange, side)
    for observed in ran:
        line = _line(without_secrets(observed, masks), [violation for violation in observed.violations if violation.name in shown])
        line.wrong += compared.pop(observed.frame.index, ())
        if pending is not None and _folds(pending, line):
            pending.last, pending.count, pending.size = line.last, pending.count + 1, pending.size + line.size
            pending.quote = pending.quote if len(pending.quote) > QUOTED else pending.quote + line.quote
        else:
            if pending is not None:
                yield _finished(pending)
            pending = line
    if pending is not None:
        yield _finished(pending)
    remaining = [violation for violations in compared.values() for violation in violations]
    wrong = [violation for violation in ran.closing if violation.name in shown]
    yield EventLine(None, None, "end", ENDS[ran.how], ran.state, wrong=[*wrong, *remaining])


def _compared(analysis: StreamAnalysis, side: Side) -> dict[int, list[StreamViolation]]:
    violations_of: dict[int, list[StreamViolation]] = {}
    for evidence in analysis.judged.sides.evidence if analysis.judged.sides else ():
        if (evidence.rule.name in ON_BACKEND) is (side is Side.BACKEND):
            for violation in evidence.first:
                violations_of.setdefault(violation.event, []).append(violation)
    return violations_of


def _line(observed: ObservedEvent, wrong: Sequence[StreamViolation]) -> EventLine:
    kind, words, text = event_words(observed)
    index = observed.frame.index
    return EventLine(index, index, kind, "", observed.state, observed.frame.at, 1, len(text), beginning(text, QUOTED), words, list(wrong))


def _folds(pending: EventLine, line: EventLine) -> bool:
    return pending.kind == line.kind and pending.state == line.state and not pending.wrong and not line.wrong and line.kind not in _ALONE


def _finished(line: EventLine) -> EventLine:
    line.summary = cell_words(line.kind, line.count, line.size, line.words if line.count == 1 else "", {}, None)
    return line


def text_of(line: EventLine) -> Iterator[str]:
    """As `show` prints it: events, time, what they say, the state after them; then what is wrong, a line each."""
    place = "end" if line.first is None else str(line.first) if line.first == line.last else f"{line.first}-{line.last}"
    words = " ".join(beginning(line.quote, QUOTED).split())
    quote = f' "{words}{"…" if line.size > QUOTED else ""}"' if words else ""
    clock = f" {when(line.at):>10}" if line.at is not None else ""
    kind = "" if line.summary.startswith((line.kind, "The ")) or line.kind not in _ALONE else f"{line.kind} "
    yield f"{place:>13}{clock}  {kind}{line.summary}{quote}  [{line.state}]"
    for violation in line.wrong:
        row = BY_NAME[violation.name]
        yield f"{'':13}! {row.code} {row.name} ({severity_of(violation)}): {violation.text}"


def line_report(line: EventLine) -> dict[str, Any]:
    return {
        "events": [] if line.first is None else [line.first, line.last],
        "kind": line.kind,
        "says": line.summary,
        "text": beginning(line.quote, QUOTED),
        "size": line.size,
        "at": line.at,
        "state": line.state,
        "violations": [_violation(violation) for violation in line.wrong],
    }


def _violation(violation: StreamViolation) -> Mapping[str, Any]:
    row = BY_NAME[violation.name]
    return {
        "code": row.code,
        "rule": row.name,
        "severity": severity_of(violation).value,
        "event": violation.event,
        "text": violation.text,
        "repaired_by": list(row.repaired_by),
    }
