"""Puts a result in the words of gbrain's pull request 1934 right after each call that has none."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.programs.base import SyntheticResult
from inspector.programs.gbrain.readers import UNAVAILABLE
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insert_interrupted_result import made_up


def propose(case: Case) -> Iterator[Edit]:
    return made_up(case, SyntheticResult(UNAVAILABLE))


STRATEGY = Strategy(
    name="insert-replay-result",
    safety=frozenset({Safety.INVENTED}),
    summary=f"inserts the result {UNAVAILABLE!r}, as pull request 1934 of gbrain makes it up, right after each call that has none",
    cost="One synthetic result per call, marked as an error; never for a call whose run the ledger has as complete or failed.",
    user_visible_effect="A failed tool run appears where the turn was interrupted.",
    pros="It is what the proposed fix would show the model on every retry, written once. The tool is not run again.",
    cons="The tool may have run in part or whole, which the words do not say; gbrain since #2820 would run it again instead, where it is idempotent.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    beyond_dispatch=True,
    order=410,
)
