"""STORE403: a session that went on, and whose messages are gone."""

from collections.abc import Iterator

from inspector.programs.rollouts.rules.unloadable_session import is_session
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def emptied(case: Case) -> list[str]:
    """What says that the session without messages had some; [] where nothing does, or where it has messages."""
    conversation = case.conversation
    if conversation.chunks or conversation.fact("trajectory") is None or not is_session(case):
        return []
    signs = []
    created, updated = (conversation.fact(name) or "" for name in ("createdAt", "updatedAt"))
    if created.isdecimal() and updated.isdecimal() and int(updated) > int(created):
        signs.append("session.json was written again after the session began")
    if (status := conversation.fact("status")) not in (None, "pending"):
        signs.append(f"its status is {status[:40]}")
    if (count := conversation.fact("branchPoint") or "").isdecimal() and int(count) > 0:
        signs.append(f"it began with {int(count)} messages of its parent")
    return signs


def check(case: Case) -> Iterator[Match]:
    signs = emptied(case)
    if signs:
        parent_note = "the parent is in this store" if case.archive and case.archive.chunks else "no parent with messages is in this store"
        yield Match(
            (),
            f"The session has lost its messages: {case.conversation.fact('trajectory')}, and {' and '.join(signs)}.",
            evidence=(("to restore from", parent_note),),
        )


RULE = Rule(
    code="STORE403",
    state="RO2",
    name="empty-trajectory",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="the messages file of a session that went on is empty",
    unnoticed="history lost",
    why="save() empties messages.jsonl before it calls a method that does not exist: the session stays listed, opens as a new one, and all that was said is gone.",
    example="@trajectory messages.jsonl holds 0 bytes and no message\n@format rollouts\n@status completed\n@branchPoint 12",
    check=check,
    references=("rollouts store.py save() 0779491, run: AttributeError and a file of 0 bytes",),
    repaired_by=("restore-from-parent",),
    fixed_in_code="Write the messages to a file next to the old one, and rename it once it is whole.",
)
