"""Removes reasoning that led to no item."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Remove, Safety
from inspector.programs.codex.lone_reasoning import without_follower
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    return (Remove(chunk) for chunk, _ in without_follower(case))


STRATEGY = Strategy(
    name="drop-reasoning-without-follower",
    safety=frozenset({Safety.LOSSY}),
    summary="removes reasoning that no item of the model follows",
    cost="The encrypted reasoning of a turn that was interrupted leaves the history.",
    user_visible_effect="None but for a summary of that reasoning, where one was shown.",
    pros="It led to nothing, so that no answer rests on it; all other reasoning stays.",
    cons="The model starts the interrupted thought again.",
    write_kind="W2",
    propose=propose,
    order=460,
)
