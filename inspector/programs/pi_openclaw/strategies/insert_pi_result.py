"""Puts a result in pi's words right after each call that has none."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.programs.pi_openclaw.placeholders import PI_WORDS
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insert_interrupted_result import made_up


def propose(case: Case) -> Iterator[Edit]:
    return made_up(case, PI_WORDS)


STRATEGY = Strategy(
    name="insert-pi-result",
    safety=frozenset({Safety.INVENTED}),
    summary="inserts the result 'No result provided', as pi makes it up, right after each call that has none",
    cost="One synthetic result per call, marked as an error.",
    user_visible_effect="A failed tool run appears where the turn was interrupted.",
    pros="It is what pi puts there in every request, so that the stored session is the one that the model has seen all along.",
    cons="It does not say that the tool may have run: a model reads it as a tool that gave nothing back, and may run it again.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    beyond_dispatch=True,
    order=390,
)
