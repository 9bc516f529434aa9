"""TREE105: a compaction that keeps entries from one on that is not above it on the path."""

from collections.abc import Iterator

from inspector.detectors.base import Case, Fault, Hit, Rule, Severity
from inspector.detectors.session_effects import SESSIONS, effects
from inspector.detectors.session_tree import counted, is_user, name, tree_of
from inspector.readers.session_rows import OPENCLAW, OPENCLAW_SQLITE


def check(case: Case) -> Iterator[Hit]:
    """Only of the last one on the path: the programs look at no other."""
    tree = tree_of(case)
    bounds = ("compaction", "reset") if case.conversation.format in (OPENCLAW, OPENCLAW_SQLITE) else ("compaction",)
    at = next((place for place in range(len(tree.path) - 1, -1, -1) if tree.path[place].type in bounds), None)
    if at is None:
        return
    bound, above = tree.path[at], tree.path[:at]
    kept = bound.about.get("firstKeptEntryId")
    # One that keeps nothing names itself.
    if not isinstance(kept, str) or kept == bound.id or any(entry.id == kept for entry in above):
        return
    other = tree.by_id.get(kept)
    where = "which is in no line" if other is None else f"which is the entry at seq {other.chunks[0].seq}, not above it on the path"
    turns = sum(is_user(entry) for entry in above)
    yield Hit(
        bound.chunks,
        f"The {bound.type} {name(bound)} keeps entries from {kept[:40]!r} on, {where}: nothing before it is kept, "
        f"{counted(turns, 'message')} of the user among it.",
        evidence=(("firstKeptEntryId", kept[:60]), *effects("compaction")),
    )


RULE = Rule(
    code="TREE105",
    state="OP5",
    name="stale-compaction-pointer",
    severity=Severity.ERROR,
    silent=True,
    fault=Fault.STORE,
    summary="a compaction keeps entries from one on that is not on the path, so it keeps none",
    why=(
        "The programs send the summary, then what stands from firstKeptEntryId on. Where that entry is on no line or on another branch, all of it is left out "
        "without a word: the model has a summary, and nothing of the turns that were to be kept."
    ),
    example=(
        '@format pi\n1 user 1.0 text go\n2 assistant 2.0 text done\n3 - 3.- control about={"type":"compaction","summary":"s","firstKeptEntryId":"gone"}\n4 user 4.0 text and?'
    ),
    check=check,
    formats=SESSIONS,
    references=("pi session reader, measured on 0.73.1 and 0.87.1",),
    repaired_by=("fix-compaction-pointer",),
    fixed_in_code="Lead firstKeptEntryId along when entries get new ids or a branch is copied, and say so where it leads nowhere.",
)
