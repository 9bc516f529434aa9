"""What `whatif --json` and the page's `.json` twin say, in the shape that scripts rely on."""

from collections.abc import Iterable
from typing import Any

from inspector.reports.whatif import Difference, Divergence, Summary, Tally
from inspector.rules.base import Finding

Json = dict[str, Any]
SEQS = 50


def summary_report(summary: Summary) -> Json:
    return {
        "reader_a": summary.reader_a,
        "reader_b": summary.reader_b,
        "conversations": summary.conversations,
        "differ": _tally(summary.differ),
        "become_sendable": _tally(summary.become_sendable),
        "better": _tally(summary.better),
        "worse": _tally(summary.worse),
        "merged": _tally(summary.merged),
        "refused": _tally(summary.refused),
    }


def difference_report(oid: str, native_id: str, found: Difference) -> Json:
    """`first` is null where both read the same messages; `still_merged` holds the first 50 seqs."""
    return {
        "id": oid,
        "native_id": native_id,
        "reader_a": found.reader_a,
        "reader_b": found.reader_b,
        "differs": found.differs,
        "messages_stored": found.messages_stored,
        "messages_read": {"a": found.messages_a, "b": found.messages_b},
        "first": _first(found.first),
        "sendable": {"a": found.sendable_a, "b": found.sendable_b},
        "verdict": {"a": found.verdict_a, "b": found.verdict_b},
        "better": list(found.better),
        "worse": list(found.worse),
        "still_merged": list(found.still_merged[:SEQS]),
        "findings_gone": _findings(found.go),
        "findings_come": _findings(found.come),
    }


def _tally(found: Tally) -> Json:
    return {"count": found.count, "examples": list(found.examples)}


def _first(found: Divergence | None) -> Json | None:
    return None if found is None else {"message": found.number, "a": found.a, "b": found.b}


def _findings(found: Iterable[Finding]) -> list[Json]:
    return [{"code": each.code, "rule": each.rule, "severity": each.severity.value, "seqs": list(each.seqs)} for each in found]
