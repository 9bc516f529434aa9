"""SCRIBE101: two lines with one number, of which Scribe shows only the last."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from scribe_store.format import number_of


def check(case: Case) -> Iterator[Match]:
    by_number: dict[int, list[Chunk]] = {}
    for chunk in case.conversation.chunks:
        if (number := number_of(chunk)) is not None:
            by_number.setdefault(number, []).append(chunk)
    for number, chunks in by_number.items():
        if len(chunks) > 1:
            yield Match(chunks, f"{len(chunks)} lines have the number {number}: Scribe shows only the last of them.")


RULE = Rule(
    code="SCRIBE101",
    state="S1",
    name="number-again",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="two lines have one number",
    why="Scribe keeps its lines by number when it shows them, so that the user does not see what the model is sent.",
    example="@format scribe\n1 user 0.0 text go\n1 assistant 1.0 text done",
    check=check,
    references=("invented",),
    no_repair_reason="Which number was meant is not stored.",
    fixed_in_code="Take the number and write the line under one lock.",
)
