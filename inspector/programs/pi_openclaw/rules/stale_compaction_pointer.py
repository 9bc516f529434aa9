"""TREE105: a compaction that keeps entries from one on that is not above it on the path, or that parts a call from its result."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.conversation.tree import spoken
from inspector.programs.pi_openclaw.readers.rows import OPENCLAW, OPENCLAW_SQLITE
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import Tree, is_user, name, tree_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, answered
from inspector.text.counted import counted


def check(case: Case) -> Iterator[Match]:
    """Only of the last one on the path: the programs look at no other."""
    tree = tree_of(case)
    at = _bound(case, tree)
    if at is None:
        return
    bound, above = tree.path[at], tree.path[:at]
    first_kept = bound.about.get("firstKeptEntryId")
    # One that keeps nothing names itself.
    if not isinstance(first_kept, str) or first_kept == bound.id:
        return
    shown = ("firstKeptEntryId", first_kept[:60])
    if any(entry.id == first_kept for entry in above):
        if results := cut_results(case):
            seqs = span_text([result.seq for result in results])
            text = f"The {bound.type} {name(bound)} keeps {'a result' if len(results) == 1 else f'{len(results)} results'} (seq {seqs}) without the call: it keeps entries from {spoken(first_kept[:40])} on, and the call comes before that."
            yield Match((*bound.chunks, *results), text, evidence=(shown, *effects("orphan")))
        return
    target = tree.by_id.get(first_kept)
    where = "which is in no line" if target is None else f"which is the entry at seq {target.chunks[0].seq}, not above it on the path"
    turns = sum(is_user(entry) for entry in above)
    text = f"The {bound.type} {name(bound)} keeps entries from {spoken(first_kept[:40])} on, {where}: nothing before it is kept, {counted(turns, 'message')} of the user among it."
    yield Match(bound.chunks, text, evidence=(shown, *effects("compaction")))


def _bound(case: Case, tree: Tree) -> int | None:
    """The place on the path of the last entry that leaves out what comes before."""
    bounds = ("compaction", "reset") if case.conversation.format in (OPENCLAW, OPENCLAW_SQLITE) else ("compaction",)
    return next((place for place in range(len(tree.path) - 1, -1, -1) if tree.path[place].type in bounds), None)


def cut_results(case: Case) -> list[Chunk]:
    """Results that a compaction keeps whose call comes before what it keeps; a reset leaves such results out by itself."""
    tree = tree_of(case)
    at = _bound(case, tree)
    if at is None or tree.path[at].type != "compaction":
        return []
    first_kept = tree.path[at].about.get("firstKeptEntryId")
    first = next((place for place in range(at) if tree.path[place].id == first_kept), None)
    if first is None:
        return []
    before = {chunk.key for entry in tree.path[:first] for chunk in entry.chunks}
    pairs = answered(case)
    return [result for answer in pairs if answer.call.key in before for result in answer.results if result.key not in before]


RULE = Rule(
    code="TREE105",
    state="OP5",
    name="stale-compaction-pointer",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a compaction keeps entries from one on that is not on the path, so it keeps none, or that parts a call from its result",
    unnoticed="history hidden",
    why=(
        "The programs send the summary, then the entries from firstKeptEntryId on. Where that entry is on no line or on another branch, all of it is left out "
        "without an error: the model has a summary, and nothing of the turns that were to be kept. Where it is a result whose call comes before it, pi's requests are refused."
    ),
    example=(
        '@format pi\n1 user 1.0 text go\n2 assistant 2.0 text done\n3 - 3.- control about={"type":"compaction","summary":"s","firstKeptEntryId":"gone"}\n4 user 4.0 text and?'
    ),
    check=check,
    references=("pi session reader, measured on 0.73.1 and 0.87.1",),
    repaired_by=("fix-compaction-pointer",),
    fixed_in_code="Lead firstKeptEntryId along when entries get new ids or a branch is copied, and say so where it leads nowhere.",
)
