"""Gives the conversation another id, where its own is one that the program's key listing mistakes for others."""

from collections.abc import Iterator

from inspector.conversation.edits import ID, Edit, Set
from inspector.rules.base import Case
from inspector.strategies.base import Strategy

FRESH = "a fresh id"
"""The new value: which id it becomes is among the options of the plan, since only the writer knows those that are taken."""


def propose(case: Case) -> Iterator[Edit]:
    native_id = case.conversation.native_id
    if case.bleeding or "%" in native_id or "_" in native_id:
        yield Set("conversation", ID, native_id, FRESH)


STRATEGY = Strategy(
    name="rename-in-fork",
    safety=frozenset(),
    summary="writes the conversation again under a fresh id without letters that the program's key listing takes for wildcards",
    cost="Only as a new conversation (--mode fork): an id is part of every key. Links and clients that hold the old id go on with the old conversation.",
    user_visible_effect="A second conversation in the list, titled Repaired. The old one still shows rows of others until it is deleted in the program.",
    pros="The listing (LIKE, not escaped, blind to case) mixes rows of other conversations into every load; under an id of hex digits and dashes it cannot.",
    cons="The mistake is in the program, and the old id goes on bleeding until its listing is repaired; the data are right.",
    write_kind="id",
    propose=propose,
    manual_only=True,
    order=580,
)
