"""Puts a result in the words of gbrain, or of its pull request 1934, right after each call that has none."""

from inspector.programs.base import SyntheticResult
from inspector.programs.gbrain.readers import RECOVERED, UNAVAILABLE
from inspector.strategies.insert_results import result_strategy

_UNSETTLED = "; never for a call whose run the ledger has as complete or failed"

STRATEGY = (
    result_strategy(
        "insert-replay-result",
        SyntheticResult(UNAVAILABLE),
        summary=f"the result {UNAVAILABLE!r}, as pull request 1934 of gbrain adds it",
        pros="It is what the proposed fix would show the model on every retry, written once. The tool is not run again.",
        cons="The tool may have run in part or whole, which the words do not say; gbrain since #2820 would run it again instead, where it is idempotent.",
        order=410,
        cost=_UNSETTLED,
    ),
    result_strategy(
        "insert-recovered-result",
        SyntheticResult(RECOVERED),
        summary=f"the result {RECOVERED!r}, as gbrain adds it",
        pros=(
            "gbrain itself puts these words into a request for a call that nothing answers. Stored, they keep a tool from being run a second time, "
            "and a job from ending because its tool is not idempotent."
        ),
        cons="Where the tool may safely run twice, gbrain's own second run gives the model a real output; leave the call open then.",
        order=420,
        cost=_UNSETTLED,
    ),
)
