"""The finding on a client that asks the same again, for other stream of a group."""

from collections.abc import Sequence

from inspector.presentation.stream.report import StreamAnalysis, StreamFinding
from inspector.rules.base import Severity
from inspector.streams.repeated_requests import repeated
from inspector.streams.violations import REPEATED

NAMED = 5


def repeat_findings(names: Sequence[str], digests: Sequence[str], analyses: Sequence[StreamAnalysis]) -> dict[int, StreamFinding]:
    """By place. `names` are those of the exchanges, in the order in which they were captured.

    A warning from the request on that follows a flawed answer: that is what a client asks again for. Else a note: tests and
    samples ask the same on purpose, and a client asks again after an HTTP error.
    """
    findings: dict[int, StreamFinding] = {}
    for group in repeated(digests):
        flaw = ""
        for number, place in enumerate(group, start=1):
            others = [names[other] for other in group if other != place]
            where = f"the other is {others[0]}" if len(others) == 1 else f"the others are {_listed(others)}"
            text = f"The client asked this {len(group)} times: this is number {number}, {where}."
            findings[place] = _finding(analyses[place], text + flaw, Severity.WARNING if flaw else Severity.NOTE)
            flaw = flaw or _flaw(analyses[place], number)
    return findings


def _finding(analysis: StreamAnalysis, text: str, severity: Severity) -> StreamFinding:
    side = analysis.main.side.value if analysis.main else ""
    in_code = REPEATED.fixed_in_code if severity is Severity.WARNING else ""
    return StreamFinding(REPEATED.code, REPEATED.name, severity, REPEATED.silent, text, side, fixed_in_code=in_code)


def _flaw(analysis: StreamAnalysis, number: int) -> str:
    """What a client could not use in an answer, "" where nothing is wrong with it or HTTP says that it is none."""
    worst = analysis.findings[0] if analysis.findings else None
    if worst is None or worst.severity is not Severity.ERROR or any(status >= 400 for status in analysis.exchange.statuses.values()):
        return ""
    return f" The answer to number {number} is flawed: {worst.code} {worst.rule}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
