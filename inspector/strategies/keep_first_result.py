"""Keeps one result of each call that has several which differ."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.rules.base import Case
from inspector.rules.several_results import kept_and_dropped
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    return (Remove(result) for _, dropped in kept_and_dropped(case) for result in dropped)


STRATEGY = Strategy(
    name="keep-first-result",
    safety=frozenset({Safety.LOSSY}),
    summary="of several results of one call keeps the first real one, and removes the others",
    cost="What the other results say leaves the history. Synthetic results go before real ones.",
    user_visible_effect="One output is shown for the call instead of several.",
    pros="Providers take one result for a call and refuse the request permanently otherwise; what the model went on with was, as a rule, the first.",
    cons="A real output is lost where two differ: the history does not show which one was right. Look at both first.",
    write_kind="W2",
    propose=propose,
    order=280,
)
