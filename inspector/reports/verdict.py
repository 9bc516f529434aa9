"""The one sentence that stands first: what is damaged, whether anybody would notice, and what the next turn will do."""

from collections.abc import Sequence

from inspector.conversation.queries import span_text
from inspector.detectors.base import Case, Fault, Finding, Severity
from inspector.profiles.base import Judgement


def verdict(case: Case, findings: Sequence[Finding], judgement: Judgement) -> str:
    serious = [finding for finding in findings if finding.severity is not Severity.NOTE]
    if not case.conversation.chunks:
        return "The store holds no chunks of this conversation."
    if case.reading.failure:
        return f"{_where(serious)}, and {case.reading.reader} cannot open it: {case.reading.failure}."
    done = _done_by_reader(case)
    how = "silently " if any(finding.silent and finding.fault is Fault.READER for finding in serious) else ""
    read = f" {'but' if _intact(serious) else 'and'} {case.reading.reader} {how}{' and '.join(done)}" if done else ""
    return f"{_where(serious)}{',' if read else ''}{read}; {_next(case, serious, judgement)}."


def _intact(serious: Sequence[Finding]) -> bool:
    return Fault.STORE not in {finding.fault for finding in serious}


def _where(serious: Sequence[Finding]) -> str:
    faults = [finding.fault for finding in serious]
    if not serious:
        return "Nothing is damaged"
    if Fault.STORE in faults:
        count = faults.count(Fault.STORE)
        return f"The store is damaged in {'one place' if count == 1 else f'{count} places'}"
    if Fault.READER in faults:
        return "The store is intact"
    return "The store is intact, what came back in the stream was not"


def _done_by_reader(case: Case) -> list[str]:
    done = []
    if len(case.reading.grouped) != len(case.messages):
        done.append(f"reads {len(case.messages)} messages as {len(case.reading.grouped)}")
    gone = [seq for dropped in case.reading.dropped for seq in dropped.seqs]
    if gone:
        done.append(f"leaves out seq {span_text(sorted(gone), 3)}")
    return done


def _next(case: Case, serious: Sequence[Finding], judgement: Judgement) -> str:
    if case.running:
        return "a turn is running, so its open end is not judged"
    if not judgement.sendable:
        return f"the next request is refused by {judgement.profile} at {judgement.violations[0].path} ({judgement.violations[0].id})"
    if any(finding.silent and finding.severity is Severity.ERROR for finding in serious):
        return "the next request goes wrong silently: no known rule refuses it"
    return "no known rule refuses the next request"
