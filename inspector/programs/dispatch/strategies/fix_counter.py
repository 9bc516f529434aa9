"""Sets the counter to the last row, so that the next append neither overwrites nor skips."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Set
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    if case.tree is not None:
        return
    top = max((chunk.seq for chunk in case.conversation.chunks), default=None)
    counter = case.conversation.fact("counter")
    if top is not None and counter != str(top):
        yield Set("conversation", "counter", counter, str(top))


STRATEGY = Strategy(
    name="fix-counter",
    safety=frozenset(),
    summary="sets the counter to the number of the last row",
    cost="One number next to the conversation; no row changes. Rows that a crash left above the counter become part of the history for good.",
    user_visible_effect="Nothing, but that the next turns do not overwrite rows.",
    pros="A counter that is too low or does not parse makes the next append overwrite history without an error.",
    cons="A tail above the counter may be half a turn; deleting it instead loses what was said in it. Lowering a counter makes clients miss rows until it passes again.",
    write_kind="counter",
    propose=propose,
    order=590,
)
