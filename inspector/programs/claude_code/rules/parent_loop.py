"""TREE202: lines whose parents form a loop, or one that is its own parent."""

from collections.abc import Iterator, Sequence

from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import Chain, chain_of, chunks_of, name
from inspector.programs.claude_code.versions import CHAIN, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted

_NAMED = 4


def check(case: Case) -> Iterator[Match]:
    chain = chain_of(case)
    yield from bounded(_match(chain, loop) for loop in chain.loops)


def opening(chain: Chain, loop: Sequence[Entry]) -> Entry | None:
    """The line of the loop that names a later one, where only one does: lines are appended, so that a parent comes before its children."""
    later = [entry for entry in loop if (parent := chain.parent(entry)) is not None and parent.index >= entry.index]
    return later[0] if len(later) == 1 else None


def _match(chain: Chain, loop: Sequence[Entry]) -> Match:
    if len(loop) == 1:
        start = f"The line {name(loop[0])} names itself as its parent"
    else:
        shown = " <- ".join(name(entry) for entry in loop[:_NAMED]) + (" <- ..." if len(loop) > _NAMED else "")
        start = f"The parents of {counted(len(loop), 'line')} form a loop: {shown}"
    evidence = known_defects(loop[0].about.get("version"), CHAIN)
    if not any(entry.index in chain.on_path for entry in loop):
        text = f"{start}. The path of a resume does not lead there."
        reason = "The path goes on without it: no branch that ends below these lines can be opened."
        return Match(chunks_of(loop), text, severity=Severity.WARNING, evidence=evidence, repaired_by=(), no_repair_reason=reason)
    first = opening(chain, loop)
    parent = chain.parent_for(first) if first is not None else None
    if first is not None and parent is not None:
        below = ("below that", chain.reach_below(first, parent[0]))
        evidence = (("likely parent", f"{name(parent[0])}: {parent[1]}"), below, *evidence)
    return Match(
        chunks_of(loop),
        f"{start}: a resume reads nothing of what is before; {chain.reach}.",
        evidence=evidence,
        repaired_by=None if parent else (),
        no_repair_reason="" if parent else "Nothing in the file shows which of these lines was the first, and what it belongs below.",
    )


RULE = Rule(
    code="TREE202",
    state="CC11",
    name="parent-loop",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="the parents of lines form a loop, so that a resume stops there, or never ends",
    unnoticed="history hidden",
    why="Versions before 2.1.30 never end the walk over the parents, versions before 2.1.108 cut the session off at a line that is its own parent; later ones stop there.",
    example="@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 text done entry=a1 parent=u2\n3 user 3.0 text more entry=u2 parent=a1",
    check=check,
    references=("anthropics/claude-code #22526, #24304", "changelog 2.1.30, 2.1.108", "formats/claude_code_codex.md, F10"),
    repaired_by=("relink-lost-line",),
    fixed_in_code="Draw the id of a line after its parent is known, and never use one twice.",
)
