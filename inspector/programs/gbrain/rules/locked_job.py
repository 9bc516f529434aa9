"""STORE604: a worker holds the job, or did when it went away."""

from collections.abc import Iterator
from datetime import UTC, datetime

from inspector.programs.gbrain.facts import STATUS
from inspector.rules.base import Case, Match, Origin, Rule, Severity

REFUSED = "A repair is refused until the job is at rest"


def check(case: Case) -> Iterator[Match]:
    locked_until, status = case.locked_until, case.conversation.fact(STATUS)
    last = case.conversation.chunks[-1:]
    if case.running and locked_until is not None and case.taken_at is not None:
        yield Match(
            last,
            f"Somebody runs the job now: its lock or a call of it is held until {_moment(locked_until)}, and its open end is no damage. {REFUSED}.",
        )
    elif case.running:
        yield Match(last, f"The job is active and was written to a moment before it was read: its open end is no damage. {REFUSED}.")
    elif status == "active":
        since = f"its lock ended at {_moment(locked_until)}" if locked_until is not None else "nothing was written for long"
        yield Match(
            last,
            f"The job is active, and {since}: the worker is gone, and gbrain will take it up again. {REFUSED}: pause or cancel it first.",
        )


def _moment(at: int) -> str:
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return "a time that no calendar has"


RULE = Rule(
    code="STORE604",
    state="GB9",
    name="locked-job",
    severity=Severity.NOTE,
    silent=False,
    origin=Origin.STORE,
    summary="the job is held by a worker, or still marked active by one that is gone",
    why="A worker writes to its job at any moment, and what it holds in memory does not know of a repair. A lock that ended while the status is active is that of a worker that died.",
    example="@format gbrain\n@status active\n@lockUntil 1000\n1 user 0.0 text go",
    check=check,
    references=("gbrain minion_jobs: lock_until; subagent_rate_leases: a live row is a call in flight",),
    no_repair_reason="Pause or cancel the job in gbrain, or wait until it has ended, and read it again.",
    fixed_in_code="Nothing to fix in code: the queue takes up stalled jobs by itself.",
)
