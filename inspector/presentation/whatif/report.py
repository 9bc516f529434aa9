"""What `whatif --json` and the page's `.json` twin contain, in the shape that scripts rely on."""

from collections.abc import Iterable

from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.whatif.differences import Difference, Summary, standing
from inspector.profiles.base import Violation
from inspector.rules.base import Finding

SEQS = 50
_TALLIES = ("differ", "become_sendable", "better", "worse", "merged", "refused", "become_rejected")


def summary_report(summary: Summary) -> Json:
    """`standing` is what B is next to A; `shrunk`: messages that each reads of the conversations of which B loses some.

    `kinds` has each conversation once, `next_requests` those whose next request changes; of the tallies before them several may have the same one.
    """
    return {
        **json_fields(summary, "reader_a reader_b conversations retried"),
        "standing": standing(summary.reader_a, summary.reader_b),
        "shrunk": dict(zip("ab", summary.shrunk, strict=True)),
        **{name: json_fields(getattr(summary, name), "count examples") for name in _TALLIES},
        **{
            name: {key: json_fields(tally, "count examples") for key, tally in tallies.items()}
            for name, tallies in (("kinds", summary.kinds), ("next_requests", summary.next_requests))
        },
        "states": {state: {"a": a, "b": b} for state, (a, b) in summary.states.items()},
    }


def difference_report(oid: str, native_id: str, difference: Difference) -> Json:
    """`first` is null where both read the same messages, and a violation where the request passes; `still_merged` holds the first 50 seqs."""
    return {
        "id": oid,
        "native_id": native_id,
        **json_fields(difference, "reader_a reader_b differs messages_stored"),
        "messages_read": json_fields(difference, "a=messages_a b=messages_b"),
        "first": None if difference.first is None else json_fields(difference.first, "message=number a b"),
        "sendable": json_fields(difference, "a=sendable_a b=sendable_b"),
        "next_request": json_fields(difference, "a=state_a b=state_b change=next_request"),
        "verdict": json_fields(difference, "a=verdict_a b=verdict_b"),
        "violation": {"a": _violation(difference.violation_a), "b": _violation(difference.violation_b)},
        **json_fields(difference, "better worse retry"),
        "still_merged": list(difference.still_merged[:SEQS]),
        "findings_gone": _findings(difference.go),
        "findings_come": _findings(difference.come),
        "findings_stay": _findings(difference.stay),
    }


def _violation(violation: Violation | None) -> Json | None:
    return None if violation is None else json_fields(violation, "id path seqs text")


def _findings(findings: Iterable[Finding]) -> list[Json]:
    return [json_fields(finding, "code rule severity seqs") for finding in findings]
