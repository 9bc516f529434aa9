"""STORE503: NUL bytes in a line, as a loss of power leaves them."""

from collections.abc import Iterator

from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import whole
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded


def check(case: Case) -> Iterator[Match]:
    yield from bounded(
        Match(
            (chunk,),
            f"The line at seq {chunk.seq} cannot be read: {chunk.reason}. Programs skip it without an error.",
            evidence=effects("line"),
        )
        for chunk in whole(case).chunks
        if chunk.damage == "nul"
    )


RULE = Rule(
    code="STORE503",
    state="OP13",
    name="nul-bytes",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a line of the session file holds NUL bytes",
    unnoticed="content lost",
    why="The length of the file reached the disk and its bytes did not, before the power went. What was written last is gone, and what was hung below it has no parent.",
    example='@format pi\n1 user 1.0 text go\n2 - 2.- unreadable "" damage=nul reason="512 of its 512 bytes are NUL"',
    check=check,
    references=("a count in claude-code #81843: 6 of 10,949 files",),
    no_repair_reason="The bytes are gone; look among the copies next to the file. Where entries below it have lost what was above, TREE101 says so, and `reparent-orphan-entry` leads them to the entry before it.",
    leads_to=("TREE101",),
    fixed_in_code="Sync a file before its new length counts.",
)
