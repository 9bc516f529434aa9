"""TREE102: parents that form a cycle, which some programs walk permanently."""

from collections import Counter
from collections.abc import Iterator

from inspector.conversation.tree import Entry, walk
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import Tree, chunks_of, name, tree_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted


def cycles(tree: Tree) -> Iterator[list[Entry]]:
    """Each closed chain of parents once, from its lowest entry up. Every entry is walked over once."""
    if all((parent := tree.parent(entry)) is None or parent.index < entry.index for entry in tree.by_id.values()):
        return
    walk_of: dict[int, int] = {}
    for number, start in enumerate(tree.by_id.values()):
        chain: list[Entry] = []
        at: Entry | None = start
        while at is not None and at.index not in walk_of:
            walk_of[at.index] = number
            chain.append(at)
            at = tree.parent(at)
        if at is not None and walk_of[at.index] == number:
            yield chain[next(place for place, entry in enumerate(chain) if entry.index == at.index) :]


def check(case: Case) -> Iterator[Match]:
    tree = tree_of(case)
    closed = list(cycles(tree))
    if not closed:
        return
    shared = {id_ for id_, count in Counter(entry.id for entry in tree.all if entry.id).items() if count > 1}
    walked, why = walk(tree.by_id, tree.all[-1] if tree.all else None)
    met = {entry.index for entry in walked} if why == "cycle" else set()
    # A chain that closes because an id was used again is TREE103's.
    yield from bounded(
        _match(cycle, any(entry.index in met for entry in cycle)) for cycle in closed if not any(entry.id in shared for entry in cycle)
    )


def _match(cycle: list[Entry], is_met: bool) -> Match:
    named = " <- ".join(name(entry) for entry in cycle[:4]) + (" <- ..." if len(cycle) > 4 else "")
    start = f"The parents of {counted(len(cycle), 'entry')} form a cycle: {named}"
    if is_met:
        return Match(chunks_of(cycle), f"{start}. The way from the last line leads into it.", evidence=effects("cycle"))
    return Match(
        chunks_of(cycle),
        f"{start}. The way from the last line does not lead there; no branch into it can be opened.",
        severity=Severity.WARNING,
    )


RULE = Rule(
    code="TREE102",
    state="OP2",
    name="parent-cycle",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="the parents of entries form a cycle",
    why="pi has no guard in its walk: it hangs, or dies when its memory is full. OpenClaw is guarded, and shows part of the conversation or nothing of it.",
    example="@format pi\n1 user 1.0 text go entry=u1 parent=a1\n2 assistant 2.0 text done entry=a1 parent=u1",
    check=check,
    references=("measured: pi 0.73.1 hangs, 0.87.1 aborts; openclaw 2026.7.1 and 2026.9.6",),
    no_repair_reason="Nothing in the file says which of them was the first; give the entry that begins the conversation the parent null, on a copy.",
    fixed_in_code="Keep the ids that a walk has seen, and stop at the first that comes again.",
)
