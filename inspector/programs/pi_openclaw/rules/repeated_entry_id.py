"""TREE103: several entries that share an id, of which every program knows only the last."""

from collections import Counter
from collections.abc import Iterator

from inspector.conversation.tree import Entry
from inspector.programs.pi_openclaw.rules.parent_cycle import cycles
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import chunks_of, tree_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded


def check(case: Case) -> Iterator[Match]:
    tree = tree_of(case)
    if len(tree.by_id) == sum(1 for entry in tree.all if entry.id):
        return
    by_id: dict[str, list[Entry]] = {}
    for entry in tree.all:
        if entry.id:
            by_id.setdefault(entry.id, []).append(entry)
    repeated = [group for group in by_id.values() if len(group) > 1]
    closed = {entry.id for cycle in cycles(tree) for entry in cycle} if repeated else set()
    below = Counter(entry.parent for entry in tree.all)
    yield from bounded(_match(group, group[0].id in closed, below[group[0].id]) for group in repeated)


def _match(group: list[Entry], is_closed: bool, below: int) -> Match:
    first, last = group[0], group[-1]
    seqs = ", ".join(str(entry.chunks[0].seq) for entry in group[:8])
    start = f"{len(group)} entries share the id {first.id[:40]!r} (seq {seqs})"
    raws = {entry.chunks[0].raw for entry in group}
    if len(raws) == 1 and first.chunks[0].raw:
        return Match(chunks_of(group), f"{start}: the lines are equal byte for byte, so that nothing is lost.", severity=Severity.WARNING)
    if is_closed:
        text = f"{start}, and by that the chain of parents closes: the way from the last line has no end."
    else:
        text = (
            f"{start}: programs know only the last one (seq {last.chunks[0].seq}), and all {below:,} entries below the id hang from that."
        )
    return Match(chunks_of(group), text, evidence=effects("repeated-id"))


RULE = Rule(
    code="TREE103",
    state="OP3",
    name="repeated-entry-id",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="several entries have the same id",
    why=(
        "The programs fill a map in the order of the file, and a later entry takes the place of the earlier one. What the earlier one said is gone from the path; "
        "where the later one hangs below it, the chain closes and pi walks it permanently."
    ),
    example="@format pi\n1 user 1.0 text go entry=u1\n2 assistant 2.0 text done entry=a1\n3 user 3.0 text more entry=u1\n4 assistant 4.0 text ok entry=a2",
    check=check,
    references=("measured: pi 0.73.1 and 0.87.1, openclaw 2026.7.1 and 2026.9.6",),
    no_repair_reason="Which of them the entries below mean is not said by the file; give the later one a new id, and those below it that id as parent, on a copy.",
    fixed_in_code="Draw an id again while the file has it, also when lines are copied in or written by another process.",
)
