"""Puts a result in OpenClaw's words right after each call that has none."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.programs.pi_openclaw.placeholders import OPENCLAW_WORDS
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insert_interrupted_result import made_up


def propose(case: Case) -> Iterator[Edit]:
    return made_up(case, OPENCLAW_WORDS)


STRATEGY = Strategy(
    name="insert-openclaw-result",
    safety=frozenset({Safety.INVENTED}),
    summary="inserts the error that OpenClaw makes up, marked as such in its details, right after each call that has none",
    cost="One synthetic result per call, marked as an error.",
    user_visible_effect="A failed tool run appears where the turn was interrupted.",
    pros="OpenClaw knows it again by its details, and puts a real result that turns up later in its place.",
    cons="Its own pull request 3565 said that synthetic errors confuse the conversation. Its words are about session files and repairs, which say nothing to a model.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    beyond_dispatch=True,
    order=400,
)
