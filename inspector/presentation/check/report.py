"""What `check` prints of a history: lines for people, and JSON."""

from collections.abc import Iterator, Sequence

from inspector.checking import Checked
from inspector.conversation.queries import span_text
from inspector.presentation.conversation.scan import finding_report
from inspector.presentation.json_text import Json, json_fields
from inspector.sources.problems import shown

SHOWN = 5
"""Violations of one history that are printed for people; the other outputs have all."""
VERDICT = {True: "accepted", False: "rejected"}


def checked_lines(checked: Checked) -> Iterator[str]:
    """The place and the verdict, then each violation and finding."""
    yield f"{_place(checked)}: {checked.verdict}"
    for violation in checked.violations[:SHOWN]:
        yield f"  {violation.id} {violation.path}{_where(checked, violation.seqs)}: {violation.text}"
    if len(checked.violations) > SHOWN:
        yield f"  and {len(checked.violations) - SHOWN:,} more; --output json has all"
    for finding in checked.findings:
        yield f"  {finding.code} {finding.rule} ({finding.severity}){_where(checked, finding.seqs)}: {finding.message}"
        if finding.repaired_by:
            yield f"      repaired by {', '.join(finding.repaired_by)}"
    for note in checked.notes:
        yield f"  {note}"


def checked_report(checked: Checked) -> Json:
    return {
        **json_fields(checked, "file conversation format reader profile accepted passes verdict failure"),
        "violations": [
            {**json_fields(violation, "id path seqs text"), "line": checked.line(violation.seqs)} for violation in checked.violations
        ],
        "findings": [{**finding_report(finding), "line": checked.line(finding.seqs)} for finding in checked.findings],
        "notes": list(checked.notes),
    }


def _place(checked: Checked) -> str:
    """The file, and the id where that says more."""
    named = checked.conversation not in ("request", "") and checked.conversation not in checked.file
    parts = [shown(checked.file, 4096)] if checked.file else []
    return " ".join([*parts, shown(checked.conversation)] if named or not parts else parts)


def _where(checked: Checked, seqs: Sequence[int]) -> str:
    line = checked.line(seqs)
    return f", line {line:,}" if line is not None else f", seq {span_text(seqs)}" if seqs else ""
