"""STORE602: the index that the client would give the next turn is taken."""

from collections.abc import Iterator

from inspector.programs.gbrain.readers import VERSIONS, counters
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    collision = case.reading.report.get("collides")
    if not collision:
        return
    at = case.reading.report.get("nextMessageIdx")
    counted = [(version.name, counters(version, case.conversation)) for version in VERSIONS]
    yield Match(
        [chunk for chunk in case.conversation.chunks if chunk.msg_idx == at][:1],
        f"{case.reading.reader} counts rows to find the next index, and {collision}.",
        evidence=tuple(
            (name, counter["collides"] or f"goes on at index {counter['nextMessageIdx']}, which is free") for name, counter in counted
        ),
    )


RULE = Rule(
    code="STORE602",
    state="GB7",
    name="taken-index",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.READER,
    summary="the client would write the next turn at an index that is taken",
    unnoticed="turn lost",
    why=(
        "gbrain keeps no counter: versions before #2820, and pull request 1934, take the number of rows for the next index. Where indexes have gaps that one is taken, the insert does nothing, "
        "the turn is lost, and its first call is answered with the stored output of another tool."
    ),
    example="@format gbrain\n1 user 0.0 text go\n2 assistant 1.0 tool-call a head {}\n3 assistant 3.0 tool-call b body {}",
    check=check,
    references=("both statements of gbrain run on PostgreSQL: no row is written, and the older run's uuid comes back",),
    repaired_by=("insert-ledger-results", "insert-replay-result", "insert-recovered-result", "insert-plain-result"),
    fixed_in_code="Take the highest index plus one, as gbrain does since #2820, and look whether the insert wrote a row.",
)
