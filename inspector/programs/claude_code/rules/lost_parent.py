"""TREE201: a line that names a parent which is in no line, so that a resume begins there."""

from collections.abc import Iterator

from inspector.conversation.tree import Entry
from inspector.programs.claude_code.chain import Chain, chain_of, first_results, name
from inspector.programs.claude_code.leaf import is_message
from inspector.programs.claude_code.versions import CHAIN, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted

_FIRST = "Nothing in this file is hidden: what was before it is in another one."
_FORKED = "What was before it is in the session that this one was made of, or nowhere: repair that session with relink-lost-line, and make a new one of it."
_NOWHERE = "No line of its compaction segment comes before it that leads up to the beginning, so that nothing shows what it belongs below."


def check(case: Case) -> Iterator[Match]:
    """Not lines of hooks and progress on which no message depends."""
    chain = chain_of(case)
    lost_results = len(list(first_results(case)))
    below = _messages_below(chain) if chain.missing else {}
    yield from bounded(_match(chain, entry, lost_results, below.get(entry.index, 0)) for entry in chain.missing if entry.index in below)


def _messages_below(chain: Chain) -> dict[int, int]:
    """By the index of each such line: how many messages are in it and below it."""
    top_of: dict[int, int | None] = {entry.index: entry.index for entry in chain.missing}
    counts: dict[int, int] = {}
    for start in chain.lines:
        walked: list[int] = []
        at: Entry | None = start
        while at is not None and at.index not in top_of:
            top_of[at.index] = None
            walked.append(at.index)
            at = chain.parent(at)
        top = top_of[at.index] if at is not None else None
        top_of.update(dict.fromkeys(walked, top))
        if top is not None and is_message(start):
            counts[top] = counts.get(top, 0) + 1
    return counts


def _match(chain: Chain, entry: Entry, lost_results: int, below: int) -> Match:
    start = f"The line {name(entry)} names the parent {(entry.parent or '')[:40]!r}, which is in no line"
    if entry.index == chain.lines[0].index and "forkedFrom" in entry.about:
        text = f"{start}; it is the first one of the file, which was made of another session: a resume knows nothing of what was said before it."
        return Match(entry.chunks, text, severity=Severity.WARNING, repaired_by=(), no_repair_reason=_FORKED)
    if entry.index == chain.lines[0].index:
        text = (
            f"{start}; it is the first one of the file, which begins in the middle, as a part of a session or an agent's copy of one does."
        )
        return Match(entry.chunks, text, severity=Severity.NOTE, repaired_by=(), no_repair_reason=_FIRST)
    if chain.is_agent:
        text = f"{start}: the file holds parts of what an agent said, and not the lines between them."
        return Match(entry.chunks, text, severity=Severity.NOTE, repaired_by=(), no_repair_reason=_FIRST)
    if chain.path and chain.segments[entry.index] < chain.oldest_segment:
        text = f"{start}; it is before a compaction, and no request reads anything from there."
        return Match(
            entry.chunks, text, severity=Severity.NOTE, repaired_by=(), no_repair_reason="Nothing is hidden by it since the compaction."
        )
    evidence = [("parent", (entry.parent or "")[:60]), *known_defects(entry.about.get("version"), CHAIN)]
    if not chain.path or entry.index != chain.path[0].index:
        if entry.index in chain.bridged:
            # A hostile file may hold any number of them: where a line belongs is looked up for the first.
            has_place = entry.index != chain.first_bridged or chain.parent_for(entry) is not None
            text = f"{start}: Claude Code since 2.1.92 goes on with the line that was written just before it, and versions before begin here; {chain.reach}."
            return Match(
                entry.chunks,
                text,
                severity=Severity.WARNING,
                evidence=tuple(evidence),
                repaired_by=None if has_place else (),
                no_repair_reason="" if has_place else _NOWHERE,
            )
        if entry.index in chain.on_path:
            text = f"{start}; its result is read all the same, since it answers a call on the path."
            return Match(entry.chunks, text, severity=Severity.NOTE, repaired_by=(), no_repair_reason="Nothing is hidden by it.")
        text = f"{start}: it is not on the path of a resume, and a branch of {counted(below, 'message')} begins here."
        return Match(
            entry.chunks,
            text,
            severity=Severity.WARNING,
            evidence=tuple(evidence),
            repaired_by=(),
            no_repair_reason="The path goes on without it: to repair this branch, choose its last message as the leaf of the repair.",
        )
    # Only of the one with which the path begins: a hostile file may hold any number of others.
    parent = chain.parent_for(entry)
    if parent is not None:
        evidence[1:1] = [("likely parent", f"{name(parent[0])}: {parent[1]}"), ("below that", chain.reach_below(entry, parent[0]))]
    segment = chain.segments[entry.index]
    hidden = [
        line
        for line in chain.messages
        if line.index < entry.index and line.index not in chain.on_path and chain.segments[line.index] == segment
    ]
    results = (
        f", and {counted(lost_results, 'result')} at its beginning {'has' if lost_results == 1 else 'have'} no call" if lost_results else ""
    )
    return Match(
        entry.chunks,
        f"{start}: a resume begins here and hides {counted(len(hidden), 'message')} before it{results}; {chain.reach}.",
        evidence=tuple(evidence),
        repaired_by=None if parent else (),
        no_repair_reason="" if parent else _NOWHERE,
    )


RULE = Rule(
    code="TREE201",
    state="CC10",
    name="lost-parent",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a line names a parent that is in no line, so that a resume begins there and has forgotten what was before",
    unnoticed="history hidden",
    why=(
        "The parent was never written, or its line is torn or was deleted without its children being led elsewhere. A resume walks from parent to parent and stops there "
        "without an error: the session opens, and the model knows nothing of what was said before."
    ),
    example="@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 text done\n3 user 3.0 text and? parent=lost\n4 assistant 4.0 text what?",
    check=check,
    references=("anthropics/claude-code #22107, #46603, #55818, #58554 (213 of 241 sessions)", "formats/claude_code_codex.md, F10"),
    repaired_by=("relink-lost-line",),
    fixed_in_code="Hang nothing below a line before it is on the disk.",
)
