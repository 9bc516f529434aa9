"""TREE101: an entry whose parent is in no line that can be read, so that what was above it is hidden."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk
from inspector.conversation.tree import Entry, entries
from inspector.programs.pi_openclaw.readers.paths import REBASED
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import Tree, is_user, name, tree_of, whole, words_of
from inspector.programs.pi_openclaw.torn_lines import TornLine, torn_lines
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted


def dangling(case: Case, tree: Tree) -> Iterator[Entry]:
    """Not those that hang from the header, nor those whose parent is a record of a fused line, which STORE502 names.

    Of the path only its first entry, and those for which the reader itself found another parent: a strategy may have led the rest elsewhere.
    """
    known_ids = {case.conversation.fact("id"), *fused_ids(case), *tree.by_id}
    rebased = set((case.conversation.fact(REBASED) or "").split("\n"))
    without_parent = [entry for entry in tree.all if entry.parent is not None and entry.parent not in known_ids]
    if not without_parent:
        return
    met = {entry.index for place, entry in enumerate(tree.path) if not place or entry.id in rebased}
    led = {entry.index for entry in tree.path if entry.parent is None or entry.parent in known_ids}
    for entry in without_parent:
        if entry.index not in tree.on_path or (entry.index in met and entry.index not in led):
            yield entry


def fused_ids(case: Case) -> set[str]:
    return {entry.id for entry in entries(whole(case)) if "fused" in entry.about and entry.id}


def check(case: Case) -> Iterator[Match]:
    tree = tree_of(case)
    orphans = list(dangling(case, tree))
    if not orphans:
        return
    calls = {chunk.call_id: chunk for chunk in whole(case).chunks if chunk.call_id and chunk.kind == "tool-call"}
    hidden = [is_user(entry) and entry.index not in tree.on_path for entry in tree.all]
    above = [0]
    for is_hidden in hidden:
        above.append(above[-1] + is_hidden)
    path_words = {words_of(entry) for entry in tree.path} if any(entry.index not in tree.on_path for entry in orphans) else set()
    torn = torn_lines(whole(case).chunks)
    yield from bounded(_match(tree, entry, above[entry.index], calls, path_words, torn.get(entry.parent or "")) for entry in orphans)


def _match(tree: Tree, entry: Entry, turns: int, calls: dict[str, Chunk], path_words: set[str], torn: TornLine | None) -> Match:
    before = tree.all[entry.index - 1] if entry.index else None
    evidence = [("parent", (entry.parent or "")[:60])]
    if entry.parent in calls:
        evidence.append(("what it names", f"the id of a tool call at seq {calls[entry.parent].seq}, which is no entry"))
    if before is not None:
        evidence.append(
            ("the entry before it in the file", f"{before.id[:60] or 'without id'} (seq {before.chunks[0].seq}): its likely parent")
        )
    if torn is not None and torn.parent:
        evidence.append(("what is left of the parent's line", f"it hangs from {torn.parent[:60]}"))
    line = f"whose line (seq {torn.chunk.seq}) is torn" if torn else "which is in no line that can be read"
    start = f"The entry {name(entry)} names the parent {(entry.parent or '')[:40]!r}, {line}"
    if before is None:
        return Match(entry.chunks, f"{start}; it is the first entry, so that nothing in this file is hidden by it.", severity=Severity.NOTE)
    if entry.index not in tree.on_path and words_of(entry) in path_words:
        text = f"{start}. Its words are on the path in another line: this old one is a branch that no request takes."
        return Match(entry.chunks, text, severity=Severity.NOTE)
    if entry.index not in tree.on_path:
        text = f"{start}; it is not on the path, and a branch that ends in it begins here."
        return Match(entry.chunks, text, severity=Severity.WARNING, evidence=tuple(evidence))
    if entry.index != tree.path[0].index:
        # A run opens the session by its active path. What opens it whole walks from parent to parent: a compaction, say.
        text = (
            f"{start}: the requests of OpenClaw 2026.9 go on from the leaf of that moment; its compaction, OpenClaw before it and pi begin here "
            "and forget what is above."
        )
        return Match(entry.chunks, text, severity=Severity.WARNING, evidence=(*evidence, *effects("dangling")))
    text = f"{start}: the path begins here and hides what is above, {counted(turns, 'message')} of the user among it; {tree.reach}."
    return Match(entry.chunks, text, evidence=(*evidence, *effects("dangling")))


RULE = Rule(
    code="TREE101",
    state="OP1",
    name="dangling-parent",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="an entry names a parent that no readable line has, so what was above it is hidden where a program stops there",
    unnoticed="history hidden",
    why=(
        "The parent never reached the disk, or its line is torn, or was deleted without its children being led elsewhere. Most programs walk from parent to "
        "parent and stop there without an error: the session opens, and has forgotten all that was said before. The requests of OpenClaw 2026.9 go on past it."
    ),
    example="@format pi\n1 user 1.0 text go\n2 assistant 2.0 text done\n3 user 3.0 text and? parent=lost\n4 assistant 4.0 text what?",
    check=check,
    references=(
        "earendil-works/pi #11460",
        "openclaw 2026.9.6 tree scan, a stale parent",
        "openclaw 2026.9.6, its source: a run opens the session with limits, by its active path",
    ),
    repaired_by=("reparent-orphan-entry",),
    fixed_in_code="Take an entry back out of memory when its write failed, so that nothing is hung below what is not on the disk, and write a line and its end at once.",
)
