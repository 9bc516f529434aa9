"""Puts a result in the words that gbrain has since #2820 right after each call that has none."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Safety
from inspector.programs.base import SyntheticResult
from inspector.programs.gbrain.readers import RECOVERED
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.insert_interrupted_result import made_up


def propose(case: Case) -> Iterator[Edit]:
    return made_up(case, SyntheticResult(RECOVERED))


STRATEGY = Strategy(
    name="insert-recovered-result",
    safety=frozenset({Safety.INVENTED}),
    summary=f"inserts the result {RECOVERED!r}, as gbrain makes it up, right after each call that has none",
    cost="One synthetic result per call, marked as an error; never for a call whose run the ledger has as complete or failed.",
    user_visible_effect="A failed tool run appears where the turn was interrupted.",
    pros=(
        "gbrain itself puts these words into a request for a call that nothing answers. Stored, they keep a tool from being run a second time, "
        "and a job from ending because its tool is not idempotent."
    ),
    cons="Where the tool may safely run twice, gbrain's own second run gives the model a real output; leave the call open then.",
    write_kind="W3",
    propose=propose,
    manual_only=True,
    beyond_dispatch=True,
    order=420,
)
