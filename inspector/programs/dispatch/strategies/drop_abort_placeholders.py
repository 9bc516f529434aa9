"""Removes the `Aborted` results that an older version stored for calls that it did not store."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.programs.dispatch.rules.abort_placeholder import placeholders
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    return (Remove(chunk) for _, chunk in placeholders(case))


STRATEGY = Strategy(
    name="drop-abort-placeholders",
    safety=frozenset({Safety.LOSSY}),
    summary="removes results that say only Aborted and whose call was never stored",
    cost="One row per placeholder leaves the history.",
    user_visible_effect="The aborted tool runs are gone after a reload.",
    pros="Newer versions store neither call nor result of an aborted run; without its call the placeholder makes providers answer 400.",
    cons="It is the only trace in the store that a tool was about to run.",
    write_kind="W2",
    propose=propose,
    order=290,
)
