"""STORE201: rows above the counter, which the next append overwrites one by one."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text
from inspector.programs.dispatch.keys import parse_int
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    counter = parse_int(case.conversation.fact("counter") or "")
    if counter is None or case.running:
        return
    above = [chunk for chunk in case.conversation.chunks if chunk.seq > counter]
    if above:
        yield Match(
            above,
            f"{len(above)} rows (seq {span_text([chunk.seq for chunk in above])}) are above the counter, which says {counter}: "
            "the next append overwrites them from there.",
        )


RULE = Rule(
    code="STORE201",
    state="K1",
    name="rows-above-counter",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="rows are above the counter and will be overwritten",
    unnoticed="overwritten next",
    why="An append writes its rows first and the counter last, each on its own. A crash in between leaves a tail that is read, shown, and then overwritten piece by piece by the next turns.",
    example="@counter 1\n1 user 0.0 text go\n2 assistant 1.0 text ok",
    check=check,
    references=("derived from append() of Dispatch store.ts 71c635f",),
    repaired_by=("fix-counter",),
    fixed_in_code="Write the rows of an append and the counter in one transaction.",
)
