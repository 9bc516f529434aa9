"""Puts a result in plain words right after each call that has none."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insert_interrupted_result import PLAIN_WORDS, made_up


def propose(case: Case) -> Iterator[Edit]:
    return made_up(case, PLAIN_WORDS)


STRATEGY = Strategy(
    name="insert-plain-result",
    safety=frozenset({Safety.INVENTED}),
    summary="inserts a result that says that the call was interrupted, in Inspector's words, right after each call that has none",
    cost="One synthetic result per call, marked as an error.",
    user_visible_effect="A failed tool run appears where the turn was interrupted.",
    pros="It says what is known and no more: the call was interrupted, and no result was recorded. No program takes it for its own.",
    cons="OpenClaw takes it for a real result, and drops the real one as a duplicate should it turn up later.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    beyond_dispatch=True,
    order=430,
)
