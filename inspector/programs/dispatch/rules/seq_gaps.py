"""STORE203: numbers are missing between rows."""

from collections.abc import Iterator
from itertools import pairwise

from inspector.conversation.queries import span_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    gaps = [(first, second) for first, second in pairwise(case.conversation.chunks) if second.seq > first.seq + 1]
    if gaps:
        missing = [seq for first, second in gaps for seq in range(first.seq + 1, min(second.seq, first.seq + 50))]
        total = sum(second.seq - first.seq - 1 for first, second in gaps)
        yield Match(
            [second for _, second in gaps],
            f"{total} numbers are missing between rows (seq {span_text(missing)}): rows were deleted. Loading does not mind.",
        )


RULE = Rule(
    code="STORE203",
    state="K3",
    name="seq-gaps",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="numbers are missing between rows",
    why="The store promises numbers without gaps. A gap is usually harmless, and shows that rows were deleted: by hand, or by an earlier repair.",
    example="@counter 3\n1 user 0.0 text go\n3 assistant 1.0 text ok",
    check=check,
    references=("derived; Dispatch keys.ts",),
    no_repair_reason="A gap is harmless to every reader, and what was there is gone from the store.",
    fixed_in_code="Nothing to fix in code.",
)
