"""STORE305: a conversation is marked active, and no turn is running."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.durations import duration


def check(case: Case) -> Iterator[Match]:
    if case.conversation.fact("status") != "active" or case.running or case.taken_at is None:
        return
    last = int(case.conversation.fact("lastActivityAt") or 0)
    traced = "no turn is open in the trace" if case.trace is not None else "no trace was imported that would show an open turn"
    yield Match(
        case.conversation.chunks[-1:],
        f"The status says active, but nothing was written for {duration(case.taken_at - last)} before the store was read, and {traced}: the server went down inside a turn.",
    )


RULE = Rule(
    code="STORE305",
    state="X2",
    name="stuck-status",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="the status is still active, long after the last write",
    why="A server that goes down inside a turn leaves the status as it is. Clients show a turn that runs permanently; the sweep at the next start sets it to idle.",
    example="@status active\n@lastActivityAt 1000\n1 user 0.0 text go",
    check=check,
    references=("Dispatch boot sweep; about 20 restarts on 2026-06-28",),
    no_repair_reason="The program resets the status at its next start; writing it for a running program could let two turns run at once.",
    fixed_in_code="Nothing to fix in code: the sweep at start repairs it.",
)
