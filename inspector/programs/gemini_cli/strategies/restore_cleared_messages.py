"""Puts back what a `$rewindTo` without a target cleared, or a `$set` that left nothing to resume."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace
from inspector.programs.gemini_cli.chunks import without
from inspector.programs.gemini_cli.reader import why
from inspector.programs.gemini_cli.records import EMPTIED, LOST
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    for chunk in case.conversation.chunks:
        if why(chunk) in (EMPTIED, LOST):
            yield Replace(chunk, replace(chunk, payload=without(chunk, "why")))


STRATEGY = Strategy(
    name="restore-cleared-messages",
    safety=frozenset(),
    summary="writes the list with the messages that a rewind to an unknown record or an emptied list cleared, before those that came after it",
    cost="The model sees the messages again that were cleared.",
    user_visible_effect="The chat begins where it began before they were cleared.",
    pros="Nothing is lost: the lines are still in the file, and the loader alone leaves them out.",
    cons="What the user wanted to take away is not known, and comes back too.",
    write_kind="W3",
    propose=propose,
    order=30,
    manual_only=True,
)
