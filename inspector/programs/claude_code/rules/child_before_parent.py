"""TREE207: a line that comes before the line that it names as its parent."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text
from inspector.programs.claude_code.chain import chain_of, chunks_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.counted import counted


def check(case: Case) -> Iterator[Match]:
    """Not lines of a loop, which TREE202 reports, nor below a uuid of several lines."""
    chain = chain_of(case)
    looped = {entry.index for loop in chain.loops for entry in loop}
    early = [
        entry
        for entry in chain.lines
        if entry.index not in looped
        and entry.parent not in chain.repeated_ids
        and (parent := chain.parent(entry)) is not None
        and parent.index > entry.index
    ]
    if early:
        yield Match(
            chunks_of(early),
            f"{counted(len(early), 'line')} (seq {span_text([entry.chunks[0].seq for entry in early])}) {'comes' if len(early) == 1 else 'come'} before the parent that {'it names' if len(early) == 1 else 'they name'}: "
            "a resume reads the whole file first and finds it all the same, a tool that reads line by line does not.",
        )


RULE = Rule(
    code="TREE207",
    state="CC19",
    name="child-before-parent",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="lines are not in the order of their chain: one comes before its parent",
    why="The program appends each line after its parent. Another order is the work of a tool that wrote the file again, or of a merge of two copies, and lines may be missing as well.",
    example="@format claude-code\n1 user 1.0 text go entry=u1\n2 user 3.0 text more entry=u2 parent=a1\n3 assistant 2.0 text done entry=a1 parent=u1\n4 assistant 4.0 text ok parent=u2",
    check=check,
    references=("no such line in 48 recorded sessions of 1.0.24 to 2.1.330",),
    no_repair_reason="A resume reads the same messages in either order.",
    fixed_in_code="Append lines in the order in which they name each other.",
)
