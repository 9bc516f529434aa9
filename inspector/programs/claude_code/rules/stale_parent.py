"""TREE204: a line that names a parent from before a compaction, so that the path leaves out what was said since."""

from collections.abc import Iterator

from inspector.programs.claude_code.chain import chain_of, has_words, name
from inspector.programs.claude_code.kept import is_boundary
from inspector.programs.claude_code.versions import CHAIN, COMPACTION, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.counted import counted


def check(case: Case) -> Iterator[Match]:
    """Words of the user may have been said after going back to before the compaction; nothing else is."""
    chain = chain_of(case)
    entry = chain.stale
    if entry is None:
        return
    parent = chain.parent(entry)
    assert parent is not None
    hidden = [line for line in chain.messages if parent.index < line.index < entry.index and line.index not in chain.on_path]
    boundaries = [line for line in chain.lines if parent.index < line.index < entry.index and is_boundary(line.about)]
    likely = chain.parent_for(entry)
    text = (
        f"The line {name(entry)} names the parent {name(parent)}, from before the compaction at line {(boundaries[-1].chunks[0].msg_idx or 0) + 1:,}: "
        f"a resume sends the old messages whole again, and not the summary and {counted(len(hidden), 'message')} since then"
    )
    evidence = (
        *(
            (("line before it in its own segment", f"{name(likely[0])}: {likely[1]}"), ("below that", chain.reach_below(entry, likely[0])))
            if likely
            else ()
        ),
        *known_defects(entry.about.get("version"), CHAIN),
        *known_defects(entry.about.get("version"), COMPACTION),
    )
    if has_words(entry):
        readings = (
            ("lost", "the program went on from a message that it still had in memory, and not from the end of the file"),
            ("on purpose", "somebody went back to before the compaction, and said this there"),
        )
        yield Match(
            entry.chunks,
            f"{text}. It begins with words of the user, so that somebody may have gone back to there on purpose.",
            severity=Severity.WARNING,
            evidence=(*readings, *evidence),
            repaired_by=(),
            no_repair_reason="The file does not say which of the two it is: where nobody went back, choose relink-lost-line, which leads the line to the one before it in its own segment.",
        )
        return
    yield Match(
        entry.chunks,
        f"{text}; {chain.reach}.",
        evidence=evidence,
        repaired_by=None if likely else (),
        no_repair_reason="" if likely else "No line of its own segment leads up to the boundary.",
    )


RULE = Rule(
    code="TREE204",
    state="CC13",
    name="stale-parent",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a line names a parent from before a compaction, so that what was said since the compaction is hidden",
    unnoticed="history hidden",
    why=(
        "A process that did not see the compaction, or resumed from an old place, hangs its lines below a message of the old segment. The path then goes around the boundary: "
        "the summary is not sent, the old messages are, and the newer ones are on no path."
    ),
    example=(
        '@format claude-code\n1 user 1.0 text go entry=u1\n2 - 2.- control entry=b parent=- about={"type":"system","subtype":"compact_boundary"}\n'
        "3 user 3.0 text Summary entry=s parent=b\n4 assistant 4.0 text on parent=u1"
    ),
    check=check,
    references=("anthropics/claude-code #49996, #58554", "formats/claude_code_codex.md, F10"),
    repaired_by=("relink-lost-line",),
    fixed_in_code="Read the end of the file again before a line is hung below a message that another process may have compacted.",
)
