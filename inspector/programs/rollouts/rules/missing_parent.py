"""STORE405: a child whose parent session is not in the store."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    parent = case.conversation.fact("parent")
    # Where one session's folder was opened by itself, nothing is known of those next to it.
    alone = "/" not in (case.conversation.fact("place") or "/")
    if parent and case.archive is None and not alone:
        yield Match(
            (),
            f"The parent of this session, {parent[:60]}, is not in the store: what was left out of this session cannot be looked up.",
            evidence=(("branch point", (case.conversation.fact("branchPoint") or "not said")[:40]),),
        )


RULE = Rule(
    code="STORE405",
    state="RO20",
    name="missing-parent",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="the session that this one was made from is gone",
    why="Forks, slices, summaries and the doctor leave the original as it is and point to it. Without it nothing can show, or bring back, what they left out.",
    example="@format rollouts\n@parent 20251223_152205_b0fba6\n1 user 0.0 text go",
    check=check,
    references=("rollouts store.py: parent_id and branch_point",),
    no_repair_reason="The parent's folder was deleted or is elsewhere: put it back, or import the folder that holds it.",
    fixed_in_code="Nothing to fix in code: keep sessions that others point to.",
)
