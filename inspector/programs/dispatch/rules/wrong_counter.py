"""STORE202: the counter is missing, no number, or beyond the last row."""

from collections.abc import Iterator

from inspector.programs.dispatch import g0 as dispatch_g0
from inspector.programs.dispatch.keys import parse_int
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    chunks = case.conversation.chunks
    # The old store kept no counter: it numbered by its rows.
    if not chunks or case.running or case.conversation.format == dispatch_g0.NAME:
        return
    text = case.conversation.fact("counter")
    counter = parse_int(text or "")
    top = max(chunk.seq for chunk in chunks)
    last = (chunks[-1],)
    if text is None:
        yield Match(last, f"The counter is missing: the next append starts at seq 1 and overwrites the history (last row: seq {top}).")
    elif counter is None:
        yield Match(last, f"The counter is {text[:40]!r}, which is no number: the next append starts at seq 1 and overwrites the history.")
    elif counter > top:
        yield Match(last, f"The counter says {counter}, the last row is seq {top}: the next append leaves a gap.", severity=Severity.NOTE)


RULE = Rule(
    code="STORE202",
    state="K2",
    name="wrong-counter",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="the counter is missing, no number, or too high",
    unnoticed="overwritten next",
    why="A counter that does not parse counts as 0: the next append overwrites the history from seq 1, and nothing errors.",
    example="@counter x\n1 user 0.0 text go\n2 assistant 1.0 text ok",
    check=check,
    references=("derived from append() of Dispatch store.ts 71c635f",),
    repaired_by=("fix-counter",),
    fixed_in_code="Refuse to append where the counter does not parse or rows are above it.",
)
