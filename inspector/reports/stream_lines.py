"""The events of one side as lines of text: what folds is folded, what is wrong stands below its event."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspector.reports.stream_report import Analysis, repaired_by
from inspector.reports.stream_words import ENDS, cell_words, event_words, when
from inspector.streams.model import Observed, Side, Violation
from inspector.streams.run import run
from inspector.streams.two_sides import ON_BACKEND
from inspector.streams.violations import BY_NAME, severity_of

QUOTED = 60
"""Characters of a run of words that are shown."""
_ALONE = frozenset({"call", "finish", "terminal", "error", "malformed", "signature"})


@dataclass(slots=True)
class Line:
    """Events `first` to `last` (None: the end of the side). `wrong` are violations by their rows."""

    first: int | None
    last: int | None
    kind: str
    said: str
    state: str
    at: float | None = None
    count: int = 1
    size: int = 0
    quote: str = ""
    words: str = ""
    wrong: list[Violation] = field(default_factory=list)


def event_lines(analysis: Analysis, side: Side) -> Iterator[Line]:
    """One pass; no more than one line is held. What only the comparison of both sides shows stands at the events that show it."""
    compared = _compared(analysis, side)
    shown = {found.rule for found in analysis.findings if found.side == side.value}
    ran, held = run(analysis.exchange, side), None
    for observed in ran:
        line = _line(observed, [each for each in observed.violations if each.name in shown])
        line.wrong += compared.pop(observed.frame.index, ())
        if held is not None and _folds(held, line):
            held.last, held.count, held.size = line.last, held.count + 1, held.size + line.size
            held.quote = held.quote if len(held.quote) > QUOTED else held.quote + line.quote
        else:
            if held is not None:
                yield _finished(held)
            held = line
    if held is not None:
        yield _finished(held)
    left = [each for violations in compared.values() for each in violations]
    wrong = [each for each in ran.closing if each.name in shown]
    yield Line(None, None, "end", ENDS[ran.how], ran.state, wrong=[*wrong, *left])


def _compared(analysis: Analysis, side: Side) -> dict[int, list[Violation]]:
    found: dict[int, list[Violation]] = {}
    for each in analysis.judged.sides.found if analysis.judged.sides else ():
        if (each.row.name in ON_BACKEND) is (side is Side.BACKEND):
            for violation in each.first:
                found.setdefault(violation.event, []).append(violation)
    return found


def _line(observed: Observed, wrong: Sequence[Violation]) -> Line:
    kind, words, text = event_words(observed)
    index = observed.frame.index
    return Line(index, index, kind, "", observed.state, observed.frame.at, 1, len(text), text[:QUOTED], words, list(wrong))


def _folds(held: Line, line: Line) -> bool:
    return held.kind == line.kind and held.state == line.state and not held.wrong and not line.wrong and line.kind not in _ALONE


def _finished(line: Line) -> Line:
    line.said = cell_words(line.kind, line.count, line.size, line.words if line.count == 1 else "", {}, None)
    return line


def text_of(line: Line) -> Iterator[str]:
    """As `show` prints it: events, time, what they say, the state after them; then what is wrong, a line each."""
    place = "end" if line.first is None else str(line.first) if line.first == line.last else f"{line.first}-{line.last}"
    words = " ".join(line.quote[:QUOTED].split())
    quote = f' "{words}{"…" if line.size > QUOTED else ""}"' if words else ""
    clock = f" {when(line.at):>10}" if line.at is not None else ""
    kind = "" if line.said.startswith((line.kind, "The ")) or line.kind not in _ALONE else f"{line.kind} "
    yield f"{place:>13}{clock}  {kind}{line.said}{quote}  [{line.state}]"
    for violation in line.wrong:
        row = BY_NAME[violation.name]
        yield f"{'':13}! {row.code} {row.name} ({severity_of(violation)}): {violation.text}"


def line_report(line: Line) -> dict[str, Any]:
    return {
        "events": [] if line.first is None else [line.first, line.last],
        "kind": line.kind,
        "says": line.said,
        "text": line.quote[:QUOTED],
        "size": line.size,
        "at": line.at,
        "state": line.state,
        "violations": [_violation(each) for each in line.wrong],
    }


def _violation(violation: Violation) -> Mapping[str, Any]:
    row = BY_NAME[violation.name]
    return {
        "code": row.code,
        "rule": row.name,
        "severity": severity_of(violation).value,
        "event": violation.event,
        "text": violation.text,
        "repaired_by": list(repaired_by(row)),
    }
