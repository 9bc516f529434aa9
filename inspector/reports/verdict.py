"""The one sentence that stands first: what is damaged, whether anybody would notice, and what the next turn will do."""

from inspector.conversation.queries import span_text
from inspector.detectors.base import Case, Fault, Finding, Severity
from inspector.profiles.base import Judgement


def verdict(case: Case, findings: list[Finding], judgement: Judgement) -> str:
    serious = [finding for finding in findings if finding.severity is not Severity.NOTE]
    if not case.conversation.chunks:
        return "The store holds no chunks of this conversation."
    parts = [_where(case, serious)]
    if case.reading.failure:
        return f"{parts[0]}, and {case.reading.reader} cannot open it: {case.reading.failure}."
    if len(case.reading.grouped) != len(case.messages):
        parts.append(f"{case.reading.reader} reads {len(case.messages)} messages as {len(case.reading.grouped)}")
    hidden = [f"seq {span_text(dropped.seqs, 3)}" for dropped in case.reading.dropped]
    if hidden:
        parts.append(f"leaves out {', '.join(hidden[:3])}{' and more' if len(hidden) > 3 else ''}")
    return f"{_joined(parts)}; {_next(case, serious, judgement)}."


def _where(case: Case, serious: list[Finding]) -> str:
    faults = {finding.fault for finding in serious}
    if not serious:
        return "Nothing is damaged"
    if Fault.STORE in faults:
        count = len([finding for finding in serious if finding.fault is Fault.STORE])
        return f"The store is damaged in {'one place' if count == 1 else f'{count} places'}"
    if Fault.READER in faults:
        return "The store is intact, but its loader is wrong"
    return "The store is intact, but what came back in the stream was wrong"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{parts[0]}: {' and '.join(parts[1:])}" if len(parts) < 4 else ", ".join(parts)


def _next(case: Case, serious: list[Finding], judgement: Judgement) -> str:
    if case.running:
        return "a turn is running, so its open end is not judged"
    if not judgement.sendable:
        return f"the next request is refused by {judgement.profile} at {judgement.violations[0].path} ({judgement.violations[0].id})"
    if any(finding.silent and finding.severity is Severity.ERROR for finding in serious):
        return "the next request goes wrong silently: no known rule refuses it"
    return "no known rule refuses the next request"
