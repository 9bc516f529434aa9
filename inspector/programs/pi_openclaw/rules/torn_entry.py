"""STORE501: a line of a session that is cut off, so that its entry is lost."""

from collections.abc import Iterator

from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import whole
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded

SHOWN = 80


def check(case: Case) -> Iterator[Match]:
    """Not fragments that share a line with whole records: STORE502 says so."""
    chunks = whole(case).chunks
    last = chunks[-1] if chunks else None
    yield from bounded(
        Match(
            (chunk,),
            f"The {'last line' if chunk is last else 'line'} at seq {chunk.seq} is torn: programs skip it without an error"
            + ("" if chunk is last else ", and entries that hang below it lose all that is above, except in OpenClaw 2026.9")
            + f" ({chunk.reason}).",
            evidence=(
                ("bytes", f"{len(chunk.raw):,}"),
                ("begins with", repr(chunk.raw[:SHOWN])[2:-1]),
                *((("ends with", repr(chunk.raw[-SHOWN:])[2:-1]),) if len(chunk.raw) > SHOWN else ()),
                *effects("line"),
            ),
        )
        for chunk in chunks
        if chunk.damage == "torn" and "/" not in chunk.key.rpartition(".")[0]
    )


RULE = Rule(
    code="STORE501",
    state="OP11",
    name="torn-entry",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a line of the session is cut off or damaged",
    unnoticed="content lost",
    why="A crash or a full disk in the middle of a write, or two processes at once. The programs skip such a line without an error: its message is lost, and its children have no parent.",
    example='@format pi\n1 user 1.0 text go\n2 - 2.- unreadable "{\\"type\\":\\"mess" damage=torn reason="not JSON"',
    check=check,
    references=("a count in claude-code #81843: 21 of 10,949 files", "openclaw/openclaw #77228"),
    no_repair_reason="What is cut off is nowhere in this file; look among the copies next to it. Where entries below it have lost what was above, TREE101 says so, and `reparent-orphan-entry` leads them to the entry before it.",
    leads_to=("TREE101",),
    fixed_in_code="Write a line and its end at once, and put an LF before the first line that is added to a file that ends without one.",
)
