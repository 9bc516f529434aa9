"""Removes all thinking."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.stripped_thinking import stripped


def propose(case: Case) -> Iterator[Edit]:
    return stripped(case, lambda chunk: True)


STRATEGY = Strategy(
    name="strip-thinking",
    safety=frozenset({Safety.LOSSY}),
    summary="removes every thinking block, redacted ones too",
    cost="What the model thought leaves the history (undo and the audit page keep it).",
    user_visible_effect="Answers are shown without what was thought before them.",
    pros="No signature, order or pairing of thinking can be refused any more; with thinking switched off for the next request nothing is missing.",
    cons="With thinking switched on, a running turn of tool calls must start with its thinking (AN-15), and the model loses the thread of it.",
    write_kind="W2",
    propose=propose,
    manual_only=True,
    order=480,
)
