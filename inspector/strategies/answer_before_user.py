"""Puts a short answer between a tool result and the user's next message."""

from collections.abc import Iterator
from itertools import pairwise

from inspector.conversation.edits import Edit, Safety
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.made_up_messages import said

WORDS = "The turn ended here."


def propose(case: Case) -> Iterator[Edit]:
    return said(
        case,
        [
            (first.chunks[-1].key, "assistant", WORDS)
            for first, second in pairwise(case.messages)
            if first.role == "tool" and second.role == "user"
        ],
    )


STRATEGY = Strategy(
    name="answer-before-user",
    safety=frozenset({Safety.INVENTED}),
    summary=f"puts the answer {WORDS!r} between a tool result and the user's next message",
    cost="The assistant is made to say something that it did not say, once for each turn that was interrupted.",
    user_visible_effect="A short answer that no model gave stands where the turn was interrupted.",
    pros="Mistral's older rules, and templates in which roles alternate, take no user directly after a tool.",
    cons="Other providers take it as it is; the model may learn to answer like that.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    order=550,
)
