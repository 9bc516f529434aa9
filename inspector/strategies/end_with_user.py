"""Puts a short message of the user after an answer that ends the history."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.edits import Edit, Safety
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.made_up_messages import said

WORDS = "Continue."


def propose(case: Case) -> Iterator[Edit]:
    """Not after an open call: that wants its result first."""
    last = case.messages[-1] if case.messages else None
    if last is not None and last.role == "assistant" and not queries.calls(last):
        yield from said(case, [(last.chunks[-1].key, "user", WORDS)])


STRATEGY = Strategy(
    name="end-with-user",
    safety=frozenset({Safety.INVENTED}),
    summary=f"puts the message {WORDS!r} of the user after an answer that ends the history",
    cost="The user is made to say something that they did not say.",
    user_visible_effect="A message that they did not write stands at the end.",
    pros="Newer models take no history that ends with an answer; where a request has to go out now, this is the least that can be said.",
    cons="As a rule nothing is wrong with such a history: the next message of the user repairs it by itself.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    order=560,
)
