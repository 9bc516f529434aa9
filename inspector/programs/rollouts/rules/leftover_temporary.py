"""STORE406: the temporary file of a write that did not end."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    leftover = case.conversation.fact("tmp")
    if leftover and not case.running:
        yield Match((), f"A write of session.json did not end: {leftover}. The content of session.json is the state before it.")


RULE = Rule(
    code="STORE406",
    state="RO21",
    name="leftover-temporary",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="a session.tmp was left behind by a write that did not end",
    why="Status, tags and state are written to session.tmp and renamed. A crash in between leaves the file, and session.json is older than what the program last knew.",
    example="@format rollouts\n@tmp session.tmp was left behind\n1 user 0.0 text go",
    check=check,
    references=("rollouts store.py 0779491: written, then renamed",),
    no_repair_reason="The file is evidence of when the program died, and rollouts does not mind it: compare it with session.json, then delete it.",
    fixed_in_code="Remove a session.tmp that is older than its session.json when a session is opened.",
)
